// RUN: fusec opt --verify-fuse --verify-diagnostics %s

func.func @named(%x: !fuse.tensor<[sym(N), 4], f32>) -> !fuse.tensor<[sym(N), 4], f32> {
  // expected-error @below {{a named op is left after decomposition}}
  %y = fuse.softmax %x : !fuse.tensor<[sym(N), 4], f32> -> !fuse.tensor<[sym(N), 4], f32>
  return %y : !fuse.tensor<[sym(N), 4], f32>
}
