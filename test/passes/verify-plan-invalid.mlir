// RUN: fusec opt --verify-plan --verify-diagnostics --split-input-file %s

plan.program @step page 64 {
  %x = plan.buffer input "tokens" : !tile.buffer<[ragged(T)], i32>
  // expected-error @below {{launches @k0, which is not a plan.kernel}}
  plan.launch @k0(%x) "first" : !tile.buffer<[ragged(T)], i32>
}

// -----

plan.program @step page 64 {
  %x = plan.buffer input "tokens" : !tile.buffer<[ragged(T)], i32>
  // expected-error @below {{passes other buffers than @k0_all takes}}
  plan.launch @k0(%x) "first" : !tile.buffer<[ragged(T)], i32>
}
tile.kernel @k0_all grid [#tile.axis<[1] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  tile.return
}
plan.kernel @k0 [#plan.variant<@k0_all>]

// -----

plan.program @step page 64 {
  %a = plan.buffer activation "a" slot 0 : !tile.buffer<[4], f32>
  %b = plan.buffer activation "b" slot 0 : !tile.buffer<[4], f32>
  plan.launch @k0(%a) "first" : !tile.buffer<[4], f32>
  plan.launch @k0(%b) "second" : !tile.buffer<[4], f32>
  // expected-error @below {{uses buffer 'a' after its slot was given to another}}
  plan.launch @k0(%a) "third" : !tile.buffer<[4], f32>
}
tile.kernel @k0_all grid [#tile.axis<[1] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  tile.return
}
plan.kernel @k0 [#plan.variant<@k0_all>]

// -----

// expected-error @below {{only tile kernels, plan kernels and a program may be left}}
func.func private @graph()

// -----

plan.program @step page 64 {
  %a = plan.buffer activation "a" slot 0 : !tile.buffer<[4], f32>
  // expected-error @below {{reads buffer 'a' before anything was written to it}}
  plan.launch @k0(%a) "first" : !tile.buffer<[4], f32>
}
tile.kernel @k0_all grid [#tile.axis<[1] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%c0] map affine_map<(d0) -> (d0)> : !tile.buffer<[4], f32> -> f32
  tile.return
}
plan.kernel @k0 [#plan.variant<@k0_all>]

// -----

// Up to 16 tokens @first takes a variant that leaves 'a' unwritten.
plan.program @step page 64 {
  %a = plan.buffer activation "a" slot 0 : !tile.buffer<[4], f32>
  plan.launch @first(%a) "first" : !tile.buffer<[4], f32>
  // expected-error @below {{reads buffer 'a' before anything was written to it}}
  plan.launch @second(%a) "second" : !tile.buffer<[4], f32>
}
tile.kernel @nothing grid [#tile.axis<[1] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  tile.return
}
tile.kernel @writes grid [#tile.axis<[1] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %i = tile.origin 0
  %v = arith.constant 0.0 : f32
  tile.store %v, %x[%i] map affine_map<(i) -> (i)> : f32, !tile.buffer<[4], f32>
  tile.return
}
tile.kernel @reads grid [#tile.axis<[1] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %i = tile.origin 0
  %v = tile.load %x[%i] map affine_map<(i) -> (i)> : !tile.buffer<[4], f32> -> f32
  tile.return
}
plan.kernel @first [#plan.variant<@nothing when T upto 16>, #plan.variant<@writes>]
plan.kernel @second [#plan.variant<@reads when T upto 16>]
