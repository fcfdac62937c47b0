// RUN: fusec opt --fuse-decompose --canonicalize --cse --fuse-form-groups --split-input-file %s | FileCheck %s
// RUN: fusec opt --fuse-decompose --canonicalize --cse --fuse-form-groups --split-input-file --remark-format=emitRemark --remarks-filter=fusion %s 2>&1 | FileCheck %s --check-prefix=REMARK

// A norm is one kernel: squares and the root are recomputed, sum and scaling share the rows.
// CHECK-LABEL: func.func @norm
// CHECK: fuse.map{{.*}} {inline}
// CHECK: fuse.reduce{{.*}} {group = 0 : i64}
// CHECK: fuse.map{{.*}} {inline}
// CHECK: fuse.map{{.*}} {group = 0 : i64}
// REMARK: [Passed] inline
// REMARK: [Passed] row | Category:fusion{{.*}}same rows
func.func @norm(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 64], f32> {
  %w = fuse.weight ["w"] : !fuse.tensor<[64], f32, f32>
  %y = fuse.rms_norm %x, %w epsilon 1.0e-5 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64], f32, f32> -> !fuse.tensor<[ragged(T), 64], f32>
  return %y : !fuse.tensor<[ragged(T), 64], f32>
}

// -----

// Gate, up and the activation between them are one kernel.
// CHECK-LABEL: func.func @gate
// CHECK: fuse.contract{{.*}} {group = 0 : i64}
// CHECK: fuse.contract{{.*}} {group = 0 : i64}
// CHECK: fuse.map{{.*}} {group = 0 : i64}
// REMARK: [Passed] side-by-side
// REMARK: [Passed] epilogue
func.func @gate(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 96], f32> {
  %wg = fuse.weight ["gate"] : !fuse.tensor<[96, 64], f32, q8_0>
  %wu = fuse.weight ["up"] : !fuse.tensor<[96, 64], f32, q8_0>
  %g = fuse.linear %x, %wg : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[96, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 96], f32>
  %u = fuse.linear %x, %wu : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[96, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 96], f32>
  %y = fuse.swiglu %g, %u : !fuse.tensor<[ragged(T), 96], f32>
  return %y : !fuse.tensor<[ragged(T), 96], f32>
}

// -----

// A norm after a contraction needs whole rows, which span its tiles: refused with the reason.
// CHECK-LABEL: func.func @row_after_tiles
// CHECK: fuse.contract{{.*}} {group = 0 : i64}
// CHECK: fuse.reduce{{.*}} {group = 1 : i64}
// REMARK: [Missed] row | Category:fusion{{.*}}spans several tiles
func.func @row_after_tiles(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 64], f32> {
  %w = fuse.weight ["w"] : !fuse.tensor<[64, 64], f32, q8_0>
  %g = fuse.weight ["g"] : !fuse.tensor<[64], f32, f32>
  %h = fuse.linear %x, %w : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 64], f32>
  %y = fuse.rms_norm %h, %g epsilon 1.0e-5 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64], f32, f32> -> !fuse.tensor<[ragged(T), 64], f32>
  return %y : !fuse.tensor<[ragged(T), 64], f32>
}
