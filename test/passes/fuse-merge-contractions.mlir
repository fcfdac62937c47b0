// RUN: fusec opt --fuse-decompose --cse --fuse-merge-contractions --split-input-file %s | FileCheck %s

// Two projections of the same rows become one; the results are slices.
// CHECK-DAG: #[[SLICE:.*]] = affine_map<(d0, d1) -> (d0, d1 + 8)>
// CHECK-LABEL: func.func @stack
// CHECK: fuse.weight ["q", "k"] : <[12, 64], f32, q8_0>
// CHECK: %[[Y:.*]] = fuse.contract {{.*}} -> <[ragged(T), 12], f32>
// CHECK: fuse.view %[[Y]] map #[[SLICE]]
// CHECK-NOT: fuse.contract
func.func @stack(%x: !fuse.tensor<[ragged(T), 64], f32>) -> (!fuse.tensor<[ragged(T), 8], f32>, !fuse.tensor<[ragged(T), 4], f32>) {
  %wq = fuse.weight ["q"] : !fuse.tensor<[8, 64], f32, q8_0>
  %wk = fuse.weight ["k"] : !fuse.tensor<[4, 64], f32, q8_0>
  %q = fuse.linear %x, %wq : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[8, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 8], f32>
  %k = fuse.linear %x, %wk : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[4, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 4], f32>
  return %q, %k : !fuse.tensor<[ragged(T), 8], f32>, !fuse.tensor<[ragged(T), 4], f32>
}

// -----

// Different storage types cannot be one matrix.
// CHECK-LABEL: func.func @storage
// CHECK-COUNT-2: fuse.contract
func.func @storage(%x: !fuse.tensor<[ragged(T), 64], f32>) -> (!fuse.tensor<[ragged(T), 8], f32>, !fuse.tensor<[ragged(T), 4], f32>) {
  %wq = fuse.weight ["q"] : !fuse.tensor<[8, 64], f32, q8_0>
  %wk = fuse.weight ["k"] : !fuse.tensor<[4, 64], f32, f16>
  %q = fuse.linear %x, %wq : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[8, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 8], f32>
  %k = fuse.linear %x, %wk : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[4, 64], f32, f16> -> !fuse.tensor<[ragged(T), 4], f32>
  return %q, %k : !fuse.tensor<[ragged(T), 8], f32>, !fuse.tensor<[ragged(T), 4], f32>
}

// -----

// Gate and up meet in one elementwise op: left side by side.
// CHECK-LABEL: func.func @meet
// CHECK-COUNT-2: fuse.contract
// CHECK-NOT: fuse.view
func.func @meet(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 8], f32> {
  %wg = fuse.weight ["gate"] : !fuse.tensor<[8, 64], f32, q8_0>
  %wu = fuse.weight ["up"] : !fuse.tensor<[8, 64], f32, q8_0>
  %g = fuse.linear %x, %wg : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[8, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 8], f32>
  %u = fuse.linear %x, %wu : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[8, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 8], f32>
  %y = fuse.swiglu %g, %u : !fuse.tensor<[ragged(T), 8], f32>
  return %y : !fuse.tensor<[ragged(T), 8], f32>
}
