// Two products of the same rows with packed weights, and the gate of a feed-forward: silu(a) * b. Four rows of T.
tile.kernel @gated grid [#tile.axis<[ragged(T)] by 4>, #tile.axis<[1536] by 32>] attributes {schedule = {form = "direct", lanes = 32 : i64, rows = 4 : i64, step = 16 : i64}} {
^bb0(%x: !tile.buffer<[ragged(T), 576], f32>, %a: !tile.buffer<[1536, 576], f32, panel, q4_1>, %b: !tile.buffer<[1536, 576], f32, panel, q6_k>, %y: !tile.buffer<[ragged(T), 1536], f32>):
  %one = arith.constant dense<1.0> : vector<4x32xf32>
  %c16 = arith.constant 16 : index
  %c576 = arith.constant 576 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<4x32xf32>
  %n = tile.origin 1
  %t = tile.origin 0
  %s:2 = scf.for %k = %c0 to %c576 step %c16 iter_args(%p = %zero, %q = %zero) -> (vector<4x32xf32>, vector<4x32xf32>) {
    %xv = tile.load %x[%t, %k] map affine_map<(t, k) -> (t, k)> : !tile.buffer<[ragged(T), 576], f32> -> vector<4x16xf32>
    %av = tile.load %a[%k, %n] map affine_map<(k, n) -> (n, k)> : !tile.buffer<[1536, 576], f32, panel, q4_1> -> vector<16x32xf32>
    %ad = tile.dot %xv, %av, %p : vector<4x16xf32>, vector<16x32xf32> -> vector<4x32xf32>
    %bv = tile.load %b[%k, %n] map affine_map<(k, n) -> (n, k)> : !tile.buffer<[1536, 576], f32, panel, q6_k> -> vector<16x32xf32>
    %bd = tile.dot %xv, %bv, %q : vector<4x16xf32>, vector<16x32xf32> -> vector<4x32xf32>
    scf.yield %ad, %bd : vector<4x32xf32>, vector<4x32xf32>
  }
  %m = arith.negf %s#0 : vector<4x32xf32>
  %e = math.exp %m : vector<4x32xf32>
  %d = arith.addf %e, %one : vector<4x32xf32>
  %g = arith.divf %s#0, %d : vector<4x32xf32>
  %o = arith.mulf %g, %s#1 : vector<4x32xf32>
  tile.store %o, %y[%t, %n] map affine_map<(t, n) -> (t, n)> : vector<4x32xf32>, !tile.buffer<[ragged(T), 1536], f32>
  tile.return
}
