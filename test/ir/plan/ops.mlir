// RUN: fusec opt %s | fusec opt | FileCheck %s
// RUN: fusec opt %s --mlir-print-op-generic | fusec opt | FileCheck %s

tile.kernel @copy grid [#tile.axis<[ragged(T)] by 1>] {
^bb0(%x: !tile.buffer<[ragged(T), 4], f32>, %w: !tile.buffer<[4], f32>, %f: !tile.buffer<[2], f64>, %y: !tile.buffer<[ragged(T), 4], f32>):
  tile.return
}

// CHECK: plan.kernel @k0 [#plan.variant<@copy when T upto 1>, #plan.variant<@copy>]
plan.kernel @k0 [#plan.variant<@copy when T upto 1>, #plan.variant<@copy>]

// CHECK: plan.kernel @few [#plan.variant<@copy when T upto 1>, #plan.variant<@copy when R upto 16>]
plan.kernel @few [#plan.variant<@copy when T upto 1>, #plan.variant<@copy when R upto 16>]

// CHECK: plan.program @step page 64
plan.program @step page 64 {
  // CHECK: plan.buffer input "x" :
  %x = plan.buffer input "x" : !tile.buffer<[ragged(T), 4], f32>
  // CHECK: plan.buffer weight "w" parts ["a", "b"] :
  %w = plan.buffer weight "w" parts ["a", "b"] : !tile.buffer<[4], f32>
  // CHECK: plan.buffer constant "f" value dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf64>
  %f = plan.buffer constant "f" value dense<[1.0, 2.0]> : tensor<2xf64> : !tile.buffer<[2], f64>
  // CHECK: plan.buffer cache "k.0" :
  %k = plan.buffer cache "k.0" : !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>
  // CHECK: plan.buffer activation "t" slot 0 :
  %t = plan.buffer activation "t" slot 0 : !tile.buffer<[ragged(T), 4], f32>
  // CHECK: plan.buffer output "y" slot 1 :
  %y = plan.buffer output "y" slot 1 : !tile.buffer<[ragged(T), 4], f32>
  // CHECK: plan.launch @k0(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) "first" :
  plan.launch @k0(%x, %w, %f, %t) "first" : !tile.buffer<[ragged(T), 4], f32>, !tile.buffer<[4], f32>, !tile.buffer<[2], f64>, !tile.buffer<[ragged(T), 4], f32>
  plan.launch @k0(%t, %w, %f, %y) "second" : !tile.buffer<[ragged(T), 4], f32>, !tile.buffer<[4], f32>, !tile.buffer<[2], f64>, !tile.buffer<[ragged(T), 4], f32>
}

// Two paths to one buffer.
// CHECK: plan.program @products page 64
plan.program @products page 64 {
  %x = plan.buffer activation "x" slot 0 : !tile.buffer<[ragged(T), 16], f32, bf16>
  %w = plan.buffer activation "w" slot 1 : !tile.buffer<[8, 16], f32, bf16>
  %r = plan.buffer activation "r" slot 2 : !tile.buffer<[ragged(T), 8], f32>
  %b = plan.buffer weight "b" parts ["b"] : !tile.buffer<[8], f32>
  %y = plan.buffer output "y" slot 3 : !tile.buffer<[ragged(T), 8], f32>
  // CHECK: plan.launch @k0(%{{.*}}) "first" path <kernels from 256> :
  plan.launch @k0(%y) "first" path <kernels from 256> : !tile.buffer<[ragged(T), 8], f32>
  // CHECK: plan.library_product %{{.*}} by %{{.*}} into %{{.*}} "first" path <library from 256> : <[ragged(T), 16], f32, bf16>
  plan.library_product %x by %w into %y "first" path <library from 256>
    : !tile.buffer<[ragged(T), 16], f32, bf16>, !tile.buffer<[8, 16], f32, bf16> -> !tile.buffer<[ragged(T), 8], f32>
  // CHECK: plan.library_product %{{.*}} by %{{.*}} plus %{{.*}} into
  plan.library_product %x by %w plus %r into %y "second" path <library from 256>
    : !tile.buffer<[ragged(T), 16], f32, bf16>, !tile.buffer<[8, 16], f32, bf16> -> !tile.buffer<[ragged(T), 8], f32>
      plus !tile.buffer<[ragged(T), 8], f32>
  // CHECK: plan.library_product %{{.*}} by %{{.*}} bias %{{.*}} into
  plan.library_product %x by %w bias %b into %y "third" path <library from 256>
    : !tile.buffer<[ragged(T), 16], f32, bf16>, !tile.buffer<[8, 16], f32, bf16> -> !tile.buffer<[ragged(T), 8], f32>
      bias !tile.buffer<[8], f32>
}
