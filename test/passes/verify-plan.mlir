// RUN: fusec opt %s --verify-plan --split-input-file --verify-diagnostics

// Two activations share slot 0; the first is done when the second is written.
tile.kernel @body grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>, %y: !tile.buffer<[4], f32>):
  tile.return
}
plan.kernel @k [#plan.variant<@body>]
plan.program @step page 64 {
  %in = plan.buffer input "in" : !tile.buffer<[4], f32>
  %a = plan.buffer activation "a" slot 0 : !tile.buffer<[4], f32>
  %b = plan.buffer activation "b" slot 1 : !tile.buffer<[4], f32>
  %c = plan.buffer activation "c" slot 0 : !tile.buffer<[4], f32>
  %out = plan.buffer output "out" slot 2 : !tile.buffer<[4], f32>
  plan.launch @k(%in, %a) "1" : !tile.buffer<[4], f32>, !tile.buffer<[4], f32>
  plan.launch @k(%a, %b) "2" : !tile.buffer<[4], f32>, !tile.buffer<[4], f32>
  plan.launch @k(%b, %c) "3" : !tile.buffer<[4], f32>, !tile.buffer<[4], f32>
  plan.launch @k(%c, %out) "4" : !tile.buffer<[4], f32>, !tile.buffer<[4], f32>
}

// -----

tile.kernel @body grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>, %y: !tile.buffer<[4], f32>):
  tile.return
}
plan.kernel @k [#plan.variant<@body>]
plan.program @step page 64 {
  %a = plan.buffer activation "a" slot 0 : !tile.buffer<[4], f32>
  %b = plan.buffer activation "b" slot 0 : !tile.buffer<[4], f32>
  %out = plan.buffer output "out" slot 1 : !tile.buffer<[4], f32>
  plan.launch @k(%a, %b) "1" : !tile.buffer<[4], f32>, !tile.buffer<[4], f32>
  // expected-error @+1 {{uses buffer 'a' after its slot was given to another}}
  plan.launch @k(%a, %out) "2" : !tile.buffer<[4], f32>, !tile.buffer<[4], f32>
}

// -----

plan.program @step page 64 {
  %a = plan.buffer input "a" : !tile.buffer<[4], f32>
  // expected-error @+1 {{launches @missing, which is not a plan.kernel}}
  plan.launch @missing(%a) "1" : !tile.buffer<[4], f32>
}

// -----

// expected-error @+1 {{names @missing, which is not a tile.kernel}}
plan.kernel @k [#plan.variant<@missing>]
plan.program @step page 64 {
  %a = plan.buffer input "a" : !tile.buffer<[4], f32>
  plan.launch @k(%a) "1" : !tile.buffer<[4], f32>
}

// -----

tile.kernel @body grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  tile.return
}
plan.kernel @k [#plan.variant<@body>]
plan.program @step page 64 {
  %a = plan.buffer input "a" : !tile.buffer<[5], f32>
  // expected-error @+1 {{passes other buffers than @body takes}}
  plan.launch @k(%a) "1" : !tile.buffer<[5], f32>
}

// -----

plan.program @step page 64 {
}
// expected-error @+1 {{only tile kernels, plan kernels and a program may be left}}
func.func private @graph()

// -----

// expected-error @+1 {{expected one plan.program, found 0}}
module {
}
