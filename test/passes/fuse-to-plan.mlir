// RUN: fusec opt --fuse-decompose --canonicalize --cse --fuse-form-groups --fuse-to-plan --canonicalize --cse --verify-plan --split-input-file %s | FileCheck %s
// RUN: fusec opt --fuse-decompose --canonicalize --cse --fuse-form-groups --fuse-to-plan=registers=16 --canonicalize --verify-plan --split-input-file %s | FileCheck %s --check-prefix=NARROW

// One kernel per range of rows; many rows decode the weights once into scratch memory.
// CHECK: plan.program @step page 64
// CHECK: plan.buffer input "x"
// CHECK: plan.buffer weight "w" parts ["w"] : <[96, 64], f32, panel, q8_0>
// CHECK: plan.buffer output "logits" slot 0
// CHECK: plan.launch @k0
// CHECK: tile.kernel @k0_v0 grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[96] by 64>]
// CHECK: tile.kernel @k0_v1 grid [#tile.axis<[96] by 64>] attributes {schedule = {form = "inner", lanes = 64 : i64, rows = 4 : i64
// CHECK: tile.kernel @k0_v2 grid [#tile.axis<[96] by 32>] attributes {schedule = {form = "inner", lanes = 32 : i64, rows = 8 : i64
// CHECK: tile.kernel @k0_v3 grid [#tile.axis<[96] by 32>]
// CHECK: tile.scratch : <[64, 32], f32>
// CHECK: tile.dot {{.*}} vector<12x8xf32>, vector<8x32xf32> -> vector<12x32xf32>
// CHECK: plan.kernel @k0 [#plan.variant<@k0_v0 when T upto 1>, #plan.variant<@k0_v1 when T upto 4>, #plan.variant<@k0_v2 when T upto 64>, #plan.variant<@k0_v3>]
// NARROW: tile.dot {{.*}} vector<6x8xf32>, vector<8x16xf32> -> vector<6x16xf32>
func.func @linear(%x: !fuse.tensor<[ragged(T), 64], f32> {fuse.name = "x"}) -> !fuse.tensor<[ragged(T), 96], f32> {
  %w = fuse.weight ["w"] : !fuse.tensor<[96, 64], f32, q8_0>
  %y = fuse.linear %x, %w : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[96, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 96], f32>
  return %y : !fuse.tensor<[ragged(T), 96], f32>
}

// -----

// Lanes beyond the row take the reduction's identity.
// CHECK-LABEL: tile.kernel @k0_all
// CHECK: tile.index
// CHECK: arith.cmpi slt
// CHECK: arith.select
// CHECK: arith.maximumf
func.func @odd_row(%x: !fuse.tensor<[ragged(T), 7], f32> {fuse.name = "x"}) -> !fuse.tensor<[ragged(T), 7], f32> {
  %y = fuse.softmax %x : !fuse.tensor<[ragged(T), 7], f32> -> !fuse.tensor<[ragged(T), 7], f32>
  return %y : !fuse.tensor<[ragged(T), 7], f32>
}

// -----

// The result's name is the output's.
// CHECK: plan.buffer output "hidden" slot 0
func.func @named(%x: !fuse.tensor<[ragged(T), 7], f32> {fuse.name = "x"}) -> (!fuse.tensor<[ragged(T), 7], f32> {fuse.name = "hidden"}) {
  %y = fuse.softmax %x : !fuse.tensor<[ragged(T), 7], f32> -> !fuse.tensor<[ragged(T), 7], f32>
  return %y : !fuse.tensor<[ragged(T), 7], f32>
}

// -----

// Equal layers share their kernel.
// CHECK: plan.launch @k0({{.*}}) "a"
// CHECK: plan.launch @k0({{.*}}) "b"
// CHECK-NOT: plan.kernel @k1
func.func @twice(%x: !fuse.tensor<[ragged(T), 64], f32> {fuse.name = "x"}) -> !fuse.tensor<[ragged(T), 64], f32> {
  %wa = fuse.weight ["a"] : !fuse.tensor<[64, 64], f32, q8_0>
  %wb = fuse.weight ["b"] : !fuse.tensor<[64, 64], f32, q8_0>
  %h = fuse.linear %x, %wa : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 64], f32> loc("a")
  %y = fuse.linear %h, %wb : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 64], f32> loc("b")
  return %y : !fuse.tensor<[ragged(T), 64], f32>
}
