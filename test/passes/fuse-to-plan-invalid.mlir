// RUN: fusec opt --fuse-form-groups --fuse-to-plan --verify-diagnostics --split-input-file %s

func.func @scatter(%u: !fuse.tensor<[sym(N), 4], f32>, %x: !fuse.tensor<[8, 4], f32>, %i: !fuse.tensor<[sym(N)], i32>) -> !fuse.tensor<[8, 4], f32> {
  // expected-error @below {{scatter has no kernel form}}
  %y = fuse.scatter %u into %x[%i] : !fuse.tensor<[sym(N), 4], f32>, !fuse.tensor<[8, 4], f32>, !fuse.tensor<[sym(N)], i32>
  return %y : !fuse.tensor<[8, 4], f32>
}

// -----

func.func @order(%x: !fuse.tensor<[sym(N), 4], f32>) -> !fuse.tensor<[sym(N)], f32> {
  // expected-error @below {{a row kernel adds in lanes, which order = sequential forbids}}
  %y = fuse.reduce(%x : !fuse.tensor<[sym(N), 4], f32>) over [1] init [0.0 : f32]
      numerics <accumulate = f32, order = sequential, empty = identity> -> !fuse.tensor<[sym(N)], f32> combine {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    fuse.yield %s : f32
  } repair {}
  return %y : !fuse.tensor<[sym(N)], f32>
}

// -----

func.func @empty(%x: !fuse.tensor<[sym(N), 4], f32>) -> !fuse.tensor<[sym(N)], f32> {
  // expected-error @below {{a row kernel gives the identity for an empty row, not empty = zero}}
  %y = fuse.reduce(%x : !fuse.tensor<[sym(N), 4], f32>) over [1] init [0.0 : f32]
      numerics <accumulate = f32, order = lanes, empty = zero> -> !fuse.tensor<[sym(N)], f32> combine {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    fuse.yield %s : f32
  } repair {}
  return %y : !fuse.tensor<[sym(N)], f32>
}

// -----

func.func @axis(%x: !fuse.tensor<[sym(N), 4], f32>) -> !fuse.tensor<[4], f32> {
  // expected-error @below {{only reductions over the last dimension have a kernel form}}
  %y = fuse.reduce(%x : !fuse.tensor<[sym(N), 4], f32>) over [0] init [0.0 : f32]
      numerics <accumulate = f32, order = lanes, empty = identity> -> !fuse.tensor<[4], f32> combine {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    fuse.yield %s : f32
  } repair {}
  return %y : !fuse.tensor<[4], f32>
}

// -----

func.func @returns_argument(%x: !fuse.tensor<[sym(N), 4], f32>) -> !fuse.tensor<[sym(N), 4], f32> {
  // expected-error @below {{a graph returns one computed value}}
  return %x : !fuse.tensor<[sym(N), 4], f32>
}

// -----

func.func @two_readers(%x: !fuse.tensor<[ragged(T), 4, 4], f32>) -> !fuse.tensor<[ragged(T), 16], f32> {
  %a = fuse.map(%x : !fuse.tensor<[ragged(T), 4, 4], f32>) maps [affine_map<(t, c) -> (t, c floordiv 4, c mod 4)>] -> !fuse.tensor<[ragged(T), 16], f32> {
  ^bb0(%e: f32):
    %r = math.exp %e : f32
    fuse.yield %r : f32
  }
  // expected-error @below {{the reshaped value has other readers, which no kernel form supports}}
  %b = fuse.reshape %a : !fuse.tensor<[ragged(T), 16], f32> -> !fuse.tensor<[ragged(T), 4, 4], f32>
  %y = fuse.map(%a, %b : !fuse.tensor<[ragged(T), 16], f32>, !fuse.tensor<[ragged(T), 4, 4], f32>) maps [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t, c mod 4, c floordiv 4)>] -> !fuse.tensor<[ragged(T), 16], f32> {
  ^bb0(%e: f32, %f: f32):
    %r = arith.addf %e, %f : f32
    fuse.yield %r : f32
  }
  return %y : !fuse.tensor<[ragged(T), 16], f32>
}
