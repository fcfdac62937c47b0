// RUN: fusec opt %s --split-input-file --verify-diagnostics

// One case per constraint, named by its label in TileOps.td.

// expected-error @+1 {{C2: the grid needs at least one #tile.axis and nothing else}}
tile.kernel @kernel_c2 grid [] {
^bb0(%x: !tile.buffer<[4], f32>):
  tile.return
}

// -----

// expected-error @+1 {{C1: argument 0 is 'f32', expected a buffer}}
tile.kernel @kernel_c1 grid [#tile.axis<[4] by 1>] {
^bb0(%x: f32):
  tile.return
}

// -----

// expected-error @+1 {{C3: the body must end in tile.return}}
tile.kernel @kernel_c3 grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %o = tile.origin 0
}

// -----

tile.kernel @origin grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  // expected-error @+1 {{axis 1 is not in the kernel's grid}}
  %o = tile.origin 1
  tile.return
}

// -----

tile.kernel @scratch_c1 grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  // expected-error @+1 {{C1: scratch memory is static rows without storage}}
  %s = tile.scratch : !tile.buffer<[ragged(T)], f32>
  tile.return
}

// -----

tile.kernel @load_c1 grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4, 4], f32>):
  %i = tile.origin 0
  // expected-error @+1 {{C1: the map must take the 1 indices and give 2 of the buffer}}
  %v = tile.load %x[%i] map affine_map<(i) -> (i)> : !tile.buffer<[4, 4], f32> -> f32
  tile.return
}

// -----

tile.kernel @load_c2_element grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %i = tile.origin 0
  // expected-error @+1 {{C2: cannot move 'vector<4xi32>' through 1 indices}}
  %v = tile.load %x[%i] map affine_map<(i) -> (i)> : !tile.buffer<[4], f32> -> vector<4xi32>
  tile.return
}

// -----

tile.kernel @load_c2_rank grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %i = tile.origin 0
  // expected-error @+1 {{C2: cannot move 'vector<2x4xf32>' through 1 indices}}
  %v = tile.load %x[%i] map affine_map<(i) -> (i)> : !tile.buffer<[4], f32> -> vector<2x4xf32>
  tile.return
}

// -----

tile.kernel @load_c3 grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>):
  %i = tile.origin 0
  // expected-error @+1 {{C3: pages are given exactly for paged buffers}}
  %v = tile.load %x[%i] map affine_map<(i) -> (0, i, 0, 0)> : !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k> -> vector<4xf32>
  tile.return
}

// -----

tile.kernel @store_c4_lane grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %i = tile.origin 0
  %v = arith.constant dense<0.0> : vector<2x4xf32>
  // expected-error @+1 {{C5: the map ignores lane index 0, so lanes would write one element}}
  tile.store %v, %x[%i, %i] map affine_map<(r, i) -> (i)> : vector<2x4xf32>, !tile.buffer<[4], f32>
  tile.return
}

// -----

tile.kernel @store_c4_storage grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[16, 32], f32, panel, q8_0>):
  %i = tile.origin 0
  %v = arith.constant dense<0.0> : vector<4xf32>
  // expected-error @+1 {{C5: a stored weight is read-only}}
  tile.store %v, %x[%i, %i] map affine_map<(n, k) -> (n, k)> : vector<4xf32>, !tile.buffer<[16, 32], f32, panel, q8_0>
  tile.return
}

// -----

tile.kernel @index_c1 grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %i = tile.origin 0
  // expected-error @+1 {{has no i32 lane dimension 1}}
  %v = tile.index %i dim 1 : vector<4xi32>
  tile.return
}

// -----

tile.kernel @dot_c1 grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %a = arith.constant dense<0.0> : vector<2x8xf32>
  %b = arith.constant dense<0.0> : vector<7x4xf32>
  %c = arith.constant dense<0.0> : vector<2x4xf32>
  // expected-error @+1 {{C1: cannot multiply 'vector<2x8xf32>' by 'vector<7x4xf32>' into 'vector<2x4xf32>'}}
  %d = tile.dot %a, %b, %c : vector<2x8xf32>, vector<7x4xf32> -> vector<2x4xf32>
  tile.return
}

// -----

tile.kernel @reduce_c1 grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %v = arith.constant dense<0.0> : vector<6xf32>
  // expected-error @+1 {{C1: inputs are vectors of one shape and a power-of-two length, found 'vector<6xf32>'}}
  %r = tile.reduce %v : vector<6xf32> -> f32 combine {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  tile.return
}

// -----

tile.kernel @reduce_c1_shapes grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %v = arith.constant dense<0.0> : vector<2x8xf32>
  %w = arith.constant dense<0> : vector<4x4xi32>
  // expected-error @+1 {{C1: inputs are vectors of one shape and a power-of-two length, found 'vector<4x4xi32>'}}
  %r, %i = tile.reduce %v, %w : vector<2x8xf32>, vector<4x4xi32> -> vector<2x1xf32>, vector<4x1xi32> combine {
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    tile.yield %a, %ai : f32, i32
  }
  tile.return
}

// -----

tile.kernel @reduce_c1_rank grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %v = arith.constant dense<0.0> : vector<2x2x8xf32>
  // expected-error @+1 {{C1: inputs are vectors of one shape and a power-of-two length, found 'vector<2x2x8xf32>'}}
  %r = tile.reduce %v : vector<2x2x8xf32> -> vector<2x2x1xf32> combine {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  tile.return
}

// -----

tile.kernel @reduce_c2_rows grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %v = arith.constant dense<0.0> : vector<2x8xf32>
  // expected-error @+1 {{C2: results ('vector<2xf32>'), expected ('vector<2x1xf32>')}}
  %r = tile.reduce %v : vector<2x8xf32> -> vector<2xf32> combine {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  tile.return
}

// -----

tile.kernel @reduce_c2 grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %v = arith.constant dense<0.0> : vector<8xf32>
  // expected-error @+1 {{C2: results ('f64'), expected ('f32')}}
  %r = tile.reduce %v : vector<8xf32> -> f64 combine {
  ^bb0(%a: f32, %b: f32):
    tile.yield %a : f32
  }
  tile.return
}

// -----

tile.kernel @reduce_c3 grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4], f32>):
  %v = arith.constant dense<0.0> : vector<8xf32>
  // expected-error @+1 {{C3: combine must take ('f32', 'f32') and yield ('f32')}}
  %r = tile.reduce %v : vector<8xf32> -> f32 combine {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  tile.return
}

// -----

// expected-error @+1 {{'columns' is neither a layout nor a storage type}}
tile.kernel @layout grid [#tile.axis<[4] by 1>] attributes {t = !tile.buffer<[4], f32, columns>} {
^bb0:
  tile.return
}

// -----

tile.kernel @paged_storage grid [#tile.axis<[4] by 1>] {
// expected-error @+1 {{a paged buffer is stored as its element type, or for f32 in a shorter one of f32, f16, bf16 or fp8_e4m3; found q4_0 for 'f32'}}
^bb0(%x: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k, q4_0>):
  tile.return
}

// -----

tile.kernel @rows_in_bytes grid [#tile.axis<[4] by 1>] {
// expected-error @+1 {{only a paged buffer is stored in fp8_e4m3}}
^bb0(%x: !tile.buffer<[4, 64], f32, rows, fp8_e4m3>):
  tile.return
}

// -----

tile.kernel @store_c4_rows grid [#tile.axis<[4] by 1>] {
^bb0(%x: !tile.buffer<[4, 32], f32, q8_0>):
  %i = tile.origin 0
  %v = arith.constant dense<0.0> : vector<4xf32>
  // expected-error @+1 {{C5: a stored weight is read-only}}
  tile.store %v, %x[%i, %i] map affine_map<(n, k) -> (n, k)> : vector<4xf32>, !tile.buffer<[4, 32], f32, q8_0>
  tile.return
}

// -----

// expected-error @+1 {{a panel buffer is a matrix with a storage type}}
tile.kernel @panel grid [#tile.axis<[4] by 1>] attributes {t = !tile.buffer<[4], f32, panel>} {
^bb0:
  tile.return
}

// -----

// expected-error @+1 {{a paged buffer is [sequences, paged(..), heads, head]}}
tile.kernel @paged grid [#tile.axis<[4] by 1>] attributes {t = !tile.buffer<[4, 4], f32, paged_v>} {
^bb0:
  tile.return
}

// -----

// expected-error @+1 {{a grid tile is positive, found 0}}
tile.kernel @axis grid [#tile.axis<[4] by 0>] {
^bb0:
  tile.return
}

// -----

// expected-error @+1 {{an axis has one extent, found 2}}
tile.kernel @axis_extents grid [#tile.axis<[4, 4] by 1>] {
^bb0:
  tile.return
}

// -----

tile.kernel @prefetch_shape grid [#tile.axis<[ragged(T)] by 1>] {
^bb0(%x: !tile.buffer<[ragged(T), 64], f32>):
  %c0 = arith.constant 0 : index
  // expected-error @below {{C2: the shape has two positive sizes}}
  tile.prefetch %x[%c0, %c0] map affine_map<(t, c) -> (t, c)> shape [4] : !tile.buffer<[ragged(T), 64], f32>
  tile.return
}
