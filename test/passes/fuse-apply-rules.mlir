// RUN: split-file %s %t
// RUN: fusec opt %t/chain.mlir --fuse-apply-rules=files=%examples/rules/merge_maps.pdl | FileCheck %s --check-prefix=MERGE
// RUN: fusec opt %t/chain.mlir --fusion-rules=%t/activation.pdl | FileCheck %s --check-prefix=ACTIVATION
// RUN: fusec opt %t/chain.mlir --fusion-rules %t/body.pdl | FileCheck %s --check-prefix=BODY
// RUN: fusec opt %t/coordinates.mlir --fusion-rules %examples/rules/merge_maps.pdl | FileCheck %s --check-prefix=INDEX
// RUN: fusec opt %t/chain.mlir --fusion-rules %t/hints.pdl | FileCheck %s --check-prefix=HINTS
// RUN: fusec opt %t/chain.mlir --fusion-rules %t/hints.pdl --fuse-form-groups | FileCheck %s --check-prefix=GROUPS
// RUN: fusec opt %t/sugar.mlir --fusion-rules %t/sugar.pdl --fuse-decompose --canonicalize | FileCheck %s --check-prefix=SUGAR

// x * sigmoid(1.702 x) as three maps becomes one: each rewrite removes one of them.
// MERGE-LABEL: func.func @chain
// MERGE: %[[S:.*]] = fuse.map(%arg0 :
// MERGE-DAG: arith.mulf %{{.*}}, %{{.*}} : f32
// MERGE-DAG: math.exp
// MERGE: }
// MERGE: fuse.map(%arg0, %[[S]] :
// MERGE-NOT: fuse.map

// A rule names what it looks for, and what replaces it, as functions.
// ACTIVATION-LABEL: func.func @chain
// ACTIVATION-COUNT-1: fuse.map(%arg0 :
// ACTIVATION: math.tanh
// ACTIVATION-NOT: fuse.map
// ACTIVATION-NOT: func.func

// Rules reach into bodies, too: the root is an op of a map.
// BODY-LABEL: func.func @chain
// BODY-NOT: arith.divf
// BODY: arith.mulf

// Coordinates follow the map through which the inner result is read.
// INDEX-LABEL: func.func @coordinates
// INDEX: fuse.map(%arg0 :
// INDEX: fuse.index 1
// INDEX: arith.sitofp
// INDEX: arith.mulf
// INDEX-NOT: fuse.map

// Hints are attributes of the ops they speak about.
// HINTS: fuse.hints = [{kind = "keep_apart", pair = 0 : i64, rule = "apart"}]
// HINTS: fuse.hints = [{kind = "keep_apart", pair = 0 : i64, rule = "apart"}]

// GROUPS: fuse.map({{.*}}{fuse.hints{{.*}}, group = 0 : i64}
// GROUPS: fuse.map({{.*}}{fuse.hints{{.*}}, group = 1 : i64}

// SUGAR-LABEL: func.func @sugar
// SUGAR: fuse.reduce

//--- chain.mlir
func.func @chain(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 64], f32> {
  %t = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    %k = arith.constant 1.702 : f32
    %r = arith.mulf %a, %k : f32
    fuse.yield %r : f32
  }
  %s = fuse.map(%t : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    %one = arith.constant 1.0 : f32
    %n = arith.negf %a : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %one : f32
    %r = arith.divf %one, %d : f32
    fuse.yield %r : f32
  }
  %y = fuse.map(%x, %s : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32, %b: f32):
    %r = arith.mulf %a, %b : f32
    fuse.yield %r : f32
  }
  return %y : !fuse.tensor<[ragged(T), 64], f32>
}

//--- activation.pdl
pdl.pattern @quick_gelu : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %scaled = pdl.operation "fuse.map"(%x : !pdl.value) -> (%type : !pdl.type)
  %t = pdl.result 0 of %scaled
  %sigmoid = pdl.operation "fuse.map"(%t : !pdl.value) -> (%type : !pdl.type)
  %s = pdl.result 0 of %sigmoid
  %product = pdl.operation "fuse.map"(%x, %s : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  %scale = pdl.attribute = @scale
  %sigma = pdl.attribute = @sigma
  %mul = pdl.attribute = "arith.mulf"
  apply_native_constraint "computes"(%scaled, %scale : !pdl.operation, !pdl.attribute)
  apply_native_constraint "computes"(%sigmoid, %sigma : !pdl.operation, !pdl.attribute)
  apply_native_constraint "is_map_of"(%product, %mul : !pdl.operation, !pdl.attribute)
  apply_native_constraint "reads_elementwise"(%product, %x : !pdl.operation, !pdl.value)
  rewrite %product {
    %f = attribute = @by_tanh
    %new = apply_native_rewrite "map_like"(%product, %x, %f : !pdl.operation, !pdl.value, !pdl.attribute) : !pdl.operation
    replace %product with %new
  }
}
func.func private @scale(%x: f32) -> f32 {
  %k = arith.constant 1.702 : f32
  %y = arith.mulf %k, %x : f32
  return %y : f32
}
func.func private @sigma(%x: f32) -> f32 {
  %n = arith.negf %x : f32
  %e = math.exp %n : f32
  %one = arith.constant 1.0 : f32
  %d = arith.addf %one, %e : f32
  %y = arith.divf %one, %d : f32
  return %y : f32
}
func.func private @by_tanh(%x: f32) -> f32 {
  %half = arith.constant 0.5 : f32
  %k = arith.constant 0.851 : f32
  %h = arith.mulf %x, %half : f32
  %a = arith.mulf %x, %k : f32
  %t = math.tanh %a : f32
  %y = math.fma %h, %t, %h : f32
  return %y : f32
}

//--- body.pdl
// 1 / d by two products, as a first step of Newton's iteration would have it (wrong, but it verifies).
pdl.pattern @no_division : benefit(1) {
  %type = pdl.type
  %n = pdl.operand
  %d = pdl.operand
  %div = pdl.operation "arith.divf"(%n, %d : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  rewrite %div {
    %mul = operation "arith.mulf"(%n, %d : !pdl.value, !pdl.value) -> (%type : !pdl.type)
    replace %div with %mul
  }
}

//--- coordinates.mlir
func.func @coordinates(%x: !fuse.tensor<[8, 4], f32>) -> !fuse.tensor<[8, 4], f32> {
  %p = fuse.map(%x : !fuse.tensor<[8, 4], f32>) maps [affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[8, 4], f32> {
  ^bb0(%a: f32):
    %i = fuse.index 1
    %f = arith.sitofp %i : i32 to f32
    %r = arith.addf %a, %f : f32
    fuse.yield %r : f32
  }
  %y = fuse.map(%p : !fuse.tensor<[8, 4], f32>) maps [affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[8, 4], f32> {
  ^bb0(%a: f32):
    %r = arith.mulf %a, %a : f32
    fuse.yield %r : f32
  }
  return %y : !fuse.tensor<[8, 4], f32>
}

//--- hints.pdl
pdl.pattern @apart : benefit(1) attributes {at = "fusion"} {
  %types = pdl.types
  %inputs = pdl.operands
  %first = pdl.operation "fuse.map"(%inputs : !pdl.range<value>) -> (%types : !pdl.range<type>)
  %t = pdl.result 0 of %first
  %x = pdl.operand
  %type = pdl.type
  %second = pdl.operation "fuse.map"(%x, %t : !pdl.value, !pdl.value) -> (%type : !pdl.type)
  rewrite %second {
    apply_native_rewrite "keep_apart"(%second, %first : !pdl.operation, !pdl.operation)
  }
}

//--- sugar.mlir
func.func @sugar(%x: !fuse.tensor<[ragged(T), 64], f32>) -> !fuse.tensor<[ragged(T), 64], f32> {
  %y = fuse.map(%x : !fuse.tensor<[ragged(T), 64], f32>) maps [affine_map<(t, c) -> (t, c)>] -> !fuse.tensor<[ragged(T), 64], f32> {
  ^bb0(%a: f32):
    %r = math.exp %a : f32
    fuse.yield %r : f32
  }
  return %y : !fuse.tensor<[ragged(T), 64], f32>
}

//--- sugar.pdl
// Rules at the graph may write named ops; what follows takes them apart.
pdl.pattern @exp_is_softmax : benefit(1) {
  %type = pdl.type
  %x = pdl.operand
  %map = pdl.operation "fuse.map"(%x : !pdl.value) -> (%type : !pdl.type)
  %exp = pdl.attribute = "math.exp"
  apply_native_constraint "is_map_of"(%map, %exp : !pdl.operation, !pdl.attribute)
  rewrite %map {
    %softmax = operation "fuse.softmax"(%x : !pdl.value) -> (%type : !pdl.type)
    replace %map with %softmax
  }
}
