// RUN: fusec opt %s --verify-fuse --split-input-file --verify-diagnostics

func.func @primitives(%x: !fuse.tensor<[ragged(T), 8], f32>) -> !fuse.tensor<[ragged(T), 8], f32> {
  %y = fuse.map(%x : !fuse.tensor<[ragged(T), 8], f32>) maps [affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[ragged(T), 8], f32> {
  ^bb0(%a: f32):
    fuse.yield %a : f32
  }
  return %y : !fuse.tensor<[ragged(T), 8], f32>
}

// -----

func.func @named(%x: !fuse.tensor<[ragged(T), 8], f32>) -> !fuse.tensor<[ragged(T), 8], f32> {
  // expected-error @+1 {{a named op is left after decomposition}}
  %y = fuse.softmax %x : !fuse.tensor<[ragged(T), 8], f32> -> !fuse.tensor<[ragged(T), 8], f32>
  return %y : !fuse.tensor<[ragged(T), 8], f32>
}
