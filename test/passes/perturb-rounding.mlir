// RUN: fusec opt --perturb-rounding %s | FileCheck %s
// RUN: fusec opt --perturb-rounding=context=4096 %s | FileCheck %s --check-prefix=LONG

// What a sum of 64 terms reads moves by 8 units of roundoff; what nothing sums, by the least step. 2^-24 * 8 = 2^-21.
// CHECK-LABEL: func.func @sums
// CHECK: %[[X:.*]] = fuse.map(%{{.*}} : !fuse.tensor<[ragged(T), 64], f32>)
// CHECK: math.exp
// CHECK: %[[P:.*]] = fuse.map(%[[X]] :
// CHECK-DAG: arith.constant 1.00000048 : f32
// CHECK-DAG: arith.constant 0.999999523 : f32
// CHECK-DAG: fuse.index 0
// CHECK-DAG: fuse.index 1
// CHECK: %[[R:.*]] = fuse.reduce(%[[P]] :
// CHECK: %[[Q:.*]] = fuse.map(%[[R]] :
// CHECK-DAG: arith.constant 1.00000012 : f32
// CHECK: fuse.map(%[[Q]] :
func.func @sums(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T)], f32> {
  %e = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c) -> (t, c)>]
      -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    %m = math.exp %a : f32
    fuse.yield %m : f32
  }
  %s = fuse.reduce(%e : !fuse.tensor<[ragged(T), 64], f32>) over [1] init [0.0 : f32]
      numerics <accumulate = f32, order = lanes, empty = identity> -> !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%acc: f32, %v: f32):
    %r = arith.addf %acc, %v : f32
    fuse.yield %r : f32
  } repair {}
  %n = fuse.map(%s : !fuse.tensor<[ragged(T)], f32>) maps [affine_map<(t) -> (t)>] -> !fuse.tensor<[ragged(T)], f32> {
  ^bb0(%a: f32):
    %m = arith.negf %a : f32
    fuse.yield %m : f32
  }
  return %n : !fuse.tensor<[ragged(T)], f32>
}

// A sum over cached positions counts as many as the option says: 2^-24 * sqrt(1024) = 2^-19, sqrt(4096): 2^-18.
// CHECK-LABEL: func.func @positions
// CHECK: arith.constant 1.00000191 : f32
// LONG-LABEL: func.func @positions
// LONG: arith.constant 1.00000381 : f32
func.func @positions(%x: !fuse.tensor<[ragged(T), paged(C)], f32>) -> !fuse.tensor<[ragged(T)], f32> {
  %e = fuse.map(%x : !fuse.tensor<[ragged(T), paged(C)], f32>) maps [affine_map<(t, c) -> (t, c)>]
      -> !fuse.tensor<[ragged(T), paged(C)], f32> {
  ^bb0(%a: f32):
    %m = math.exp %a : f32
    fuse.yield %m : f32
  }
  %s = fuse.reduce(%e : !fuse.tensor<[ragged(T), paged(C)], f32>) over [1] init [0.0 : f32]
      numerics <accumulate = f32, order = lanes, empty = identity> -> !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%acc: f32, %v: f32):
    %r = arith.addf %acc, %v : f32
    fuse.yield %r : f32
  } repair {}
  return %s : !fuse.tensor<[ragged(T)], f32>
}
