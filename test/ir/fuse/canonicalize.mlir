// RUN: fusec opt %s --canonicalize | FileCheck %s

// Views compose, and a view or reshape that changes nothing goes away.

// CHECK-LABEL: func.func @compose
// CHECK-SAME: (%[[X:.*]]: !fuse.tensor<[ragged(T), 64], f32>)
// CHECK-NEXT: %[[V:.*]] = fuse.view %[[X]] map #[[MAP:.*]] :
// CHECK-NEXT: return %[[V]]
func.func @compose(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[4, ragged(T)], f32> {
  %a = fuse.view %x map affine_map<(t, h, d) -> (t, h * 8 + d)> : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[ragged(T), 8, 8], f32>
  %b = fuse.view %a map affine_map<(d, t) -> (t, 2, d)> : !fuse.tensor<[ragged(T), 8, 8], f32> -> !fuse.tensor<[4, ragged(T)], f32>
  return %b : !fuse.tensor<[4, ragged(T)], f32>
}

// CHECK-LABEL: func.func @identity
// CHECK-SAME: (%[[X:.*]]: !fuse.tensor<[ragged(T), 64], f32>)
// CHECK-NEXT: return %[[X]]
func.func @identity(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 64], f32> {
  %a = fuse.view %x map affine_map<(t, c) -> (t, c)> : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[ragged(T), 64], f32>
  %b = fuse.reshape %a : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[ragged(T), 8, 8], f32>
  %c = fuse.reshape %b : !fuse.tensor<[ragged(T), 8, 8], f32> -> !fuse.tensor<[ragged(T), 64], f32>
  return %c : !fuse.tensor<[ragged(T), 64], f32>
}

// A slice of fewer elements is not the identity, whatever its map says.
// CHECK-LABEL: func.func @slice
// CHECK: fuse.view
func.func @slice(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 32], f32> {
  %a = fuse.view %x map affine_map<(t, c) -> (t, c)> : !fuse.tensor<[ragged(T), 64], f32> -> !fuse.tensor<[ragged(T), 32], f32>
  return %a : !fuse.tensor<[ragged(T), 32], f32>
}
