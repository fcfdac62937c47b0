tile.kernel @attention_tile grid [#tile.axis<[sym(W)] by 1>, #tile.axis<[3] by 1>, #tile.axis<[3] by 3>] attributes {schedule = {block = 64 : i64, form = "cascade-tile", rows = 3 : i64, split = 256 : i64, threads = 128 : i64, tokens = 21 : i64}} {
^bb0(%arg0: !tile.buffer<[sym(W), 2], i32>, %arg1: !tile.buffer<[ragged(T)], i32>, %arg2: !tile.buffer<[ragged(T), 960], f32>, %arg3: !tile.buffer<[ragged(T), 32], f32>, %arg4: !tile.buffer<[ragged(T), 32], f32>, %arg5: !tile.buffer<[ragged(T)], i32>, %arg6: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k, bf16>, %arg7: !tile.buffer<[sym(S), sym(B)], i32>, %arg8: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_v, bf16>, %arg9: !tile.buffer<[ragged(T), 576], f32>, %arg10: !tile.buffer<[16, 3, 3, sym(B), 66], f32>):
  %cst = arith.constant dense<1.000000e+00> : vector<63x1xf32>
  %cst_0 = arith.constant dense<1.250000e-01> : vector<63x64xf32>
  %cst_1 = arith.constant dense<0xFF800000> : vector<63x64xf32>
  %cst_2 = arith.constant dense<0.000000e+00> : vector<63x64xf32>
  %cst_3 = arith.constant dense<0.000000e+00> : vector<63x1xf32>
  %cst_4 = arith.constant dense<0xFF800000> : vector<63x1xf32>
  %c256 = arith.constant 256 : index
  %c64 = arith.constant 64 : index
  %cst_5 = arith.constant dense<1> : vector<63x64xi32>
  %cst_6 = arith.constant dense<0> : vector<63x64xi32>
  %cst_7 = arith.constant dense<-2147483648> : vector<64xi32>
  %cst_8 = arith.constant dense<1> : vector<64xi32>
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %0 = tile.origin 0
  %1 = tile.origin 1
  %2 = tile.origin 2
  %3 = tile.load %arg0[%0, %c0] map affine_map<(d0, d1) -> (d0, d1)> : <[sym(W), 2], i32> -> i32
  %4 = arith.index_cast %3 : i32 to index
  %5 = tile.load %arg0[%0, %c1] map affine_map<(d0, d1) -> (d0, d1)> : <[sym(W), 2], i32> -> i32
  %6 = arith.index_cast %5 : i32 to index
  %7 = arith.muli %6, %c3 : index
  %8 = tile.extent "C"
  %9 = tile.load %arg1[%4, %1, %2, %c0] map affine_map<(d0, d1, d2, d3) -> (d0 + d3 floordiv 3)> : <[ragged(T)], i32> -> vector<64xi32>
  %10 = arith.addi %9, %cst_8 : vector<64xi32>
  %11 = tile.index %c0 dim 0 : vector<64xi32>
  %12 = arith.index_cast %7 : index to i32
  %13 = vector.broadcast %12 : i32 to vector<64xi32>
  %14 = arith.cmpi slt, %11, %13 : vector<64xi32>
  %15 = arith.select %14, %10, %cst_7 : vector<64xi1>, vector<64xi32>
  %16 = tile.reduce %15 : vector<64xi32> -> i32 combine {
  ^bb0(%arg11: i32, %arg12: i32):
    %38 = arith.maxsi %arg11, %arg12 : i32
    tile.yield %38 : i32
  }
  %17 = arith.index_cast %16 : i32 to index
  %18 = arith.minsi %8, %17 : index
  %19 = arith.maxsi %18, %c0 : index
  %20 = tile.load %arg2[%4, %1, %2, %c0, %c0] map affine_map<(d0, d1, d2, d3, d4) -> (d0 + d3 floordiv 3, d1 * 192 + d2 * 64 + d3 * 64 + d4 - (d3 floordiv 3) * 192)> rows %7 : <[ragged(T), 960], f32> -> vector<63x64xf32>
  %21 = tile.load %arg2[%4, %1, %2, %c0, %c0] map affine_map<(d0, d1, d2, d3, d4) -> (d0 + d3 floordiv 3, d1 * 192 + d2 * 64 + d3 * 64 - d4 - (d3 floordiv 3) * 192 + (d4 floordiv 2) * 4 + 1)> rows %7 : <[ragged(T), 960], f32> -> vector<63x64xf32>
  %22 = tile.load %arg3[%4, %1, %2, %c0, %c0] map affine_map<(d0, d1, d2, d3, d4) -> (d0 + d3 floordiv 3, (d4 floordiv 2) mod 32)> rows %7 : <[ragged(T), 32], f32> -> vector<63x64xf32>
  %23 = tile.load %arg4[%4, %1, %2, %c0, %c0] map affine_map<(d0, d1, d2, d3, d4) -> (d0 + d3 floordiv 3, (d4 floordiv 2) mod 32)> rows %7 : <[ragged(T), 32], f32> -> vector<63x64xf32>
  %24 = tile.index %c0 dim 1 : vector<63x64xi32>
  %25 = arith.andi %24, %cst_5 : vector<63x64xi32>
  %26 = arith.cmpi eq, %25, %cst_6 : vector<63x64xi32>
  %27 = arith.mulf %20, %22 : vector<63x64xf32>
  %28 = arith.mulf %21, %23 : vector<63x64xf32>
  %29 = arith.subf %27, %28 : vector<63x64xf32>
  %30 = arith.addf %27, %28 : vector<63x64xf32>
  %31 = arith.select %26, %29, %30 : vector<63x64xi1>, vector<63x64xf32>
  %32 = tile.load %arg5[%4, %1, %2] map affine_map<(d0, d1, d2) -> (d0)> : <[ragged(T)], i32> -> i32
  %33:3 = scf.for %arg11 = %c0 to %19 step %c256 iter_args(%arg12 = %cst_4, %arg13 = %cst_3, %arg14 = %cst_2) -> (vector<63x1xf32>, vector<63x1xf32>, vector<63x64xf32>) {
    %38 = arith.addi %arg11, %c256 : index
    %39 = arith.minsi %38, %19 : index
    %40 = arith.maxsi %arg11, %c0 : index
    %41:3 = scf.for %arg15 = %40 to %39 step %c64 iter_args(%arg16 = %cst_4, %arg17 = %cst_3, %arg18 = %cst_2) -> (vector<63x1xf32>, vector<63x1xf32>, vector<63x64xf32>) {
      %62 = arith.index_cast %32 : i32 to index
      %63 = tile.load %arg6[%62, %4, %1, %2, %c0, %arg15] map affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d2, d4)> pages %arg7 : <[sym(S), paged(C), 3, 64], f32, paged_k, bf16>, !tile.buffer<[sym(S), sym(B)], i32> -> vector<64x64xf32>
      %64 = tile.dot %31, %63, %cst_2 {operand_type = bf16} : vector<63x64xf32>, vector<64x64xf32> -> vector<63x64xf32>
      %65 = tile.load %arg1[%4, %1, %2, %c0, %arg15] map affine_map<(d0, d1, d2, d3, d4) -> (d0 + d3 floordiv 3)> rows %7 : <[ragged(T)], i32> -> vector<63x64xi32>
      %66 = tile.index %arg15 dim 1 : vector<63x64xi32>
      %67 = arith.cmpi sle, %66, %65 : vector<63x64xi32>
      %68 = arith.mulf %64, %cst_0 : vector<63x64xf32>
      %69 = arith.select %67, %68, %cst_1 : vector<63x64xi1>, vector<63x64xf32>
      %70 = tile.reduce %69 : vector<63x64xf32> -> vector<63x1xf32> combine {
      ^bb0(%arg19: f32, %arg20: f32):
        %94 = arith.maximumf %arg19, %arg20 : f32
        tile.yield %94 : f32
      }
      %71 = arith.maximumf %arg16, %70 : vector<63x1xf32>
      %72 = arith.cmpf oeq, %71, %cst_4 : vector<63x1xf32>
      %73 = arith.select %72, %cst_3, %71 : vector<63x1xi1>, vector<63x1xf32>
      %74 = vector.broadcast %73 : vector<63x1xf32> to vector<63x64xf32>
      %75 = arith.negf %71 : vector<63x1xf32>
      %76 = arith.negf %arg16 : vector<63x1xf32>
      %77 = arith.subf %75, %76 : vector<63x1xf32>
      %78 = arith.cmpf oeq, %arg16, %71 : vector<63x1xf32>
      %79 = math.exp %77 : vector<63x1xf32>
      %80 = arith.select %78, %cst, %79 : vector<63x1xi1>, vector<63x1xf32>
      %81 = arith.mulf %arg17, %80 : vector<63x1xf32>
      %82 = arith.subf %69, %74 : vector<63x64xf32>
      %83 = math.exp %82 : vector<63x64xf32>
      %84 = arith.cmpf oeq, %74, %cst_1 : vector<63x64xf32>
      %85 = arith.select %84, %cst_2, %83 : vector<63x64xi1>, vector<63x64xf32>
      %86 = tile.reduce %85 : vector<63x64xf32> -> vector<63x1xf32> combine {
      ^bb0(%arg19: f32, %arg20: f32):
        %94 = arith.addf %arg19, %arg20 : f32
        tile.yield %94 : f32
      }
      %87 = arith.addf %81, %86 : vector<63x1xf32>
      %88 = vector.broadcast %80 : vector<63x1xf32> to vector<63x64xf32>
      %89 = arith.mulf %arg18, %88 : vector<63x64xf32>
      %90 = arith.subi %39, %arg15 : index
      %91 = arith.minsi %90, %c64 : index
      %92 = tile.load %arg8[%62, %4, %1, %2, %arg15, %c0] map affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d2, d5)> pages %arg7 rows %91 : <[sym(S), paged(C), 3, 64], f32, paged_v, bf16>, !tile.buffer<[sym(S), sym(B)], i32> -> vector<64x64xf32>
      %93 = tile.dot %85, %92, %89 {operand_type = bf16} : vector<63x64xf32>, vector<64x64xf32> -> vector<63x64xf32>
      scf.yield %71, %87, %93 : vector<63x1xf32>, vector<63x1xf32>, vector<63x64xf32>
    }
    %42 = arith.maximumf %arg12, %41#0 : vector<63x1xf32>
    %43 = arith.negf %42 : vector<63x1xf32>
    %44 = arith.negf %arg12 : vector<63x1xf32>
    %45 = arith.subf %43, %44 : vector<63x1xf32>
    %46 = arith.cmpf oeq, %arg12, %42 : vector<63x1xf32>
    %47 = math.exp %45 : vector<63x1xf32>
    %48 = arith.select %46, %cst, %47 : vector<63x1xi1>, vector<63x1xf32>
    %49 = arith.mulf %arg13, %48 : vector<63x1xf32>
    %50 = arith.negf %41#0 : vector<63x1xf32>
    %51 = arith.subf %43, %50 : vector<63x1xf32>
    %52 = arith.cmpf oeq, %41#0, %42 : vector<63x1xf32>
    %53 = math.exp %51 : vector<63x1xf32>
    %54 = arith.select %52, %cst, %53 : vector<63x1xi1>, vector<63x1xf32>
    %55 = arith.mulf %41#1, %54 : vector<63x1xf32>
    %56 = arith.addf %49, %55 : vector<63x1xf32>
    %57 = vector.broadcast %48 : vector<63x1xf32> to vector<63x64xf32>
    %58 = arith.mulf %arg14, %57 : vector<63x64xf32>
    %59 = vector.broadcast %54 : vector<63x1xf32> to vector<63x64xf32>
    %60 = arith.mulf %41#2, %59 : vector<63x64xf32>
    %61 = arith.addf %58, %60 : vector<63x64xf32>
    scf.yield %42, %56, %61 : vector<63x1xf32>, vector<63x1xf32>, vector<63x64xf32>
  }
  %34 = vector.broadcast %33#1 : vector<63x1xf32> to vector<63x64xf32>
  %35 = arith.cmpf oeq, %34, %cst_2 : vector<63x64xf32>
  %36 = arith.divf %33#2, %34 : vector<63x64xf32>
  %37 = arith.select %35, %cst_2, %36 : vector<63x64xi1>, vector<63x64xf32>
  tile.store %37, %arg9[%4, %1, %2, %c0, %c0] map affine_map<(d0, d1, d2, d3, d4) -> (d0 + d3 floordiv 3, d1 * 192 + d2 * 64 + d3 * 64 + d4 - (d3 floordiv 3) * 192)> rows %7 : vector<63x64xf32>, <[ragged(T), 576], f32>
  tile.return
}