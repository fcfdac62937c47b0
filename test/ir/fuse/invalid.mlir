// RUN: fusec opt %s --split-input-file --verify-diagnostics

// One case per constraint, named by its label in FuseOps.td and FuseSugar.td.

func.func @weight_c1() {
  // expected-error @+1 {{C1: needs at least one name}}
  fuse.weight [] : !fuse.tensor<[4], f32, f32>
  return
}

// -----

func.func @weight_c2_dynamic() {
  // expected-error @+1 {{C2: a weight is static and has a storage type}}
  fuse.weight ["w"] : !fuse.tensor<[sym(N)], f32, f32>
  return
}

// -----

func.func @weight_c2_storage() {
  // expected-error @+1 {{C2: a weight is static and has a storage type}}
  fuse.weight ["w"] : !fuse.tensor<[4], f32>
  return
}

// -----

func.func @constant_c1() {
  // expected-error @+1 {{C1: the value's type 'tensor<2xf64>' does not fit}}
  fuse.constant "c" dense<[1.0, 2.0]> : tensor<2xf64> -> !fuse.tensor<[3], f64>
  return
}

// -----

func.func @map_c1_count(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{C1: has 0 maps for 1 inputs}}
  %y = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    fuse.yield %a : f32
  }
  return
}

// -----

func.func @map_c1_rank(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{C1: the input 0 map takes 1 indices, expected 2}}
  %y = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t) -> (t, t)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    fuse.yield %a : f32
  }
  return
}

// -----

func.func @map_c1_results(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{C1: the input 0 map gives 1 indices, expected the rank 2}}
  %y = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c) -> (t)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    fuse.yield %a : f32
  }
  return
}

// -----

func.func @map_c1_symbols(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{C1: the input 0 map must not have symbols}}
  %y = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c)[s] -> (t, c + s)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    fuse.yield %a : f32
  }
  return
}

// -----

func.func @map_c2(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{C2: the region takes ('f64'), expected ('f32')}}
  %y = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f64):
    %b = arith.truncf %a : f64 to f32
    fuse.yield %b : f32
  }
  return
}

// -----

func.func @map_c3(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{C3: the region must yield ('f32')}}
  %y = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    %b = arith.extf %a : f32 to f64
    fuse.yield %b : f64
  }
  return
}

// -----

func.func @map_c4(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{C4: the body holds 'func.call', which has side effects}}
  %y = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    func.call @elsewhere() : () -> ()
    fuse.yield %a : f32
  }
  return
}
func.func private @elsewhere()

// -----

func.func @index_dim(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  %y = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    // expected-error @+1 {{dim 2 is not below the result's rank 2}}
    %i = fuse.index 2
    fuse.yield %a : f32
  }
  return
}

// -----

func.func @contract_c1_count(%a: !fuse.tensor<[ragged(T), 64], f32>, %b: !fuse.tensor<[32, 64], f32>) {
  // expected-error @+1 {{C1: has 2 maps, expected 3 (lhs, rhs, result)}}
  %y = fuse.contract %a, %b maps [affine_map<(t, n, k) -> (t, k)>, affine_map<(t, n, k) -> (n, k)>] numerics <accumulate = f32, order = sequential, empty = identity> : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[32, 64], f32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

func.func @contract_c1_dims(%a: !fuse.tensor<[ragged(T), 64], f32>, %b: !fuse.tensor<[32, 64], f32>) {
  // expected-error @+1 {{C1: the rhs map takes 2 indices, expected 3}}
  %y = fuse.contract %a, %b maps [affine_map<(t, n, k) -> (t, k)>, affine_map<(n, k) -> (n, k)>, affine_map<(t, n, k) -> (t, n)>] numerics <accumulate = f32, order = sequential, empty = identity> : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[32, 64], f32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

func.func @contract_c2(%a: !fuse.tensor<[ragged(T), 64], f32>, %b: !fuse.tensor<[32, 64], f32>) {
  // expected-error @+1 {{C2: the result map must be a projected permutation}}
  %y = fuse.contract %a, %b maps [affine_map<(t, n, k) -> (t, k)>, affine_map<(t, n, k) -> (n, k)>, affine_map<(t, n, k) -> (t, n + 1)>] numerics <accumulate = f32, order = sequential, empty = identity> : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[32, 64], f32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

func.func @contract_c3_sum(%a: !fuse.tensor<[ragged(T), 64], f32>, %b: !fuse.tensor<[32, 64], f32>) {
  // expected-error @+1 {{C3: sums over no dimension}}
  %y = fuse.contract %a, %b maps [affine_map<(t, n) -> (t, n)>, affine_map<(t, n) -> (n, n)>, affine_map<(t, n) -> (t, n)>] numerics <accumulate = f32, order = sequential, empty = identity> : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[32, 64], f32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

func.func @contract_c3_extent(%a: !fuse.tensor<[ragged(T), 64], f32>, %b: !fuse.tensor<[32, 64], f32>) {
  // expected-error @+1 {{C3: no operand dimension is named by summed dimension 2 alone}}
  %y = fuse.contract %a, %b maps [affine_map<(t, n, k) -> (t, k floordiv 2)>, affine_map<(t, n, k) -> (n, k * 2)>, affine_map<(t, n, k) -> (t, n)>] numerics <accumulate = f32, order = sequential, empty = identity> : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[32, 64], f32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

func.func @contract_c4(%a: !fuse.tensor<[ragged(T), 64], f32>, %b: !fuse.tensor<[32, 63], f32>) {
  // expected-error @+1 {{C4: iteration dimension 2 has extent 64 but the rhs has 63}}
  %y = fuse.contract %a, %b maps [affine_map<(t, n, k) -> (t, k)>, affine_map<(t, n, k) -> (n, k)>, affine_map<(t, n, k) -> (t, n)>] numerics <accumulate = f32, order = sequential, empty = identity> : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[32, 63], f32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

func.func @reduce_c1_inputs(%x: !fuse.tensor<[ragged(T), 64], f32>, %z: !fuse.tensor<[ragged(T), 63], f32>) {
  // expected-error @+1 {{C1: inputs have dimensions [ragged(T), 64] and [ragged(T), 63]}}
  %y, %w = fuse.reduce(%x, %z : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T), 63], f32>) over [1] init [0.0 : f32, 0.0 : f32] numerics <accumulate = f32, order = sequential, empty = identity> -> !fuse.tensor<[ragged(T)], f32>, !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    fuse.yield %a, %b : f32, f32
  } repair {}
  return
}

// -----

func.func @reduce_c2_range(%x: !fuse.tensor<[ragged(T), 64], f32>, %z: !fuse.tensor<[ragged(T), 63], f32>) {
  // expected-error @+1 {{C2: reduced dimensions must be ascending and below the rank 2}}
  %y = fuse.reduce(%x : !fuse.tensor<[ragged(T), 64], f32>) over [2] init [0.0 : f32] numerics <accumulate = f32, order = sequential, empty = identity> -> !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%a: f32, %b: f32):
    fuse.yield %a : f32
  } repair {}
  return
}

// -----

func.func @reduce_c2_empty(%x: !fuse.tensor<[ragged(T), 64], f32>, %z: !fuse.tensor<[ragged(T), 63], f32>) {
  // expected-error @+1 {{C2: reduced dimensions must be ascending and below the rank 2}}
  %y = fuse.reduce(%x : !fuse.tensor<[ragged(T), 64], f32>) over [] init [0.0 : f32] numerics <accumulate = f32, order = sequential, empty = identity> -> !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%a: f32, %b: f32):
    fuse.yield %a : f32
  } repair {}
  return
}

// -----

func.func @reduce_c2_order(%x: !fuse.tensor<[ragged(T), 64], f32>, %z: !fuse.tensor<[ragged(T), 63], f32>) {
  // expected-error @+1 {{C2: reduced dimensions must be ascending and below the rank 2}}
  %y = fuse.reduce(%x : !fuse.tensor<[ragged(T), 64], f32>) over [1, 0] init [0.0 : f32] numerics <accumulate = f32, order = sequential, empty = identity> -> !fuse.tensor<[], f32> combine {
  ^bb0(%a: f32, %b: f32):
    fuse.yield %a : f32
  } repair {}
  return
}

// -----

func.func @reduce_c3_count(%x: !fuse.tensor<[ragged(T), 64], f32>, %z: !fuse.tensor<[ragged(T), 63], f32>) {
  // expected-error @+1 {{C3: has 2 init values for 1 inputs}}
  %y = fuse.reduce(%x : !fuse.tensor<[ragged(T), 64], f32>) over [1] init [0.0 : f32, 0.0 : f32] numerics <accumulate = f32, order = sequential, empty = identity> -> !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%a: f32, %b: f32):
    fuse.yield %a : f32
  } repair {}
  return
}

// -----

func.func @reduce_c3_type(%x: !fuse.tensor<[ragged(T), 64], f32>, %z: !fuse.tensor<[ragged(T), 63], f32>) {
  // expected-error @+1 {{C3: init 0 : i32 is not of the input's element type 'f32'}}
  %y = fuse.reduce(%x : !fuse.tensor<[ragged(T), 64], f32>) over [1] init [0 : i32] numerics <accumulate = f32, order = sequential, empty = identity> -> !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%a: f32, %b: f32):
    fuse.yield %a : f32
  } repair {}
  return
}

// -----

func.func @reduce_c4(%x: !fuse.tensor<[ragged(T), 64], f32>, %z: !fuse.tensor<[ragged(T), 63], f32>) {
  // expected-error @+1 {{C4: the region takes ('f32'), expected ('f32', 'f32')}}
  %y = fuse.reduce(%x : !fuse.tensor<[ragged(T), 64], f32>) over [1] init [0.0 : f32] numerics <accumulate = f32, order = sequential, empty = identity> -> !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%a: f32):
    fuse.yield %a : f32
  } repair {}
  return
}

// -----

func.func @reduce_c5(%x: !fuse.tensor<[ragged(T), 64], f32>, %z: !fuse.tensor<[ragged(T), 63], f32>) {
  // expected-error @+1 {{C5: result '!fuse.tensor<[64], f32>', expected dimensions [ragged(T)]}}
  %y = fuse.reduce(%x : !fuse.tensor<[ragged(T), 64], f32>) over [1] init [0.0 : f32] numerics <accumulate = f32, order = sequential, empty = identity> -> !fuse.tensor<[64], f32> combine {
  ^bb0(%a: f32, %b: f32):
    fuse.yield %a : f32
  } repair {}
  return
}

// -----

func.func @gather_c1(%t: !fuse.tensor<[32, 64], f32>, %i: !fuse.tensor<[ragged(T)], f32>) {
  // expected-error @+1 {{C1: indices are a vector of i32}}
  %y = fuse.gather %t[%i] : !fuse.tensor<[32, 64], f32>, !fuse.tensor<[ragged(T)], f32> -> !fuse.tensor<[ragged(T), 64], f32>
  return
}

// -----

func.func @gather_c2(%t: !fuse.tensor<[32, 64], f32>, %i: !fuse.tensor<[ragged(T)], i32>) {
  // expected-error @+1 {{C2: result '!fuse.tensor<[ragged(T), 32], f32>', expected dimensions [ragged(T), 64]}}
  %y = fuse.gather %t[%i] : !fuse.tensor<[32, 64], f32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

func.func @scatter_c1(%u: !fuse.tensor<[ragged(T), 64], f32>, %t: !fuse.tensor<[32, 64], f32>, %i: !fuse.tensor<[ragged(T), 1], i32>) {
  // expected-error @+1 {{C1: indices are a vector of i32}}
  %y = fuse.scatter %u into %t[%i] : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[32, 64], f32>, !fuse.tensor<[ragged(T), 1], i32>
  return
}

// -----

func.func @scatter_c2(%u: !fuse.tensor<[ragged(T), 32], f32>, %t: !fuse.tensor<[32, 64], f32>, %i: !fuse.tensor<[ragged(T)], i32>) {
  // expected-error @+1 {{C2: updates '!fuse.tensor<[ragged(T), 32], f32>', expected dimensions [ragged(T), 64]}}
  %y = fuse.scatter %u into %t[%i] : !fuse.tensor<[ragged(T), 32], f32>, !fuse.tensor<[32, 64], f32>, !fuse.tensor<[ragged(T)], i32>
  return
}

// -----

func.func @kv_append_c1(%k: !fuse.tensor<[ragged(T), 3, 64], f32>, %c: !fuse.tensor<[sym(S), sym(C), 3, 64], f32>, %i: !fuse.tensor<[ragged(T)], i32>) {
  // expected-error @+1 {{C1: cannot append}}
  %y = fuse.kv_append %k into %c[%i, %i] : !fuse.tensor<[ragged(T), 3, 64], f32>, !fuse.tensor<[sym(S), sym(C), 3, 64], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32>
  return
}

// -----

func.func @kv_append_c1_element(%k: !fuse.tensor<[ragged(T), 3, 64], f64>, %c: !fuse.tensor<[sym(S), paged(C), 3, 64], f32>, %i: !fuse.tensor<[ragged(T)], i32>) {
  // expected-error @+1 {{C1: cannot append '!fuse.tensor<[ragged(T), 3, 64], f64>'}}
  %y = fuse.kv_append %k into %c[%i, %i] : !fuse.tensor<[ragged(T), 3, 64], f64>, !fuse.tensor<[sym(S), paged(C), 3, 64], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32>
  return
}

// -----

func.func @kv_append_c2(%k: !fuse.tensor<[ragged(T), 3, 64], f32>, %c: !fuse.tensor<[sym(S), paged(C), 3, 64], f32>, %i: !fuse.tensor<[sym(R)], i32>) {
  // expected-error @+1 {{C2: '!fuse.tensor<[sym(R)], i32>' is not an i32 vector over ragged(T)}}
  %y = fuse.kv_append %k into %c[%i, %i] : !fuse.tensor<[ragged(T), 3, 64], f32>, !fuse.tensor<[sym(S), paged(C), 3, 64], f32>, !fuse.tensor<[sym(R)], i32>, !fuse.tensor<[sym(R)], i32>
  return
}

// -----

func.func @kv_append_c3(%k: !fuse.tensor<[ragged(T), 3, 64], f32>, %c: !fuse.tensor<[sym(S), paged(C), 3, 64], f32>, %i: !fuse.tensor<[ragged(T)], i32>) -> !fuse.tensor<[sym(S), paged(C), 3, 64], f32> {
  // expected-error @+1 {{C3: the cache is updated in place, so it must have no other use}}
  %y = fuse.kv_append %k into %c[%i, %i] : !fuse.tensor<[ragged(T), 3, 64], f32>, !fuse.tensor<[sym(S), paged(C), 3, 64], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32>
  return %c : !fuse.tensor<[sym(S), paged(C), 3, 64], f32>
}

// -----

func.func @view_c1(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{C1: the source map gives 1 indices, expected the rank 2}}
  %y = fuse.view %x map affine_map<(t, c) -> (t)> : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

func.func @view_c2(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{C2: element types 'f32' and 'f64'}}
  %y = fuse.view %x map affine_map<(t) -> (t, 0)> : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[ragged(T)], f64>
  return
}

// -----

func.func @reshape_c1(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{C1: element types 'f32' and 'i32'}}
  %y = fuse.reshape %x : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[ragged(T), 8, 8], i32>
  return
}

// -----

func.func @reshape_c2_product(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{do not hold the same elements}}
  %y = fuse.reshape %x : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[ragged(T), 8, 9], f32>
  return
}

// -----

func.func @reshape_c2_dynamic(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{do not hold the same elements}}
  %y = fuse.reshape %x : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[sym(T), 64], f32>
  return
}

// -----

func.func @linear_c1(%x: !fuse.tensor<[ragged(T), 64], f32>, %w: !fuse.tensor<[32, 63], f32, f16>) {
  // expected-error @+1 {{C1: cannot multiply}}
  %y = fuse.linear %x, %w : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[32, 63], f32, f16> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

func.func @linear_c1_result(%x: !fuse.tensor<[ragged(T), 64], f32>, %w: !fuse.tensor<[32, 64], f32>) {
  // expected-error @+1 {{is not the input with 32 last}}
  %y = fuse.linear %x, %w : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[32, 64], f32> -> !fuse.tensor<[ragged(T), 64], f32>
  return
}

// -----

func.func @linear_c2(%x: !fuse.tensor<[ragged(T), 64], f32>, %w: !fuse.tensor<[32, 64], f32>, %b: !fuse.tensor<[64], f32>) {
  // expected-error @+1 {{C2: bias '!fuse.tensor<[64], f32>' is not a vector of 32}}
  %y = fuse.linear %x, %w bias %b : !fuse.tensor<[64], f32> : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[32, 64], f32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

func.func @rms_norm_c1(%x: !fuse.tensor<[ragged(T), 64], f32>, %w: !fuse.tensor<[32], f32>) {
  // expected-error @+1 {{C1: cannot norm}}
  %y = fuse.rms_norm %x, %w epsilon 1.0e-5 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[32], f32> -> !fuse.tensor<[ragged(T), 64], f32>
  return
}

// -----

func.func @rms_norm_c2(%x: !fuse.tensor<[ragged(T), 64], f32>, %w: !fuse.tensor<[64], f32>) {
  // expected-error @+1 {{C2: epsilon is negative}}
  %y = fuse.rms_norm %x, %w epsilon -1.0e-5 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64], f32> -> !fuse.tensor<[ragged(T), 64], f32>
  return
}

// -----

func.func @rope_c1(%x: !fuse.tensor<[ragged(T), 64], f32>, %p: !fuse.tensor<[ragged(T)], i32>, %f: !fuse.tensor<[4], f64>) {
  // expected-error @+1 {{C1: expected [tokens, heads, head] of one type}}
  %y = fuse.rope %x, %p, %f half : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[4], f64> -> !fuse.tensor<[ragged(T), 64], f32>
  return
}

// -----

func.func @rope_c2(%x: !fuse.tensor<[ragged(T), 8, 8], f32>, %p: !fuse.tensor<[sym(T)], i32>, %f: !fuse.tensor<[4], f64>) {
  // expected-error @+1 {{C2: positions}}
  %y = fuse.rope %x, %p, %f half : !fuse.tensor<[ragged(T), 8, 8], f32>, !fuse.tensor<[sym(T)], i32>, !fuse.tensor<[4], f64> -> !fuse.tensor<[ragged(T), 8, 8], f32>
  return
}

// -----

func.func @rope_c3(%x: !fuse.tensor<[ragged(T), 8, 8], f32>, %p: !fuse.tensor<[ragged(T)], i32>, %f: !fuse.tensor<[5], f64>) {
  // expected-error @+1 {{C3: frequencies '!fuse.tensor<[5], f64>' do not fit a head of 8}}
  %y = fuse.rope %x, %p, %f half : !fuse.tensor<[ragged(T), 8, 8], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[5], f64> -> !fuse.tensor<[ragged(T), 8, 8], f32>
  return
}

// -----

func.func @attention_c1_heads(%q: !fuse.tensor<[ragged(T), 8, 8], f32>, %k: !fuse.tensor<[sym(S), paged(C), 3, 8], f32>, %i: !fuse.tensor<[ragged(T)], i32>) {
  // expected-error @+1 {{C1: queries}}
  %y = fuse.attention %q, %k, %k, %i, %i scale 0.5 : !fuse.tensor<[ragged(T), 8, 8], f32>, !fuse.tensor<[sym(S), paged(C), 3, 8], f32>, !fuse.tensor<[sym(S), paged(C), 3, 8], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 64], f32>
  return
}

// -----

func.func @attention_c1_paged(%q: !fuse.tensor<[ragged(T), 8, 8], f32>, %k: !fuse.tensor<[sym(S), sym(C), 4, 8], f32>, %i: !fuse.tensor<[ragged(T)], i32>) {
  // expected-error @+1 {{C1: queries}}
  %y = fuse.attention %q, %k, %k, %i, %i scale 0.5 : !fuse.tensor<[ragged(T), 8, 8], f32>, !fuse.tensor<[sym(S), sym(C), 4, 8], f32>, !fuse.tensor<[sym(S), sym(C), 4, 8], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 64], f32>
  return
}

// -----

func.func @attention_c2(%q: !fuse.tensor<[ragged(T), 8, 8], f32>, %k: !fuse.tensor<[sym(S), paged(C), 4, 8], f32>, %i: !fuse.tensor<[ragged(T)], i64>) {
  // expected-error @+1 {{is not an i32 vector over ragged(T)}}
  %y = fuse.attention %q, %k, %k, %i, %i scale 0.5 : !fuse.tensor<[ragged(T), 8, 8], f32>, !fuse.tensor<[sym(S), paged(C), 4, 8], f32>, !fuse.tensor<[sym(S), paged(C), 4, 8], f32>, !fuse.tensor<[ragged(T)], i64>, !fuse.tensor<[ragged(T)], i64> -> !fuse.tensor<[ragged(T), 64], f32>
  return
}

// -----

func.func @attention_c3(%q: !fuse.tensor<[ragged(T), 8, 8], f32>, %k: !fuse.tensor<[sym(S), paged(C), 4, 8], f32>, %i: !fuse.tensor<[ragged(T)], i32>) {
  // expected-error @+1 {{is not [tokens, heads * head]}}
  %y = fuse.attention %q, %k, %k, %i, %i scale 0.5 : !fuse.tensor<[ragged(T), 8, 8], f32>, !fuse.tensor<[sym(S), paged(C), 4, 8], f32>, !fuse.tensor<[sym(S), paged(C), 4, 8], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

func.func @attention_c4(%q: !fuse.tensor<[ragged(T), 8, 8], f32>, %k: !fuse.tensor<[sym(S), paged(C), 4, 8], f32>, %i: !fuse.tensor<[ragged(T)], i32>) {
  // expected-error @+1 {{C4: the window is 0, expected a positive number}}
  %y = fuse.attention %q, %k, %k, %i, %i scale 0.5 window 0 : !fuse.tensor<[ragged(T), 8, 8], f32>, !fuse.tensor<[sym(S), paged(C), 4, 8], f32>, !fuse.tensor<[sym(S), paged(C), 4, 8], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 64], f32>
  return
}

// -----

func.func @softmax_c1(%x: !fuse.tensor<[ragged(T), 64], f32>) {
  // expected-error @+1 {{C1: cannot normalise}}
  %y = fuse.softmax %x : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[ragged(T), 32], f32>
  return
}

// -----

// expected-error @+1 {{a paged tensor is stored as its element type, or for f32 in a shorter one of f32, f16, bf16 or fp8_e4m3; found q8_0 for 'f32'}}
func.func private @cache_storage(!fuse.tensor<[sym(S), paged(C), 3, 64], f32, q8_0>)

// -----

// expected-error @+1 {{a paged tensor is stored as its element type, or for f32 in a shorter one of f32, f16, bf16 or fp8_e4m3; found f32 for 'f32'}}
func.func private @cache_f32(!fuse.tensor<[sym(S), paged(C), 3, 64], f32, f32>)

// -----

// expected-error @+1 {{only a paged tensor is stored in fp8_e4m3}}
func.func private @weight_in_bytes(!fuse.tensor<[64, 64], f32, fp8_e4m3>)

// -----

// expected-error @+1 {{found f16 for 'f64'}}
func.func private @cache_element(!fuse.tensor<[sym(S), paged(C), 3, 64], f64, f16>)

// -----

// expected-error @+1 {{unknown storage type 'q9'}}
func.func private @storage(!fuse.tensor<[4], f32, q9>)

// -----

// expected-error @+1 {{unknown dimension kind 'rugged', expected an integer, sym(..), ragged(..) or paged(..)}}
func.func private @kind(!fuse.tensor<[rugged(T)], f32>)

// -----

// expected-error @+1 {{a static dimension is not negative, found -1}}
func.func private @negative(!fuse.tensor<[-1], f32>)
