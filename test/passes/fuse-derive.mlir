// RUN: fusec opt --fuse-decompose --canonicalize --cse --fuse-derive --split-input-file %s | FileCheck %s
// RUN: fusec opt --fuse-decompose --canonicalize --cse --fuse-derive --split-input-file --remark-format=emitRemark --remarks-filter=fusion %s 2>&1 | FileCheck %s --check-prefix=REMARK

// Scores, softmax and values: one loop. The division moves behind the product, the sum and the
// product get the repair exp(old - new), all by the algebra of the maps.
// CHECK-LABEL: func.func @attention
// CHECK: fuse.reduce{{.*}} {cascade = 0 : i64}
// CHECK: arith.maximumf
// CHECK: fuse.reduce{{.*}} {cascade = 0 : i64, proof = {aligned = "one loop over paged(C)"
// CHECK-SAME: separable = "shift, exp-difference, empty-guard"
// CHECK: repair
// CHECK: ^bb0(%[[OLD:.*]]: f32, %[[NEW:.*]]: f32, %[[ACC:.*]]: f32):
// CHECK: arith.cmpf oeq, %[[OLD]], %[[NEW]]
// CHECK: arith.mulf %[[ACC]]
// CHECK: fuse.contract{{.*}} {cascade = 0 : i64, proof =
// CHECK: fuse.map
// CHECK: arith.divf
// REMARK: [Passed] derive{{.*}}the row factor moves behind the sum
// REMARK: [Passed] derive{{.*}}one loop: aligned
func.func @attention(%q: !fuse.tensor<[ragged(T), 6, 16], f32>, %k: !fuse.tensor<[sym(S), paged(C), 2, 16], f32>,
                     %v: !fuse.tensor<[sym(S), paged(C), 2, 16], f32>, %s: !fuse.tensor<[ragged(T)], i32>,
                     %p: !fuse.tensor<[ragged(T)], i32>) -> !fuse.tensor<[ragged(T), 96], f32> {
  %y = fuse.attention %q, %k, %v, %p, %s scale 0.25
      : !fuse.tensor<[ragged(T), 6, 16], f32>, !fuse.tensor<[sym(S), paged(C), 2, 16], f32>, !fuse.tensor<[sym(S), paged(C), 2, 16], f32>,
        !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 96], f32>
  return %y : !fuse.tensor<[ragged(T), 96], f32>
}

// -----

// The root of a norm is a row factor of the projection behind it; one tile of lanes folds the row anyway.
// CHECK-LABEL: func.func @norm_narrow
// CHECK: fuse.reduce
// CHECK: %[[FRESH:[0-9]+]] = fuse.map(%arg0, %0
// CHECK: fuse.contract %[[FRESH]]
// CHECK: fuse.map
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[ROOT:.*]]: f32):
// CHECK-NEXT: arith.mulf %[[SUM]], %[[ROOT]]
func.func @norm_narrow(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 48], f32> {
  %w = fuse.weight ["w"] : !fuse.tensor<[64], f32, f32>
  %p = fuse.weight ["p"] : !fuse.tensor<[48, 64], f32, q8_0>
  %y = fuse.rms_norm %x, %w epsilon 1.0e-5 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64], f32, f32> -> !fuse.tensor<[ragged(T), 64], f32>
  %z = fuse.linear %y, %p : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[48, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 48], f32>
  return %z : !fuse.tensor<[ragged(T), 48], f32>
}

// -----

// Behind a wide projection every tile would fold the row again: refused, with the figures.
// CHECK-LABEL: func.func @norm_wide
// REMARK: [Missed] derive{{.*}}cost: folding the rows for every tile costs
func.func @norm_wide(%x: !fuse.tensor<[ragged(T), 576], f32>) -> !fuse.tensor<[ragged(T), 4096], f32> {
  %w = fuse.weight ["w"] : !fuse.tensor<[576], f32, f32>
  %p = fuse.weight ["p"] : !fuse.tensor<[4096, 576], f32, q8_0>
  %y = fuse.rms_norm %x, %w epsilon 1.0e-5 : !fuse.tensor<[ragged(T), 576], f32>, !fuse.tensor<[576], f32, f32> -> !fuse.tensor<[ragged(T), 576], f32>
  %z = fuse.linear %y, %p : !fuse.tensor<[ragged(T), 576], f32>, !fuse.tensor<[4096, 576], f32, q8_0> -> !fuse.tensor<[ragged(T), 4096], f32>
  return %z : !fuse.tensor<[ragged(T), 4096], f32>
}
