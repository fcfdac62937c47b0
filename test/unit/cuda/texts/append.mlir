// Rotates the new keys, and appends keys and values to the pages of their sequence.
tile.kernel @append grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[3] by 1>] attributes {schedule = {form = "rows"}} {
^bb0(%arg0: !tile.buffer<[ragged(T)], i32>, %arg1: !tile.buffer<[ragged(T)], i32>, %arg2: !tile.buffer<[ragged(T), 960], f32>, %arg3: !tile.buffer<[ragged(T), 32], f32>, %arg4: !tile.buffer<[ragged(T), 32], f32>, %arg5: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k, f16>, %arg6: !tile.buffer<[sym(S), sym(B)], i32>, %arg7: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_v, f16>):
  %cst = arith.constant dense<1> : vector<64xi32>
  %cst_0 = arith.constant dense<0> : vector<64xi32>
  %c0 = arith.constant 0 : index
  %0 = tile.origin 0
  %1 = tile.origin 1
  %2 = tile.load %arg0[%0, %1] map affine_map<(d0, d1) -> (d0)> : <[ragged(T)], i32> -> i32
  %3 = arith.index_cast %2 : i32 to index
  %4 = tile.load %arg1[%0, %1] map affine_map<(d0, d1) -> (d0)> : <[ragged(T)], i32> -> i32
  %5 = arith.index_cast %4 : i32 to index
  %6 = tile.load %arg2[%0, %1, %c0] map affine_map<(d0, d1, d2) -> (d0, d1 * 64 + d2 + 576)> : <[ragged(T), 960], f32> -> vector<64xf32>
  %7 = tile.load %arg2[%0, %1, %c0] map affine_map<(d0, d1, d2) -> (d0, d1 * 64 - d2 + (d2 floordiv 2) * 4 + 577)> : <[ragged(T), 960], f32> -> vector<64xf32>
  %8 = tile.load %arg3[%0, %1, %c0] map affine_map<(d0, d1, d2) -> (d0, (d2 floordiv 2) mod 32)> : <[ragged(T), 32], f32> -> vector<64xf32>
  %9 = tile.load %arg4[%0, %1, %c0] map affine_map<(d0, d1, d2) -> (d0, (d2 floordiv 2) mod 32)> : <[ragged(T), 32], f32> -> vector<64xf32>
  %10 = tile.index %c0 dim 0 : vector<64xi32>
  %11 = arith.andi %10, %cst : vector<64xi32>
  %12 = arith.cmpi eq, %11, %cst_0 : vector<64xi32>
  %13 = arith.mulf %6, %8 : vector<64xf32>
  %14 = arith.mulf %7, %9 : vector<64xf32>
  %15 = arith.subf %13, %14 : vector<64xf32>
  %16 = arith.addf %13, %14 : vector<64xf32>
  %17 = arith.select %12, %15, %16 : vector<64xi1>, vector<64xf32>
  tile.store %17, %arg5[%3, %5, %0, %1, %c0] map affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)> pages %arg6 : vector<64xf32>, <[sym(S), paged(C), 3, 64], f32, paged_k, f16>, !tile.buffer<[sym(S), sym(B)], i32>
  %18 = tile.load %arg2[%0, %1, %c0] map affine_map<(d0, d1, d2) -> (d0, d1 * 64 + d2 + 768)> : <[ragged(T), 960], f32> -> vector<64xf32>
  tile.store %18, %arg7[%3, %5, %0, %1, %c0] map affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)> pages %arg6 : vector<64xf32>, <[sym(S), paged(C), 3, 64], f32, paged_v, f16>, !tile.buffer<[sym(S), sym(B)], i32>
  tile.return
}