// silu(gate) * up of normalised rows, for few tokens: slices of k on different warps, operands rounded to bf16.
tile.kernel @gate_up grid [#tile.axis<[ragged(T)] by 8>, #tile.axis<[1536] by 16>]
    attributes {schedule = {form = "sliced", lanes = 16 : i64, rows = 8 : i64, slice = 128 : i64, step = 32 : i64, threads = 128 : i64}} {
^bb0(%x: !tile.buffer<[ragged(T), 512], f32>, %norm: !tile.buffer<[512], f32>, %gate: !tile.buffer<[1536, 512], f32, panel, q4_k>, %up: !tile.buffer<[1536, 512], f32, panel, q4_k>, %y: !tile.buffer<[ragged(T), 1536], f32>):
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant dense<0.000000e+00> : vector<8x16xf32>
  %one = arith.constant dense<1.000000e+00> : vector<8x16xf32>
  %none = arith.constant dense<0.000000e+00> : vector<8x128xf32>
  %width = arith.constant dense<5.120000e+02> : vector<8x1xf32>
  %epsilon = arith.constant dense<9.99999974E-6> : vector<8x1xf32>
  %n = tile.origin 1
  %m = tile.origin 0
  %squares = scf.for %i = %c0 to %c512 step %c128 iter_args(%sum = %none) -> (vector<8x128xf32>) {
    %e = tile.load %x[%m, %i] map affine_map<(d0, d1) -> (d0, d1)> : <[ragged(T), 512], f32> -> vector<8x128xf32>
    %square = arith.mulf %e, %e : vector<8x128xf32>
    %next = arith.addf %sum, %square : vector<8x128xf32>
    scf.yield %next : vector<8x128xf32>
  }
  %total = tile.reduce %squares : vector<8x128xf32> -> vector<8x1xf32> combine {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  }
  %mean = arith.divf %total, %width : vector<8x1xf32>
  %shifted = arith.addf %mean, %epsilon : vector<8x1xf32>
  %scale = math.rsqrt %shifted : vector<8x1xf32>
  %sums:2 = scf.for %slice = %c0 to %c512 step %c128 iter_args(%t0 = %zero, %t1 = %zero) -> (vector<8x16xf32>, vector<8x16xf32>) {
    %next = arith.addi %slice, %c128 : index
    %end = arith.minsi %next, %c512 : index
    %parts:2 = scf.for %k = %slice to %end step %c32 iter_args(%p0 = %zero, %p1 = %zero) -> (vector<8x16xf32>, vector<8x16xf32>) {
      %e = tile.load %x[%m, %k] map affine_map<(d0, d1) -> (d0, d1)> : <[ragged(T), 512], f32> -> vector<8x32xf32>
      %spread = vector.broadcast %scale : vector<8x1xf32> to vector<8x32xf32>
      %w = tile.load %norm[%m, %k] map affine_map<(d0, d1) -> (d1)> : <[512], f32> -> vector<8x32xf32>
      %scaled = arith.mulf %e, %spread : vector<8x32xf32>
      %row = arith.mulf %scaled, %w : vector<8x32xf32>
      %g = tile.load %gate[%k, %n] map affine_map<(d0, d1) -> (d1, d0)> : <[1536, 512], f32, panel, q4_k> -> vector<32x16xf32>
      %d0 = tile.dot %row, %g, %p0 {operand_type = bf16} : vector<8x32xf32>, vector<32x16xf32> -> vector<8x16xf32>
      %u = tile.load %up[%k, %n] map affine_map<(d0, d1) -> (d1, d0)> : <[1536, 512], f32, panel, q4_k> -> vector<32x16xf32>
      %d1 = tile.dot %row, %u, %p1 {operand_type = bf16} : vector<8x32xf32>, vector<32x16xf32> -> vector<8x16xf32>
      scf.yield %d0, %d1 : vector<8x16xf32>, vector<8x16xf32>
    }
    %a0 = arith.addf %t0, %parts#0 : vector<8x16xf32>
    %a1 = arith.addf %t1, %parts#1 : vector<8x16xf32>
    scf.yield %a0, %a1 : vector<8x16xf32>, vector<8x16xf32>
  } {tile.spread}
  %negative = arith.negf %sums#0 : vector<8x16xf32>
  %exponential = math.exp %negative : vector<8x16xf32>
  %below = arith.addf %exponential, %one : vector<8x16xf32>
  %silu = arith.divf %sums#0, %below : vector<8x16xf32>
  %result = arith.mulf %silu, %sums#1 : vector<8x16xf32>
  tile.store %result, %y[%m, %n] map affine_map<(d0, d1) -> (d0, d1)> : vector<8x16xf32>, <[ragged(T), 1536], f32>
  tile.return
}
