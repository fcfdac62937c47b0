// Attention of one step over a paged cache, with a score modification that nobody has named. Compile it with
//
//   fusec compile attention.mlir --compile-from import --compile-to plan -o plan.mlir
//
// and look for the kernels in plan.mlir: product with the keys, modification, softmax and product with
// the values are one cascade kernel. Change the map @scores below to change attention; nothing else
// knows what it computes.
#rows = affine_map<(t, h, j) -> (t, h, j)>
#row = affine_map<(t, h, j) -> (t, h)>
#token = affine_map<(t, h, j) -> (t)>
func.func @step(%q: !fuse.tensor<[ragged(T), 8, 64], f32> {fuse.name = "q"},
                %positions: !fuse.tensor<[ragged(T)], i32> {fuse.name = "positions"},
                %sequences: !fuse.tensor<[ragged(T)], i32> {fuse.name = "sequences"},
                %keys: !fuse.tensor<[sym(S), paged(C), 2, 64], f32> {fuse.name = "k.0"},
                %values: !fuse.tensor<[sym(S), paged(C), 2, 64], f32> {fuse.name = "v.0"})
    -> !fuse.tensor<[ragged(T), 8, 64], f32> {
  %k = fuse.gather %keys[%sequences] : !fuse.tensor<[sym(S), paged(C), 2, 64], f32>, !fuse.tensor<[ragged(T)], i32>
      -> !fuse.tensor<[ragged(T), paged(C), 2, 64], f32>
  %v = fuse.gather %values[%sequences] : !fuse.tensor<[sym(S), paged(C), 2, 64], f32>, !fuse.tensor<[ragged(T)], i32>
      -> !fuse.tensor<[ragged(T), paged(C), 2, 64], f32>
  %dots = fuse.contract %q, %k
      maps [affine_map<(t, h, j, d) -> (t, h, d)>, affine_map<(t, h, j, d) -> (t, j, h floordiv 4, d)>,
            affine_map<(t, h, j, d) -> (t, h, j)>]
      numerics <accumulate = f32, order = any, empty = identity>
      : !fuse.tensor<[ragged(T), 8, 64], f32>, !fuse.tensor<[ragged(T), paged(C), 2, 64], f32>
      -> !fuse.tensor<[ragged(T), 8, paged(C)], f32> loc("dots")
  // The modification: a bias that grows with the distance like tanh, to an extent that depends on the
  // head, and the causal mask.
  %scores = fuse.map(%dots, %positions : !fuse.tensor<[ragged(T), 8, paged(C)], f32>, !fuse.tensor<[ragged(T)], i32>)
      maps [#rows, #token] -> !fuse.tensor<[ragged(T), 8, paged(C)], f32> {
  ^bb0(%dot: f32, %position: i32):
    %scale = arith.constant 0.125 : f32
    %sixteen = arith.constant 16.0 : f32
    %half = arith.constant 0.5 : f32
    %masked = arith.constant 0xFF800000 : f32
    %h = fuse.index 1
    %j = fuse.index 2
    %s = arith.mulf %dot, %scale : f32
    %distance = arith.subi %position, %j : i32
    %d = arith.sitofp %distance : i32 to f32
    %x = arith.divf %d, %sixteen : f32
    %t = math.tanh %x : f32
    %head = arith.sitofp %h : i32 to f32
    %slope = arith.mulf %head, %half : f32
    %bias = arith.mulf %t, %slope : f32
    %biased = arith.addf %s, %bias : f32
    %seen = arith.cmpi sle, %j, %position : i32
    %r = arith.select %seen, %biased, %masked : f32
    fuse.yield %r : f32
  } loc("scores")
  // The rest is softmax and the product with the values.
  %p = fuse.softmax %scores : !fuse.tensor<[ragged(T), 8, paged(C)], f32> -> !fuse.tensor<[ragged(T), 8, paged(C)], f32> loc("softmax")
  %y = fuse.contract %p, %v
      maps [affine_map<(t, h, d, j) -> (t, h, j)>, affine_map<(t, h, d, j) -> (t, j, h floordiv 4, d)>,
            affine_map<(t, h, d, j) -> (t, h, d)>]
      numerics <accumulate = f32, order = any, empty = identity>
      : !fuse.tensor<[ragged(T), 8, paged(C)], f32>, !fuse.tensor<[ragged(T), paged(C), 2, 64], f32>
      -> !fuse.tensor<[ragged(T), 8, 64], f32> loc("weighted_values")
  return %y : !fuse.tensor<[ragged(T), 8, 64], f32>
}
