// RUN: fusec opt %s | fusec opt | FileCheck %s
// RUN: fusec opt %s --mlir-print-op-generic | fusec opt | FileCheck %s

// Every op of a kernel survives its text, in custom and in generic form.

// CHECK: tile.kernel @elementwise grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[64] by 16>]
tile.kernel @elementwise grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[64] by 16>] {
^bb0(%x: !tile.buffer<[ragged(T), 64], f32>, %y: !tile.buffer<[ragged(T), 64], f32>):
  // CHECK: %[[T:.*]] = tile.origin 0
  %t = tile.origin 0
  // CHECK: %[[N:.*]] = tile.origin 1
  %n = tile.origin 1
  // CHECK: tile.load %{{.*}}[%[[T]], %[[N]]] map #{{.*}} : {{.*}} -> vector<16xf32>
  %v = tile.load %x[%t, %n] map affine_map<(t, c) -> (t, c)> : !tile.buffer<[ragged(T), 64], f32> -> vector<16xf32>
  // CHECK: tile.index %[[N]] dim 0 : vector<16xi32>
  %i = tile.index %n dim 0 : vector<16xi32>
  %d = arith.addf %v, %v : vector<16xf32>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%[[T]], %[[N]]] map #{{.*}} : vector<16xf32>
  tile.store %d, %y[%t, %n] map affine_map<(t, c) -> (t, c)> : vector<16xf32>, !tile.buffer<[ragged(T), 64], f32>
  // CHECK: tile.return
  tile.return
}

// CHECK: tile.kernel @product
// CHECK-SAME: schedule = {rows = 2 : i64}
tile.kernel @product grid [#tile.axis<[ragged(T)] by 2>, #tile.axis<[960] by 16>]
    attributes {schedule = {rows = 2 : i64}} {
// CHECK-NEXT: !tile.buffer<[960, 576], f32, panel, q4_1>
^bb0(%x: !tile.buffer<[ragged(T), 576], f32>, %w: !tile.buffer<[960, 576], f32, panel, q4_1>, %y: !tile.buffer<[ragged(T), 960], f32>):
  %t = tile.origin 0
  %n = tile.origin 1
  %k = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<2x16xf32>
  %a = tile.load %x[%t, %k] map affine_map<(t, k) -> (t, k)> : !tile.buffer<[ragged(T), 576], f32> -> vector<2x576xf32>
  %b = tile.load %w[%k, %n] map affine_map<(k, n) -> (n, k)> : !tile.buffer<[960, 576], f32, panel, q4_1> -> vector<576x16xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : vector<2x576xf32>, vector<576x16xf32> -> vector<2x16xf32>
  %c = tile.dot %a, %b, %zero : vector<2x576xf32>, vector<576x16xf32> -> vector<2x16xf32>
  tile.store %c, %y[%t, %n] map affine_map<(t, n) -> (t, n)> : vector<2x16xf32>, !tile.buffer<[ragged(T), 960], f32>
  tile.return
}

// CHECK: tile.kernel @paged
tile.kernel @paged grid [#tile.axis<[ragged(T)] by 1>] {
// CHECK-NEXT: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>
^bb0(%cache: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>, %table: !tile.buffer<[sym(S), sym(B)], i32>, %m: !tile.buffer<[ragged(T)], f32>):
  %t = tile.origin 0
  %zero = arith.constant 0 : index
  // CHECK: tile.extent "C"
  %c = tile.extent "C"
  // CHECK: tile.scratch : {{(!tile.buffer)?}}<[64], f32>
  %s = tile.scratch : !tile.buffer<[64], f32>
  // CHECK: tile.load %{{.*}} map #{{.*}} pages %{{.*}} : {{.*}} -> vector<64xf32>
  %k = tile.load %cache[%zero, %zero, %zero, %zero] map affine_map<(s, h, d, j) -> (s, j, h, d)> pages %table
      : !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>, !tile.buffer<[sym(S), sym(B)], i32> -> vector<64xf32>
  // CHECK: tile.reduce %{{.*}} : vector<64xf32> -> f32 combine
  %r = tile.reduce %k : vector<64xf32> -> f32 combine {
  ^bb0(%a: f32, %b: f32):
    %x = arith.maximumf %a, %b : f32
    // CHECK: tile.yield %{{.*}} : f32
    tile.yield %x : f32
  }
  tile.store %r, %m[%t] map affine_map<(t) -> (t)> : f32, !tile.buffer<[ragged(T)], f32>
  %parts = tile.scratch : !tile.buffer<[3], f32>
  %none = arith.constant dense<0.0> : vector<3x1xf32>
  // A lane index of extent 1 need not appear.
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] map #{{.*}} : vector<3x1xf32>
  tile.store %none, %parts[%zero, %zero] map affine_map<(g, one) -> (g)> : vector<3x1xf32>, !tile.buffer<[3], f32>
  %rows = vector.broadcast %k : vector<64xf32> to vector<3x64xf32>
  %index = tile.index %zero dim 1 : vector<3x64xi32>
  // CHECK: tile.reduce %{{.*}}, %{{.*}} : vector<3x64xf32>, vector<3x64xi32> -> vector<3x1xf32>, vector<3x1xi32> combine
  %best, %at = tile.reduce %rows, %index : vector<3x64xf32>, vector<3x64xi32> -> vector<3x1xf32>, vector<3x1xi32> combine {
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    %first = arith.cmpf oge, %a, %b : f32
    %x = arith.select %first, %a, %b : f32
    %i = arith.select %first, %ai, %bi : i32
    tile.yield %x, %i : f32, i32
  }
  tile.return
}

// A cache that keeps its values rounded is written like any other.
// CHECK: tile.kernel @rounded
tile.kernel @rounded grid [#tile.axis<[ragged(T)] by 1>] {
// CHECK-NEXT: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_v, f16>
^bb0(%cache: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_v, f16>, %table: !tile.buffer<[sym(S), sym(B)], i32>):
  %t = tile.origin 0
  %zero = arith.constant 0 : index
  %v = arith.constant dense<1.0> : vector<64xf32>
  // CHECK: tile.store {{.*}} pages %{{.*}} : vector<64xf32>, {{(!tile.buffer)?}}<[sym(S), paged(C), 3, 64], f32, paged_v, f16>
  tile.store %v, %cache[%zero, %t, %zero, %zero] map affine_map<(s, p, h, d) -> (s, p, h, d)> pages %table
      : vector<64xf32>, !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_v, f16>, !tile.buffer<[sym(S), sym(B)], i32>
  tile.return
}

// A hint has the operands of a load and no result.
// CHECK: tile.kernel @ahead
// CHECK: tile.prefetch %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] map {{.*}} pages %{{.*}} shape [16, 64] : {{(!tile.buffer)?}}<[sym(S), paged(C), 3, 64], f32, paged_k>
tile.kernel @ahead grid [#tile.axis<[sym(S)] by 1>] {
^bb0(%cache: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>, %table: !tile.buffer<[sym(S), sym(B)], i32>):
  %s = tile.origin 0
  %c0 = arith.constant 0 : index
  tile.prefetch %cache[%s, %c0, %c0, %c0] map affine_map<(s, h, d, j) -> (s, j, h, d)> pages %table shape [16, 64]
      : !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>, !tile.buffer<[sym(S), sym(B)], i32>
  tile.return
}
