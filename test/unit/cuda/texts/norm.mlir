// RMS norm of rows of 576: the mean of squares in 64 partial sums, folded by the fixed tree.
tile.kernel @norm_rows grid [#tile.axis<[ragged(T)] by 1>] attributes {schedule = {form = "rows"}} {
^bb0(%x: !tile.buffer<[ragged(T), 576], f32>, %w: !tile.buffer<[576], f32>, %y: !tile.buffer<[ragged(T), 576], f32>):
  %t = tile.origin 0
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c576 = arith.constant 576 : index
  %zero = arith.constant dense<0.0> : vector<64xf32>
  %partial = scf.for %i = %c0 to %c576 step %c64 iter_args(%a = %zero) -> (vector<64xf32>) {
    %v = tile.load %x[%t, %i] map affine_map<(t, i) -> (t, i)> : !tile.buffer<[ragged(T), 576], f32> -> vector<64xf32>
    %sq = arith.mulf %v, %v : vector<64xf32>
    %s = arith.addf %a, %sq : vector<64xf32>
    scf.yield %s : vector<64xf32>
  }
  %sum = tile.reduce %partial : vector<64xf32> -> f32 combine {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    tile.yield %r : f32
  }
  %n = arith.constant 576.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %mean = arith.divf %sum, %n : f32
  %shifted = arith.addf %mean, %eps : f32
  %scale = math.rsqrt %shifted : f32
  %sv = vector.broadcast %scale : f32 to vector<64xf32>
  scf.for %i = %c0 to %c576 step %c64 {
    %v = tile.load %x[%t, %i] map affine_map<(t, i) -> (t, i)> : !tile.buffer<[ragged(T), 576], f32> -> vector<64xf32>
    %g = tile.load %w[%i] map affine_map<(i) -> (i)> : !tile.buffer<[576], f32> -> vector<64xf32>
    %p = arith.mulf %v, %sv : vector<64xf32>
    %q = arith.mulf %p, %g : vector<64xf32>
    tile.store %q, %y[%t, %i] map affine_map<(t, i) -> (t, i)> : vector<64xf32>, !tile.buffer<[ragged(T), 576], f32>
  }
  tile.return
}
