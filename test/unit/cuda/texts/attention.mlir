// Attention of a token to the 50 positions up to its own, three query heads a program, in one pass over the pages.
!q = !tile.buffer<[ragged(T), 384], f32>
!k = !tile.buffer<[sym(S), paged(C), 2, 64], f32, paged_k>
!v = !tile.buffer<[sym(S), paged(C), 2, 64], f32, paged_v>
!table = !tile.buffer<[sym(S), sym(B)], i32>
!ids = !tile.buffer<[ragged(T)], i32>
!p = !tile.buffer<[3, 64], f32>
tile.kernel @attention grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[2] by 1>] {
^bb0(%q: !q, %kc: !k, %vc: !v, %bt: !table, %seqs: !ids, %pos: !ids, %out: !q):
  %t = tile.origin 0
  %h = tile.origin 1
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %before = arith.constant 49 : index
  %C = tile.extent "C"
  %s32 = tile.load %seqs[%t] map affine_map<(t) -> (t)> : !ids -> i32
  %s = arith.index_cast %s32 : i32 to index
  %p32 = tile.load %pos[%t] map affine_map<(t) -> (t)> : !ids -> i32
  %at = arith.index_cast %p32 : i32 to index
  %length = arith.addi %at, %c1 : index
  %end = arith.minsi %length, %C : index
  %far = arith.subi %at, %before : index
  %first = arith.maxsi %far, %c0 : index
  %block = arith.divui %first, %c64 : index
  %start = arith.muli %block, %c64 : index
  %first32 = arith.index_cast %first : index to i32
  %newest = vector.broadcast %p32 : i32 to vector<3x64xi32>
  %oldest = vector.broadcast %first32 : i32 to vector<3x64xi32>
  %zero = arith.constant dense<0.0> : vector<3x64xf32>
  %zeros = arith.constant dense<0.0> : vector<3x1xf32>
  %low = arith.constant dense<0xFF800000> : vector<3x64xf32>
  %lows = arith.constant dense<0xFF800000> : vector<3x1xf32>
  %scale = arith.constant dense<0.125> : vector<3x64xf32>
  %w = tile.scratch : !p
  %m, %l, %o = scf.for %j = %start to %end step %c64 iter_args(%mc = %lows, %lc = %zero, %oc = %zero) -> (vector<3x1xf32>, vector<3x64xf32>, vector<3x64xf32>) {
    %dots = scf.for %d = %c0 to %c64 step %c16 iter_args(%a = %zero) -> (vector<3x64xf32>) {
      %qv = tile.load %q[%t, %h, %c0, %d] map affine_map<(t, h, g, d) -> (t, (h * 3 + g) * 64 + d)> : !q -> vector<3x16xf32>
      %kv = tile.load %kc[%s, %h, %d, %j] map affine_map<(s, h, d, j) -> (s, j, h, d)> pages %bt : !k, !table -> vector<16x64xf32>
      %r = tile.dot %qv, %kv, %a : vector<3x16xf32>, vector<16x64xf32> -> vector<3x64xf32>
      scf.yield %r : vector<3x64xf32>
    }
    %scaled = arith.mulf %dots, %scale : vector<3x64xf32>
    %idx = tile.index %j dim 1 : vector<3x64xi32>
    %old = arith.cmpi sge, %idx, %oldest : vector<3x64xi32>
    %new = arith.cmpi sle, %idx, %newest : vector<3x64xi32>
    %visible = arith.andi %old, %new : vector<3x64xi1>
    %scores = arith.select %visible, %scaled, %low : vector<3x64xi1>, vector<3x64xf32>
    %bm = tile.reduce %scores : vector<3x64xf32> -> vector<3x1xf32> combine {
    ^bb1(%x: f32, %y: f32):
      %xy = arith.maximumf %x, %y : f32
      tile.yield %xy : f32
    }
    %mn = arith.maximumf %mc, %bm : vector<3x1xf32>
    %none = arith.cmpf oeq, %mn, %lows : vector<3x1xf32>
    %safe = arith.select %none, %zeros, %mn : vector<3x1xi1>, vector<3x1xf32>
    %fall = arith.subf %mc, %safe : vector<3x1xf32>
    %repair = math.exp %fall : vector<3x1xf32>
    %wide = vector.broadcast %repair : vector<3x1xf32> to vector<3x64xf32>
    %base = vector.broadcast %safe : vector<3x1xf32> to vector<3x64xf32>
    %shifted = arith.subf %scores, %base : vector<3x64xf32>
    %pr = math.exp %shifted : vector<3x64xf32>
    %lr = arith.mulf %lc, %wide : vector<3x64xf32>
    %ln = arith.addf %lr, %pr : vector<3x64xf32>
    %or = arith.mulf %oc, %wide : vector<3x64xf32>
    tile.store %pr, %w[%c0, %c0] map affine_map<(g, i) -> (g, i)> : vector<3x64xf32>, !p
    %left = arith.subi %end, %j : index
    %n = arith.minsi %left, %c64 : index
    %tiles = arith.divui %n, %c16 : index
    %main = arith.muli %tiles, %c16 : index
    %o16 = scf.for %i = %c0 to %main step %c16 iter_args(%a = %or) -> (vector<3x64xf32>) {
      %jj = arith.addi %j, %i : index
      %pv = tile.load %w[%c0, %i] map affine_map<(g, i) -> (g, i)> : !p -> vector<3x16xf32>
      %vv = tile.load %vc[%s, %h, %jj, %c0] map affine_map<(s, h, j, d) -> (s, j, h, d)> pages %bt : !v, !table -> vector<16x64xf32>
      %r = tile.dot %pv, %vv, %a : vector<3x16xf32>, vector<16x64xf32> -> vector<3x64xf32>
      scf.yield %r : vector<3x64xf32>
    }
    %o1 = scf.for %i = %main to %n step %c1 iter_args(%a = %o16) -> (vector<3x64xf32>) {
      %jj = arith.addi %j, %i : index
      %pv = tile.load %w[%c0, %i] map affine_map<(g, i) -> (g, i)> : !p -> vector<3x1xf32>
      %vv = tile.load %vc[%s, %h, %jj, %c0] map affine_map<(s, h, j, d) -> (s, j, h, d)> pages %bt : !v, !table -> vector<1x64xf32>
      %r = tile.dot %pv, %vv, %a : vector<3x1xf32>, vector<1x64xf32> -> vector<3x64xf32>
      scf.yield %r : vector<3x64xf32>
    }
    scf.yield %mn, %ln, %o1 : vector<3x1xf32>, vector<3x64xf32>, vector<3x64xf32>
  }
  %sum = tile.reduce %l : vector<3x64xf32> -> vector<3x1xf32> combine {
  ^bb1(%x: f32, %y: f32):
    %xy = arith.addf %x, %y : f32
    tile.yield %xy : f32
  }
  %sums = vector.broadcast %sum : vector<3x1xf32> to vector<3x64xf32>
  %result = arith.divf %o, %sums : vector<3x64xf32>
  tile.store %result, %out[%t, %h, %c0, %c0] map affine_map<(t, h, g, d) -> (t, (h * 3 + g) * 64 + d)> : vector<3x64xf32>, !q
  tile.return
}
