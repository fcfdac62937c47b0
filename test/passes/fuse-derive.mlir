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

// -----

// Mean and variance: one reduction with two sums around the row's first element.
#id2 = affine_map<(t, c) -> (t, c)>
#row = affine_map<(t, c) -> (t)>
#id1 = affine_map<(t) -> (t)>
#col = affine_map<(t, c) -> (c)>
// CHECK-LABEL: func.func @layer_norm
// CHECK: %[[FIRST:[0-9]+]] = fuse.view %arg0
// CHECK: fuse.map(%arg0, %[[FIRST]]
// CHECK: fuse.reduce({{.*}}, {{.*}} over [1] init [0.000000e+00 : f32, 0.000000e+00 : f32]
// CHECK-NOT: fuse.reduce
// REMARK: [Passed] derive{{.*}}one pass: shifted sums
func.func @layer_norm(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 64], f32> {
  %w = fuse.weight ["w"] : !fuse.tensor<[64], f32, f32>
  %sum = fuse.reduce(%x : !fuse.tensor<[ragged(T), 64], f32>) over [1] init [0.0 : f32]
      numerics <accumulate = f32, order = lanes, empty = identity> -> !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    fuse.yield %r : f32
  } repair {}
  %mean = fuse.map(%sum : !fuse.tensor<[ragged(T)], f32>) maps [#id1] -> !fuse.tensor<[ragged(T)], f32> {
  ^bb0(%a: f32):
    %n = arith.constant 64.0 : f32
    %r = arith.divf %a, %n : f32
    fuse.yield %r : f32
  }
  %sq = fuse.map(%x, %mean : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T)], f32>) maps [#id2, #row] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32, %m: f32):
    %d = arith.subf %a, %m : f32
    %r = arith.mulf %d, %d : f32
    fuse.yield %r : f32
  }
  %var = fuse.reduce(%sq : !fuse.tensor<[ragged(T), 64], f32>) over [1] init [0.0 : f32]
      numerics <accumulate = f32, order = lanes, empty = identity> -> !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    fuse.yield %r : f32
  } repair {}
  %y = fuse.map(%x, %mean, %var, %w : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T)], f32>, !fuse.tensor<[ragged(T)], f32>, !fuse.tensor<[64], f32, f32>)
      maps [#id2, #row, #row, #col] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32, %m: f32, %v: f32, %g: f32):
    %n = arith.constant 64.0 : f32
    %e = arith.constant 1.0e-5 : f32
    %one = arith.constant 1.0 : f32
    %mv = arith.divf %v, %n : f32
    %ve = arith.addf %mv, %e : f32
    %s = math.sqrt %ve : f32
    %i = arith.divf %one, %s : f32
    %d = arith.subf %a, %m : f32
    %x1 = arith.mulf %d, %i : f32
    %x2 = arith.mulf %x1, %g : f32
    fuse.yield %x2 : f32
  }
  return %y : !fuse.tensor<[ragged(T), 64], f32>
}
