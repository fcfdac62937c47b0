// RUN: fusec opt --fuse-decompose --split-input-file %s | FileCheck %s

// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @linear
// CHECK: %[[C:.*]] = fuse.contract %{{.*}}, %{{.*}} maps [#[[X]], #[[W]], #[[Y]]]
// CHECK: fuse.map(%[[C]], %{{.*}})
// CHECK: arith.addf
// CHECK-NOT: fuse.linear
func.func @linear(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 7], f32> {
  %w = fuse.weight ["w"] : !fuse.tensor<[7, 64], f32, q8_0>
  %b = fuse.weight ["b"] : !fuse.tensor<[7], f32, f32>
  %y = fuse.linear %x, %w bias %b : !fuse.tensor<[7], f32, f32> : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[7, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 7], f32>
  return %y : !fuse.tensor<[ragged(T), 7], f32>
}

// -----

// The mean is a division of the sum; the weight multiplies last.
// CHECK-LABEL: func.func @rms_norm
// CHECK: fuse.reduce({{.*}}) over [1] init [0.000000e+00 : f32]
// CHECK: arith.divf
// CHECK: arith.addf
// CHECK: math.sqrt
// CHECK-NOT: fuse.rms_norm
func.func @rms_norm(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 64], f32> {
  %w = fuse.weight ["w"] : !fuse.tensor<[64], f32, f32>
  %y = fuse.rms_norm %x, %w epsilon 1.0e-5 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64], f32, f32> -> !fuse.tensor<[ragged(T), 64], f32>
  return %y : !fuse.tensor<[ragged(T), 64], f32>
}

// -----

// The two pairings differ in index maps only.
// CHECK-DAG: #[[HALF:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, (d2 + 2) mod 4)>
// CHECK-DAG: #[[HALFPAIR:.*]] = affine_map<(d0, d1, d2) -> (d0, d2 mod 2)>
// CHECK-LABEL: func.func @rope_half
// CHECK: math.cos
// CHECK: math.sin
// CHECK: maps [#{{.*}}, #[[HALF]], #[[HALFPAIR]], #[[HALFPAIR]]]
func.func @rope_half(%x: !fuse.tensor<[ragged(T), 3, 4], f32>, %p: !fuse.tensor<[ragged(T)], i32>, %f: !fuse.tensor<[2], f64>) -> !fuse.tensor<[ragged(T), 3, 4], f32> {
  %y = fuse.rope %x, %p, %f half : !fuse.tensor<[ragged(T), 3, 4], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[2], f64> -> !fuse.tensor<[ragged(T), 3, 4], f32>
  return %y : !fuse.tensor<[ragged(T), 3, 4], f32>
}

// -----

// Only the first 2n elements turn when the head is larger.
// CHECK-LABEL: func.func @rope_partial
// CHECK: arith.select
// CHECK: arith.constant 4 : i32
// CHECK: arith.select
func.func @rope_partial(%x: !fuse.tensor<[ragged(T), 3, 8], f32>, %p: !fuse.tensor<[ragged(T)], i32>, %f: !fuse.tensor<[2], f64>) -> !fuse.tensor<[ragged(T), 3, 8], f32> {
  %y = fuse.rope %x, %p, %f interleaved : !fuse.tensor<[ragged(T), 3, 8], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[2], f64> -> !fuse.tensor<[ragged(T), 3, 8], f32>
  return %y : !fuse.tensor<[ragged(T), 3, 8], f32>
}

// -----

// Heads that share a cached head become a dimension; histories are gathers of the caches.
// CHECK-LABEL: func.func @attention
// CHECK: fuse.view {{.*}} -> <[ragged(T), 2, 3, 4], f32>
// CHECK-COUNT-2: fuse.gather
// CHECK: fuse.contract
// CHECK: arith.cmpi sle
// CHECK: arith.constant 5 : i32
// CHECK: arith.cmpi sgt
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: fuse.contract
// CHECK: fuse.reshape
func.func @attention(%q: !fuse.tensor<[ragged(T), 6, 4], f32>, %k: !fuse.tensor<[sym(S), paged(C), 2, 4], f32>, %v: !fuse.tensor<[sym(S), paged(C), 2, 4], f32>,
                     %p: !fuse.tensor<[ragged(T)], i32>, %s: !fuse.tensor<[ragged(T)], i32>) -> !fuse.tensor<[ragged(T), 24], f32> {
  %o = fuse.attention %q, %k, %v, %p, %s scale 0.5 window 5
      : !fuse.tensor<[ragged(T), 6, 4], f32>, !fuse.tensor<[sym(S), paged(C), 2, 4], f32>, !fuse.tensor<[sym(S), paged(C), 2, 4], f32>,
        !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 24], f32>
  return %o : !fuse.tensor<[ragged(T), 24], f32>
}
