// A change to attention's scores that has no name anywhere. With s = q.k / 4 and a distance d = p - j:
//
//   t = s * (1 + 0.25 * cos(0.1 * d)) - log(1 + |s|) * 0.1 + 0.5 / (1 + d)
//
// where key j is visible from the token at position p (j <= p), else -inf. The rest is softmax and the
// weighted sum of the values, over paged caches: 4 heads that share 2 cached ones, of 32 elements.
func.func @step(%q: !fuse.tensor<[ragged(T), 4, 32], f32> {fuse.name = "q"},
                %positions: !fuse.tensor<[ragged(T)], i32> {fuse.name = "positions"},
                %sequences: !fuse.tensor<[ragged(T)], i32> {fuse.name = "sequences"},
                %keys: !fuse.tensor<[sym(S), paged(C), 2, 32], f32> {fuse.name = "k.0"},
                %values: !fuse.tensor<[sym(S), paged(C), 2, 32], f32> {fuse.name = "v.0"})
    -> !fuse.tensor<[ragged(T), 4, 32], f32> {
  %k = fuse.gather %keys[%sequences] : !fuse.tensor<[sym(S), paged(C), 2, 32], f32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), paged(C), 2, 32], f32>
  %v = fuse.gather %values[%sequences] : !fuse.tensor<[sym(S), paged(C), 2, 32], f32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), paged(C), 2, 32], f32>
  %s = fuse.contract %q, %k
      maps [affine_map<(t, h, j, d) -> (t, h, d)>, affine_map<(t, h, j, d) -> (t, j, h floordiv 2, d)>, affine_map<(t, h, j, d) -> (t, h, j)>]
      numerics <accumulate = f32, order = sequential, empty = identity>
      : !fuse.tensor<[ragged(T), 4, 32], f32>, !fuse.tensor<[ragged(T), paged(C), 2, 32], f32> -> !fuse.tensor<[ragged(T), 4, paged(C)], f32>
  %t = fuse.map(%s, %positions : !fuse.tensor<[ragged(T), 4, paged(C)], f32>, !fuse.tensor<[ragged(T)], i32>)
      maps [affine_map<(t, h, j) -> (t, h, j)>, affine_map<(t, h, j) -> (t)>] -> !fuse.tensor<[ragged(T), 4, paged(C)], f32> {
  ^bb0(%dot: f32, %p: i32):
    %quarter = arith.constant 2.500000e-01 : f32
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %tenth = arith.constant 1.000000e-01 : f32
    %infinity = arith.constant 0xFF800000 : f32
    %j = fuse.index 2
    %distance = arith.subi %p, %j : i32
    %d = arith.sitofp %distance : i32 to f32
    %x = arith.mulf %dot, %quarter : f32
    %angle = arith.mulf %d, %tenth : f32
    %cosine = math.cos %angle : f32
    %wave = arith.mulf %cosine, %quarter : f32
    %factor = arith.addf %one, %wave : f32
    %waved = arith.mulf %x, %factor : f32
    %size = math.absf %x : f32
    %grown = arith.addf %one, %size : f32
    %log = math.log %grown : f32
    %damp = arith.mulf %log, %tenth : f32
    %damped = arith.subf %waved, %damp : f32
    %away = arith.addf %d, %one : f32
    %near = arith.divf %half, %away : f32
    %changed = arith.addf %damped, %near : f32
    %visible = arith.cmpi sle, %j, %p : i32
    %masked = arith.select %visible, %changed, %infinity : f32
    fuse.yield %masked : f32
  }
  %m = fuse.reduce(%t : !fuse.tensor<[ragged(T), 4, paged(C)], f32>) over [2] init [0xFF800000 : f32]
      numerics <accumulate = f32, order = lanes, empty = identity> -> !fuse.tensor<[ragged(T), 4], f32> combine {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %a, %b : f32
    fuse.yield %r : f32
  } repair {}
  %e = fuse.map(%t, %m : !fuse.tensor<[ragged(T), 4, paged(C)], f32>, !fuse.tensor<[ragged(T), 4], f32>)
      maps [affine_map<(t, h, j) -> (t, h, j)>, affine_map<(t, h, j) -> (t, h)>] -> !fuse.tensor<[ragged(T), 4, paged(C)], f32> {
  ^bb0(%a: f32, %b: f32):
    %zero = arith.constant 0.0 : f32
    %infinity = arith.constant 0xFF800000 : f32
    %difference = arith.subf %a, %b : f32
    %weight = math.exp %difference : f32
    %nothing = arith.cmpf oeq, %b, %infinity : f32
    %r = arith.select %nothing, %zero, %weight : f32
    fuse.yield %r : f32
  }
  %l = fuse.reduce(%e : !fuse.tensor<[ragged(T), 4, paged(C)], f32>) over [2] init [0.0 : f32]
      numerics <accumulate = f32, order = lanes, empty = identity> -> !fuse.tensor<[ragged(T), 4], f32> combine {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    fuse.yield %r : f32
  } repair {}
  %o = fuse.contract %e, %v
      maps [affine_map<(t, h, c, j) -> (t, h, j)>, affine_map<(t, h, c, j) -> (t, j, h floordiv 2, c)>, affine_map<(t, h, c, j) -> (t, h, c)>]
      numerics <accumulate = f32, order = any, empty = identity>
      : !fuse.tensor<[ragged(T), 4, paged(C)], f32>, !fuse.tensor<[ragged(T), paged(C), 2, 32], f32> -> !fuse.tensor<[ragged(T), 4, 32], f32>
  %y = fuse.map(%o, %l : !fuse.tensor<[ragged(T), 4, 32], f32>, !fuse.tensor<[ragged(T), 4], f32>)
      maps [affine_map<(t, h, c) -> (t, h, c)>, affine_map<(t, h, c) -> (t, h)>] -> !fuse.tensor<[ragged(T), 4, 32], f32> {
  ^bb0(%a: f32, %b: f32):
    %zero = arith.constant 0.0 : f32
    %quotient = arith.divf %a, %b : f32
    %empty = arith.cmpf oeq, %b, %zero : f32
    %r = arith.select %empty, %zero, %quotient : f32
    fuse.yield %r : f32
  }
  return %y : !fuse.tensor<[ragged(T), 4, 32], f32>
}
