//===- FuseOps.td - primitives of the dataflow graph ------------------------===//
#ifndef FUSEC_IR_FUSE_OPS_TD
#define FUSEC_IR_FUSE_OPS_TD

include "ir/fuse/FuseTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Fuse_Op<string mnemonic, list<Trait> traits = []> : Op<Fuse_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

def Fuse_WeightOp : Fuse_Op<"weight", [Pure]> {
  let summary = "References one or more stored tensors of the model";
  let description = [{
    The bytes stay in the model file (or the artifact); the IR holds names
    only. Several names are stored tensors of equal type and trailing
    dimensions, stacked along dimension 0 in the order given.

    Constraints:
    - C1: at least one name;
    - C2: the result is static and has a storage type.

    ```mlir
    %w = fuse.weight ["blk.0.attn_q.weight"] : !fuse.tensor<[576, 576], f32, q4_1>
    ```
  }];
  let arguments = (ins StrArrayAttr:$names);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$names attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Fuse_ConstantOp : Fuse_Op<"constant", [Pure]> {
  let summary = "A small tensor whose values the importer computed";
  let description = [{
    For tables such as the RoPE frequencies; `name` is how the artifact lists it.

    Constraints:
    - C1: the value's shape and element type equal the result's, which is static.

    ```mlir
    %f = fuse.constant "rope.frequencies" dense<[1.0, 0.1]> : tensor<2xf64> -> !fuse.tensor<[2], f64>
    ```
  }];
  let arguments = (ins StrAttr:$name, ElementsAttr:$value);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$name $value attr-dict `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Primitives
//===----------------------------------------------------------------------===//

def Fuse_YieldOp : Fuse_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "Gives the values of a scalar region";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Fuse_IndexOp : Fuse_Op<"index", [Pure, ParentOneOf<["MapOp"]>]> {
  let summary = "The coordinate of the result element along one dimension";
  let description = [{
    Only inside `fuse.map`; `dim` counts the result's dimensions.

    ```mlir
    %j = fuse.index 3
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "$dim attr-dict";
  let hasVerifier = 1;
}

def Fuse_MapOp : Fuse_Op<"map", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "Computes each result element from one element of each input";
  let description = [{
    `result[i...] = body(input0[map0(i...)], input1[map1(i...)], ...)`. The
    body is a scalar region of `arith` and `math` ops; its arithmetic rounds
    exactly as written. Index maps broadcast, slice and permute.

    Constraints:
    - C1: one map per input, from the result's rank to the input's rank, without symbols;
    - C2: one block argument per input, of the input's element type;
    - C3: the body yields one value of the result's element type;
    - C4: the body holds only side-effect-free ops.

    ```mlir
    %y = fuse.map(%x, %r : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[ragged(T)], f32>)
        maps [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t)>]
        -> !fuse.tensor<[ragged(T), 64], f32> {
    ^bb0(%a: f32, %b: f32):
      %m = arith.mulf %a, %b : f32
      fuse.yield %m : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Fuse_AnyTensor>:$inputs, AffineMapArrayAttr:$maps);
  let results = (outs Fuse_AnyTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` ($inputs^ `:` type($inputs))? `)` `maps` $maps attr-dict `->` type($result) $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::AffineMap getMap(unsigned i) { return ::llvm::cast<::mlir::AffineMapAttr>(getMaps()[i]).getValue(); }
  }];
}

def Fuse_ContractOp : Fuse_Op<"contract", [Pure, IsolatedFromAbove]> {
  let summary = "Sums products over index maps (einsum)";
  let description = [{
    Over the iteration space of the three maps,
    `result[mo(i)] += lhs[ml(i)] * rhs[mr(i)]`. Iteration dimensions that `mo`
    does not name are summed, in ascending order along the last of them.
    `repair` is as in `fuse.reduce`, with the partial sum as its carrier.

    Constraints:
    - C1: three maps (lhs, rhs, result) over one iteration space, without symbols, whose result counts equal the ranks;
    - C2: the result map is a projected permutation;
    - C3: at least one iteration dimension is summed, and each summed one is named alone by some operand dimension, which gives its extent;
    - C4: the result's extents equal those the operands give;
    - C5: `repair`, when present, is as in C6 of `fuse.reduce`.

    ```mlir
    %s = fuse.contract %q, %k
        maps [affine_map<(t, h, j, d) -> (t, h, d)>, affine_map<(t, h, j, d) -> (t, j, h floordiv 3, d)>,
              affine_map<(t, h, j, d) -> (t, h, j)>]
        numerics <accumulate = f32, order = sequential, empty = identity>
        : !fuse.tensor<[ragged(T), 9, 64], f32>, !fuse.tensor<[ragged(T), paged(C), 3, 64], f32>
        -> !fuse.tensor<[ragged(T), 9, paged(C)], f32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$lhs, Fuse_AnyTensor:$rhs, AffineMapArrayAttr:$maps, Fuse_NumericsAttr:$numerics);
  let results = (outs Fuse_AnyTensor:$result);
  let regions = (region AnyRegion:$repair);
  let assemblyFormat = [{
    $lhs `,` $rhs `maps` $maps `numerics` $numerics attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
    (`repair` $repair^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::AffineMap getMap(unsigned i) { return ::llvm::cast<::mlir::AffineMapAttr>(getMaps()[i]).getValue(); }
    unsigned getNumIterationDims() { return getMap(0).getNumDims(); }
    /// Iteration dimensions that the result does not name, ascending.
    ::llvm::SmallVector<unsigned> getSummedDims();
    /// Extent of each iteration dimension, read off the operands and the result.
    ::llvm::SmallVector<::fusec::fuse::Dim> getIterationExtents();
  }];
}

def Fuse_ReduceOp : Fuse_Op<"reduce", [Pure, IsolatedFromAbove]> {
  let summary = "Folds elements along dimensions with a carrier";
  let description = [{
    The carrier is a tuple of accumulators, one per input: `init` holds their
    identities, `combine` is an associative fold `(acc..., elem...) -> acc...`
    that also merges two partial carriers. `repair`, when present, tells how a
    partial carrier changes when the row value that its elements depend on goes
    from `old` to `new`: `(old, new, acc...) -> acc...`. `--fuse-derive` writes
    it; the meaning of the op does not depend on it. A reduction over nothing
    gives the identity, unless `numerics` says otherwise.

    Constraints:
    - C1: at least one input; all have the same dimensions;
    - C2: `dims` are ascending, in range, and not empty;
    - C3: one init per input, of its element type;
    - C4: `combine` takes 2n scalars and yields n, of the inputs' element types;
    - C5: each result has the input's element type and the dimensions that remain;
    - C6: `repair`, when present, takes two scalars of one type and n accumulators, and yields n.

    ```mlir
    %m = fuse.reduce(%t : !fuse.tensor<[ragged(T), 9, paged(C)], f32>) over [2] init [0xFF800000 : f32]
        numerics <accumulate = f32, order = lanes, empty = identity>
        -> !fuse.tensor<[ragged(T), 9], f32> combine {
    ^bb0(%acc: f32, %x: f32):
      %r = arith.maximumf %acc, %x : f32
      fuse.yield %r : f32
    } repair {}
    ```
  }];
  let arguments = (ins Variadic<Fuse_AnyTensor>:$inputs, DenseI64ArrayAttr:$dims, ArrayAttr:$init, Fuse_NumericsAttr:$numerics);
  let results = (outs Variadic<Fuse_AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$combine, AnyRegion:$repair);
  let assemblyFormat = [{
    `(` $inputs `:` type($inputs) `)` `over` $dims `init` $init `numerics` $numerics attr-dict
    `->` type($results) `combine` $combine `repair` $repair
  }];
  let hasVerifier = 1;
}

def Fuse_GatherOp : Fuse_Op<"gather", [Pure]> {
  let summary = "Takes slices of dimension 0 by index";
  let description = [{
    `result[i, rest...] = table[indices[i], rest...]`. Over a paged cache the
    slice is a sequence's whole history; nothing is copied until something is read.
    An index outside the table is undefined.

    Constraints:
    - C1: `indices` is a vector of i32;
    - C2: the result is `[indices' dimension, table's dimensions but the first]`, of the table's element type.

    ```mlir
    %x = fuse.gather %table[%ids] : !fuse.tensor<[512, 64], f32, f16>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 64], f32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$table, Fuse_AnyTensor:$indices);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` type($table) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def Fuse_ScatterOp : Fuse_Op<"scatter", [Pure, AllTypesMatch<["target", "result"]>]> {
  let summary = "Replaces slices of dimension 0 by index";
  let description = [{
    The result is `target` with `target[indices[i], rest...]` replaced by
    `updates[i, rest...]`. Equal indices: the highest `i` wins.

    Constraints:
    - C1: `indices` is a vector of i32;
    - C2: `updates` is `[indices' dimension, target's dimensions but the first]`; the result has the target's type.

    ```mlir
    %y = fuse.scatter %u into %x[%ids] : !fuse.tensor<[sym(N), 4], f32>, !fuse.tensor<[8, 4], f32>, !fuse.tensor<[sym(N)], i32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$updates, Fuse_AnyTensor:$target, Fuse_AnyTensor:$indices);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$updates `into` $target `[` $indices `]` attr-dict `:` type($updates) `,` type($target) `,` type($indices)";
  let hasVerifier = 1;
}

def Fuse_KVAppendOp : Fuse_Op<"kv_append", [Pure, AllTypesMatch<["cache", "result"]>]> {
  let summary = "Writes this step's rows into a paged cache";
  let description = [{
    `cache[sequences[t], positions[t], rest...] = values[t, rest...]`. The
    update happens in place: the result stands for the same pages, so the
    operand must have no other use. A cache stored in `f16`, `bf16` or `fp8_e4m3` keeps the
    values rounded to nearest even; beyond the type's range they become
    infinite, in `fp8_e4m3`, which has no infinities, 448.

    Constraints:
    - C1: the cache is `[sym, paged, rest...]`, values are `[ragged, rest...]` of its element type, without storage;
    - C2: `positions` and `sequences` are i32 vectors over the values' ragged dimension;
    - C3: the result has the cache's type, and the cache operand has one use.

    ```mlir
    %k1 = fuse.kv_append %k into %k0[%sequences, %positions]
        : !fuse.tensor<[ragged(T), 3, 64], f32>, !fuse.tensor<[sym(S), paged(C), 3, 64], f32>,
          !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$values, Fuse_AnyTensor:$cache, Fuse_AnyTensor:$sequences, Fuse_AnyTensor:$positions);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$values `into` $cache `[` $sequences `,` $positions `]` attr-dict `:` type($values) `,` type($cache) `,` type($sequences) `,` type($positions)";
  let hasVerifier = 1;
}

def Fuse_ViewOp : Fuse_Op<"view", [Pure]> {
  let summary = "Reads another tensor through an index map";
  let description = [{
    `result[i...] = source[map(i...)]`: slices, transposes, splits, repeats.
    A view moves no bytes; it composes into the maps of its users.

    Constraints:
    - C1: the map goes from the result's rank to the source's, without symbols;
    - C2: the element types agree.

    ```mlir
    %k = fuse.view %qkv map affine_map<(t, h, d) -> (t, h * 64 + d + 576)>
        : !fuse.tensor<[ragged(T), 960], f32> -> !fuse.tensor<[ragged(T), 3, 64], f32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$source, AffineMapAttr:$map);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$source `map` $map attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Fuse_ReshapeOp : Fuse_Op<"reshape", [Pure]> {
  let summary = "Reads the same elements in row-major order under other dimensions";
  let description = [{
    Constraints:
    - C1: the element types agree;
    - C2: the dynamic dimensions are the same, in the same order, and the static extents between them have equal products.

    ```mlir
    %y = fuse.reshape %x : !fuse.tensor<[ragged(T), 3, 3, 64], f32> -> !fuse.tensor<[ragged(T), 576], f32>
    ```
  }];
  let arguments = (ins Fuse_AnyTensor:$source);
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Fuse_WorkspaceOp : Fuse_Op<"workspace"> {
  let summary = "Memory that one kernel leaves for the next";
  let description = [{
    Stands for a buffer without a meaning in the graph: the partial carriers of
    a reduction that is split over programs. Only the lowering to kernels adds it.

    ```mlir
    %p = fuse.workspace : !fuse.tensor<[16, 9, sym(B), 66], f32>
    ```
  }];
  let results = (outs Fuse_AnyTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

#endif
