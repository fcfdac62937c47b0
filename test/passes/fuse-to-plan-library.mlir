// RUN: fusec opt --fuse-decompose --canonicalize --cse --fuse-round-operands=type=bf16 --fuse-form-groups "--fuse-to-plan=gpu=true library-flops=1e15 kernel-flops=1 bytes-per-second=1e15 launch-seconds=1e-15" --plan-memory --canonicalize --cse --verify-plan --split-input-file %s | FileCheck %s
// RUN: fusec opt --fuse-decompose --canonicalize --cse --fuse-round-operands=type=bf16 --fuse-form-groups "--fuse-to-plan=gpu=true library-flops=1e3 kernel-flops=1e15 bytes-per-second=1e15 launch-seconds=1e-15" --split-input-file %s | FileCheck %s --check-prefix=SLOW
// RUN: fusec opt --fuse-decompose --canonicalize --cse --fuse-round-operands=type=bf16 --fuse-form-groups --fuse-to-plan=gpu=true --split-input-file %s | FileCheck %s --check-prefix=SLOW

// SLOW-NOT: path <

// The residual is added by the call.
// CHECK: plan.launch @k0({{.*}}) "?" path <kernels from 64>
// CHECK: plan.launch @k1({{.*}}) "?:round" path <library from 64> {{.*}} !tile.buffer<[ragged(T), 64], f32>, !tile.buffer<[ragged(T), 64], f32, bf16>
// CHECK: plan.launch @k2({{.*}}) "?:unpack" path <library from 64> {{.*}} !tile.buffer<[64, 64], f32, panel, q8_0>, !tile.buffer<[64, 64], f32, bf16>
// CHECK: plan.library_product %{{.*}} by %{{.*}} plus %{{.*}} into %{{.*}} "?" path <library from 64>
// CHECK: tile.kernel @k2_all grid [#tile.axis<[64] by 16>, #tile.axis<[64] by 64>]
// CHECK: tile.load {{.*}} -> vector<16x64xf32>
// CHECK-NEXT: tile.store
func.func @residual(%x: !fuse.tensor<[ragged(T), 64], f32> {fuse.name = "x"}) -> !fuse.tensor<[ragged(T), 64], f32> {
  %w = fuse.weight ["w"] : !fuse.tensor<[64, 64], f32, q8_0>
  %y = fuse.linear %x, %w : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 64], f32>
  %z = fuse.map(%y, %x : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T), 64], f32>)
      maps [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    fuse.yield %s : f32
  }
  return %z : !fuse.tensor<[ragged(T), 64], f32>
}

// -----

// A row of logits per sequence is few rows: the kernels'.
// CHECK: // {{-+}}
// CHECK-NOT: path <
func.func @head(%x: !fuse.tensor<[sym(R), 64], f32> {fuse.name = "x"}) -> !fuse.tensor<[sym(R), 64], f32> {
  %w = fuse.weight ["w"] : !fuse.tensor<[64, 64], f32, q8_0>
  %y = fuse.linear %x, %w : !fuse.tensor<[sym(R), 64], f32>, !fuse.tensor<[64, 64], f32, q8_0> -> !fuse.tensor<[sym(R), 64], f32>
  return %y : !fuse.tensor<[sym(R), 64], f32>
}
