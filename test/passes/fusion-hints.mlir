// Hints overrule the cost model, and hold through third ops.
// RUN: split-file %s %t
// RUN: fusec opt %t/chain.mlir --fuse-form-groups | FileCheck %s --check-prefix=PLAIN
// RUN: fusec opt %t/chain.mlir --fusion-rules %t/apart.pdl --fuse-form-groups | FileCheck %s --check-prefix=APART
// RUN: fusec opt %t/chain.mlir --fusion-rules %t/apart.pdl --fuse-form-groups --remark-format=emitRemark --remarks-filter=fusion 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: fusec opt %t/chain.mlir --fusion-rules %t/apart.pdl --fuse-place-hints --fuse-form-groups | FileCheck %s --check-prefix=CLEARED
// RUN: fusec opt %t/costly.mlir --fuse-form-groups | FileCheck %s --check-prefix=STORED
// RUN: fusec opt %t/costly.mlir --fusion-rules %t/inline.pdl --fuse-form-groups | FileCheck %s --check-prefix=INLINED
// RUN: fusec opt %t/costly.mlir --fusion-rules %t/together.pdl --fuse-form-groups | FileCheck %s --check-prefix=INLINED
// RUN: fusec opt %t/cheap.mlir --fuse-form-groups | FileCheck %s --check-prefix=CHEAP
// RUN: fusec opt %t/cheap.mlir --fusion-rules %t/stored.pdl --fuse-form-groups | FileCheck %s --check-prefix=KEPT

// A product and two maps after it are one kernel.
// PLAIN: fuse.contract{{.*}}group = 0
// PLAIN: fuse.map{{.*}}group = 0
// PLAIN: fuse.map{{.*}}group = 0

// The second map is kept apart from the product, and so from the first map, which is in the product's kernel.
// APART: fuse.contract{{.*}}group = 0
// APART: fuse.map{{.*}}group = 0
// APART: fuse.map{{.*}}group = 1
// REMARK: [Missed] epilogue | Category:fusion{{.*}}kept apart by rule 'apart'

// Placing hints replaces those that are there.
// CLEARED-NOT: fuse.hints
// CLEARED: fuse.contract{{.*}}group = 0
// CLEARED: fuse.map{{.*}}group = 0
// CLEARED: fuse.map{{.*}}group = 0

// Many sines are stored for two readers, unless a rule says otherwise, of the op or of it and a reader.
// STORED: fuse.map(%arg0 : {{.*}}group
// STORED: fuse.reduce
// INLINED: fuse.map(%arg0 : {{.*}}inline
// INLINED: fuse.reduce

// A square is computed where it is summed, unless a rule keeps it.
// CHEAP: fuse.map(%arg0 : {{.*}}inline
// KEPT: fuse.map(%arg0 : {{.*}}group

//--- chain.mlir
#row = affine_map<(t, c) -> (t, c)>
func.func @chain(%x: !fuse.tensor<[ragged(T), 64], f32>) -> (!fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T), 64], f32>) {
  %w = fuse.weight ["w"] : !fuse.tensor<[64, 64], f32, q8_0>
  %p = fuse.contract %x, %w maps [affine_map<(t, n, k) -> (t, k)>, affine_map<(t, n, k) -> (n, k)>, affine_map<(t, n, k) -> (t, n)>]
      numerics <accumulate = f32, order = sequential, empty = identity>
      : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64, 64], f32, q8_0> -> !fuse.tensor<[ragged(T), 64], f32>
  %a = fuse.map(%x, %p : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T), 64], f32>) maps [#row, #row] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    fuse.yield %s : f32
  }
  %y = fuse.map(%a, %p : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T), 64], f32>) maps [#row, #row] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%l: f32, %r: f32):
    %s = arith.mulf %l, %r : f32
    fuse.yield %s : f32
  }
  return %a, %y : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T), 64], f32>
}

//--- apart.pdl
pdl.pattern @apart : benefit(1) attributes {at = "fusion"} {
  %types = pdl.types
  %factors = pdl.operands
  %product = pdl.operation "fuse.contract"(%factors : !pdl.range<value>) -> (%types : !pdl.range<type>)
  %p = pdl.result 0 of %product
  %a = pdl.operand
  %type = pdl.type
  %map = pdl.operation "fuse.map"(%a, %p : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  %mul = pdl.attribute = "arith.mulf"
  apply_native_constraint "is_map_of"(%map, %mul : !pdl.operation, !pdl.attribute)
  rewrite %map {
    apply_native_rewrite "keep_apart"(%map, %product : !pdl.operation, !pdl.operation)
  }
}

//--- costly.mlir
#row = affine_map<(t, c) -> (t, c)>
func.func @costly(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 64], f32> {
  %w = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [#row] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    %s0 = math.sin %a : f32
    %s1 = math.sin %s0 : f32
    %s2 = math.sin %s1 : f32
    %s3 = math.sin %s2 : f32
    %s4 = math.sin %s3 : f32
    %s5 = math.sin %s4 : f32
    %s6 = math.sin %s5 : f32
    %s7 = math.sin %s6 : f32
    %s8 = math.sin %s7 : f32
    %s9 = math.sin %s8 : f32
    fuse.yield %s9 : f32
  }
  %m = fuse.reduce(%w : !fuse.tensor<[ragged(T), 64], f32>) over [1] init [0xFF800000 : f32]
      numerics <accumulate = f32, order = lanes, empty = identity> -> !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%acc: f32, %e: f32):
    %r = arith.maximumf %acc, %e : f32
    fuse.yield %r : f32
  } repair {}
  %y = fuse.map(%w, %m : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T)], f32>) maps [#row, affine_map<(t, c) -> (t)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.subf %a, %b : f32
    fuse.yield %r : f32
  }
  return %y : !fuse.tensor<[ragged(T), 64], f32>
}

//--- inline.pdl
pdl.pattern @inline : benefit(1) attributes {at = "fusion"} {
  %type = pdl.type
  %x = pdl.operand
  %map = pdl.operation "fuse.map"(%x : !pdl.value) -> (%type : !pdl.type)
  %sin = pdl.attribute = "math.sin"
  apply_native_constraint "body_has"(%map, %sin : !pdl.operation, !pdl.attribute)
  rewrite %map {
    apply_native_rewrite "force_inline"(%map : !pdl.operation)
  }
}

//--- together.pdl
pdl.pattern @together : benefit(1) attributes {at = "fusion"} {
  %type = pdl.type
  %x = pdl.operand
  %map = pdl.operation "fuse.map"(%x : !pdl.value) -> (%type : !pdl.type)
  %w = pdl.result 0 of %map
  %row = pdl.type
  %reduce = pdl.operation "fuse.reduce"(%w : !pdl.value) -> (%row : !pdl.type)
  rewrite %reduce {
    apply_native_rewrite "force_group"(%reduce, %map : !pdl.operation, !pdl.operation)
  }
}

//--- cheap.mlir
func.func @cheap(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T)], f32> {
  %q = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    %r = arith.mulf %a, %a : f32
    fuse.yield %r : f32
  }
  %s = fuse.reduce(%q : !fuse.tensor<[ragged(T), 64], f32>) over [1] init [0.0 : f32]
      numerics <accumulate = f32, order = lanes, empty = identity> -> !fuse.tensor<[ragged(T)], f32> combine {
  ^bb0(%acc: f32, %e: f32):
    %r = arith.addf %acc, %e : f32
    fuse.yield %r : f32
  } repair {}
  return %s : !fuse.tensor<[ragged(T)], f32>
}

//--- stored.pdl
pdl.pattern @stored : benefit(1) attributes {at = "fusion"} {
  %type = pdl.type
  %x = pdl.operand
  %map = pdl.operation "fuse.map"(%x : !pdl.value) -> (%type : !pdl.type)
  rewrite %map {
    apply_native_rewrite "keep_stored"(%map : !pdl.operation)
  }
}
