// RUN: fusec opt %s | fusec opt | FileCheck %s
// RUN: fusec opt %s --mlir-print-op-generic | fusec opt | FileCheck %s

// Every op of the graph survives its text, in custom and in generic form.

// CHECK-LABEL: func.func @leaves
func.func @leaves() {
  // CHECK: fuse.weight ["a", "b"] : {{(!fuse.tensor)?}}<[576, 64], f32, q4_1>
  %w = fuse.weight ["a", "b"] : !fuse.tensor<[576, 64], f32, q4_1>
  // CHECK: fuse.constant "frequencies" dense<[1.000000e+00, 1.000000e-01]> : tensor<2xf64> -> {{(!fuse.tensor)?}}<[2], f64>
  %f = fuse.constant "frequencies" dense<[1.0, 0.1]> : tensor<2xf64> -> !fuse.tensor<[2], f64>
  return
}

// CHECK-LABEL: func.func @map
func.func @map(%x: !fuse.tensor<[ragged(T), 64], f32>, %r: !fuse.tensor<[ragged(T)], f32>) -> !fuse.tensor<[ragged(T), 64], f32> {
  // CHECK: fuse.map(%{{.*}}, %{{.*}} : {{(!fuse.tensor)?}}<[ragged(T), 64], f32>, {{(!fuse.tensor)?}}<[ragged(T)], f32>)
  // CHECK-SAME: maps [#{{.*}}, #{{.*}}] -> {{(!fuse.tensor)?}}<[ragged(T), 64], f32>
  %y = fuse.map(%x, %r : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T)], f32>)
      maps [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32, %b: f32):
    // CHECK: fuse.index 1
    %i = fuse.index 1
    %m = arith.mulf %a, %b : f32
    // CHECK: fuse.yield %{{.*}} : f32
    fuse.yield %m : f32
  }
  return %y : !fuse.tensor<[ragged(T), 64], f32>
}

// CHECK-LABEL: func.func @contract
func.func @contract(%q: !fuse.tensor<[ragged(T), 9, 64], f32>, %k: !fuse.tensor<[ragged(T), paged(C), 3, 64], f32>)
    -> !fuse.tensor<[ragged(T), 9, paged(C)], f32> {
  // CHECK: fuse.contract %{{.*}}, %{{.*}} maps [{{.*}}] numerics <accumulate = f32, order = sequential, empty = identity>
  %s = fuse.contract %q, %k
      maps [affine_map<(t, h, j, d) -> (t, h, d)>, affine_map<(t, h, j, d) -> (t, j, h floordiv 3, d)>,
            affine_map<(t, h, j, d) -> (t, h, j)>]
      numerics <accumulate = f32, order = sequential, empty = identity>
      : !fuse.tensor<[ragged(T), 9, 64], f32>, !fuse.tensor<[ragged(T), paged(C), 3, 64], f32>
      -> !fuse.tensor<[ragged(T), 9, paged(C)], f32>
  return %s : !fuse.tensor<[ragged(T), 9, paged(C)], f32>
}

// CHECK-LABEL: func.func @reduce
func.func @reduce(%t: !fuse.tensor<[ragged(T), 9, paged(C)], f32>) -> !fuse.tensor<[ragged(T), 9], f32> {
  // CHECK: fuse.reduce(%{{.*}}) over [2] init [0xFF800000 : f32] numerics <accumulate = f32, order = lanes, empty = zero>
  // CHECK: combine
  // CHECK: repair
  %m = fuse.reduce(%t : !fuse.tensor<[ragged(T), 9, paged(C)], f32>) over [2] init [0xFF800000 : f32]
      numerics <accumulate = f32, order = lanes, empty = zero> -> !fuse.tensor<[ragged(T), 9], f32> combine {
  ^bb0(%acc: f32, %x: f32):
    %r = arith.maximumf %acc, %x : f32
    fuse.yield %r : f32
  } repair {}
  return %m : !fuse.tensor<[ragged(T), 9], f32>
}

// CHECK-LABEL: func.func @movement
func.func @movement(%table: !fuse.tensor<[512, 64], f32>, %ids: !fuse.tensor<[ragged(T)], i32>, %u: !fuse.tensor<[ragged(T), 64], f32>) {
  // CHECK: fuse.gather %{{.*}}[%{{.*}}] : {{(!fuse.tensor)?}}<[512, 64], f32>, {{(!fuse.tensor)?}}<[ragged(T)], i32> -> {{(!fuse.tensor)?}}<[ragged(T), 64], f32>
  %g = fuse.gather %table[%ids] : !fuse.tensor<[512, 64], f32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 64], f32>
  // CHECK: fuse.scatter %{{.*}} into %{{.*}}[%{{.*}}] :
  %s = fuse.scatter %u into %table[%ids] : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[512, 64], f32>, !fuse.tensor<[ragged(T)], i32>
  // CHECK: fuse.view %{{.*}} map #{{.*}} : {{(!fuse.tensor)?}}<[ragged(T), 64], f32> -> {{(!fuse.tensor)?}}<[ragged(T), 4, 8], f32>
  %v = fuse.view %g map affine_map<(t, h, d) -> (t, h * 8 + d + 32)> : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[ragged(T), 4, 8], f32>
  // CHECK: fuse.reshape %{{.*}} : {{(!fuse.tensor)?}}<[ragged(T), 4, 8], f32> -> {{(!fuse.tensor)?}}<[ragged(T), 32], f32>
  %r = fuse.reshape %v : !fuse.tensor<[ragged(T), 4, 8], f32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// CHECK-LABEL: func.func @kv_append
func.func @kv_append(%k: !fuse.tensor<[ragged(T), 3, 64], f32>, %cache: !fuse.tensor<[sym(S), paged(C), 3, 64], f32>, %i: !fuse.tensor<[ragged(T)], i32>)
    -> !fuse.tensor<[sym(S), paged(C), 3, 64], f32> {
  // CHECK: fuse.kv_append %{{.*}} into %{{.*}}[%{{.*}}, %{{.*}}] :
  %new = fuse.kv_append %k into %cache[%i, %i] : !fuse.tensor<[ragged(T), 3, 64], f32>, !fuse.tensor<[sym(S), paged(C), 3, 64], f32>,
      !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32>
  return %new : !fuse.tensor<[sym(S), paged(C), 3, 64], f32>
}

// A cache may keep its values rounded; whoever reads it sees f32.
// CHECK-LABEL: func.func @kv_append_rounds
func.func @kv_append_rounds(%k: !fuse.tensor<[ragged(T), 3, 64], f32>, %cache: !fuse.tensor<[sym(S), paged(C), 3, 64], f32, bf16>, %i: !fuse.tensor<[ragged(T)], i32>)
    -> !fuse.tensor<[ragged(T), paged(C), 3, 64], f32> {
  // CHECK: fuse.kv_append {{.*}} {{(!fuse.tensor)?}}<[sym(S), paged(C), 3, 64], f32, bf16>
  %new = fuse.kv_append %k into %cache[%i, %i] : !fuse.tensor<[ragged(T), 3, 64], f32>, !fuse.tensor<[sym(S), paged(C), 3, 64], f32, bf16>,
      !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32>
  // CHECK: fuse.gather {{.*}} -> {{(!fuse.tensor)?}}<[ragged(T), paged(C), 3, 64], f32>
  %history = fuse.gather %new[%i] : !fuse.tensor<[sym(S), paged(C), 3, 64], f32, bf16>, !fuse.tensor<[ragged(T)], i32>
      -> !fuse.tensor<[ragged(T), paged(C), 3, 64], f32>
  return %history : !fuse.tensor<[ragged(T), paged(C), 3, 64], f32>
}

// CHECK-LABEL: func.func @sugar
func.func @sugar(%x: !fuse.tensor<[ragged(T), 64], f32>, %w: !fuse.tensor<[64, 64], f32, f16>, %n: !fuse.tensor<[64], f32>,
                 %heads: !fuse.tensor<[ragged(T), 8, 8], f32>, %p: !fuse.tensor<[ragged(T)], i32>, %f: !fuse.tensor<[4], f64>,
                 %cache: !fuse.tensor<[sym(S), paged(C), 4, 8], f32>) {
  // CHECK: fuse.linear %{{.*}}, %{{.*}} : {{(!fuse.tensor)?}}<[ragged(T), 64], f32>, {{(!fuse.tensor)?}}<[64, 64], f32, f16> -> {{(!fuse.tensor)?}}<[ragged(T), 64], f32>
  %l = fuse.linear %x, %w : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64, 64], f32, f16> -> !fuse.tensor<[ragged(T), 64], f32>
  // CHECK: fuse.linear %{{.*}}, %{{.*}} bias %{{.*}} : {{(!fuse.tensor)?}}<[64], f32>
  %b = fuse.linear %x, %w bias %n : !fuse.tensor<[64], f32> : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64, 64], f32, f16> -> !fuse.tensor<[ragged(T), 64], f32>
  // CHECK: fuse.rms_norm %{{.*}}, %{{.*}} epsilon 1.000000e-05
  %r = fuse.rms_norm %x, %n epsilon 1.0e-5 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64], f32> -> !fuse.tensor<[ragged(T), 64], f32>
  // CHECK: fuse.rope %{{.*}}, %{{.*}}, %{{.*}} half
  %h = fuse.rope %heads, %p, %f half : !fuse.tensor<[ragged(T), 8, 8], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[4], f64> -> !fuse.tensor<[ragged(T), 8, 8], f32>
  // CHECK: fuse.rope %{{.*}}, %{{.*}}, %{{.*}} interleaved
  %i = fuse.rope %heads, %p, %f interleaved : !fuse.tensor<[ragged(T), 8, 8], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[4], f64> -> !fuse.tensor<[ragged(T), 8, 8], f32>
  // CHECK: fuse.swiglu %{{.*}}, %{{.*}} : {{(!fuse.tensor)?}}<[ragged(T), 64], f32>
  %s = fuse.swiglu %x, %l : !fuse.tensor<[ragged(T), 64], f32>
  // CHECK: fuse.softmax %{{.*}} : {{(!fuse.tensor)?}}<[ragged(T), 64], f32>
  %m = fuse.softmax %x : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[ragged(T), 64], f32>
  // CHECK: fuse.attention %{{.*}} scale 1.250000e-01 window 16
  %a = fuse.attention %heads, %cache, %cache, %p, %p scale 0.125 window 16 : !fuse.tensor<[ragged(T), 8, 8], f32>,
      !fuse.tensor<[sym(S), paged(C), 4, 8], f32>, !fuse.tensor<[sym(S), paged(C), 4, 8], f32>,
      !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 64], f32>
  return
}

// Every storage type has a spelling.
// CHECK-LABEL: func.func @storage
func.func @storage() {
  // CHECK-NEXT: f32, f32>
  %0 = fuse.weight ["w"] : !fuse.tensor<[256], f32, f32>
  // CHECK-NEXT: f32, f16>
  %1 = fuse.weight ["w"] : !fuse.tensor<[256], f32, f16>
  // CHECK-NEXT: f32, bf16>
  %2 = fuse.weight ["w"] : !fuse.tensor<[256], f32, bf16>
  // CHECK-NEXT: f32, q4_0>
  %3 = fuse.weight ["w"] : !fuse.tensor<[256], f32, q4_0>
  // CHECK-NEXT: f32, q4_1>
  %4 = fuse.weight ["w"] : !fuse.tensor<[256], f32, q4_1>
  // CHECK-NEXT: f32, q5_0>
  %5 = fuse.weight ["w"] : !fuse.tensor<[256], f32, q5_0>
  // CHECK-NEXT: f32, q5_1>
  %6 = fuse.weight ["w"] : !fuse.tensor<[256], f32, q5_1>
  // CHECK-NEXT: f32, q8_0>
  %7 = fuse.weight ["w"] : !fuse.tensor<[256], f32, q8_0>
  // CHECK-NEXT: f32, q4_k>
  %8 = fuse.weight ["w"] : !fuse.tensor<[256], f32, q4_k>
  // CHECK-NEXT: f32, q5_k>
  %9 = fuse.weight ["w"] : !fuse.tensor<[256], f32, q5_k>
  // CHECK-NEXT: f32, q6_k>
  %10 = fuse.weight ["w"] : !fuse.tensor<[256], f32, q6_k>
  return
}
