// RUN: fusec opt --plan-memory %s | FileCheck %s

// "a" is dead when "c" starts, so they share; "b" lives beside both.
// CHECK: "a" slot 0
// CHECK: "b" slot 1
// CHECK: "c" slot 0
// CHECK: output "logits" slot 2
plan.program @step page 64 {
  %x = plan.buffer input "tokens" : !tile.buffer<[ragged(T)], i32>
  %a = plan.buffer activation "a" slot 0 : !tile.buffer<[ragged(T), 64], f32>
  %b = plan.buffer activation "b" slot 1 : !tile.buffer<[ragged(T), 64], f32>
  %c = plan.buffer activation "c" slot 2 : !tile.buffer<[ragged(T), 64], f32>
  %y = plan.buffer output "logits" slot 3 : !tile.buffer<[ragged(T), 64], f32>
  plan.launch @k0(%x, %a) "first" : !tile.buffer<[ragged(T)], i32>, !tile.buffer<[ragged(T), 64], f32>
  plan.launch @k1(%a, %b) "second" : !tile.buffer<[ragged(T), 64], f32>, !tile.buffer<[ragged(T), 64], f32>
  plan.launch @k1(%b, %c) "third" : !tile.buffer<[ragged(T), 64], f32>, !tile.buffer<[ragged(T), 64], f32>
  plan.launch @k1(%c, %y) "last" : !tile.buffer<[ragged(T), 64], f32>, !tile.buffer<[ragged(T), 64], f32>
}
