//===- TileOps.td - ops of fused kernels -------------------------------------===//
#ifndef FUSEC_IR_TILE_OPS_TD
#define FUSEC_IR_TILE_OPS_TD

include "ir/tile/TileDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Kernel structure
//===----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [IsolatedFromAbove, Symbol, NoTerminator, SingleBlock]> {
  let summary = "A grid of independent programs over buffers";
  let description = [{
    The body runs once per grid point, in any order and on any thread; no two
    programs write the same element. Block arguments are the buffers. `schedule`
    records the choices (rows, lanes, step, stage, accumulators) for readers.

    Constraints:
    - C1: every block argument is a buffer;
    - C2: the grid has at least one axis and every tile is positive;
    - C3: the body ends in `tile.return`.

    ```mlir
    tile.kernel @double grid [#tile.axis<[ragged(T)] by 1>] {
    ^bb0(%x: !tile.buffer<[ragged(T), 64], f32>, %y: !tile.buffer<[ragged(T), 64], f32>):
      %t = tile.origin 0
      %c0 = arith.constant 0 : index
      %v = tile.load %x[%t, %c0] map affine_map<(t, c) -> (t, c)> : !tile.buffer<[ragged(T), 64], f32> -> vector<64xf32>
      %d = arith.addf %v, %v : vector<64xf32>
      tile.store %d, %y[%t, %c0] map affine_map<(t, c) -> (t, c)> : vector<64xf32>, !tile.buffer<[ragged(T), 64], f32>
      tile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$grid, OptionalAttr<DictionaryAttr>:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `grid` $grid attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Tile_ReturnOp : Tile_Op<"return", [Terminator, HasParent<"KernelOp">]> {
  let summary = "Ends a program";
  let assemblyFormat = "attr-dict";
}

def Tile_OriginOp : Tile_Op<"origin", [Pure]> {
  let summary = "First index of this program along a grid axis (program number times tile)";
  let description = [{
    ```mlir
    %n = tile.origin 1
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict";
  let hasVerifier = 1;
}

def Tile_ExtentOp : Tile_Op<"extent", [Pure]> {
  let summary = "Run-time value of a size symbol";
  let description = [{
    ```mlir
    %c = tile.extent "C"
    ```
  }];
  let arguments = (ins StrAttr:$symbol);
  let results = (outs Index:$result);
  let assemblyFormat = "$symbol attr-dict";
}

def Tile_ScratchOp : Tile_Op<"scratch", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Memory private to this program";
  let description = [{
    Uninitialised; reused by the next program of the same thread.

    Constraints:
    - C1: the type is static, in rows layout, without storage.

    ```mlir
    %s = tile.scratch : !tile.buffer<[576, 32], f32>
    ```
  }];
  let results = (outs Tile_AnyBuffer:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "Reads a tile through an index map";
  let description = [{
    For a result of rank r, lane offsets are added to the last r indices:
    `result[l0, l1] = buffer[map(i0, .., i_{n-2} + l0, i_{n-1} + l1)]`. A map that
    ignores a lane index broadcasts along it. A paged buffer needs `pages`, the
    block table `[S, B]`: position `c` of sequence `s` lies in page
    `pages[s, c / P]`. Storage types are decoded exactly as the format defines.
    A lane whose buffer index is out of range gives an unspecified value; it
    never faults. With `rows`, rows of the tile from that number on are zero
    and are not read.

    Constraints:
    - C1: the map goes from the number of indices to the buffer's rank, without symbols;
    - C2: the result is a scalar or a vector of rank 1 or 2, of the buffer's element type, of rank at most the number of indices;
    - C3: `pages` is given exactly for paged buffers;
    - C4: `rows` needs a tile of rank 2.

    ```mlir
    %k = tile.load %cache[%s, %h, %d, %j] map affine_map<(s, h, d, j) -> (s, j, h, d)> pages %table
        : !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>, !tile.buffer<[sym(S), sym(B)], i32> -> vector<64x64xf32>
    ```
  }];
  let arguments = (ins Tile_AnyBuffer:$buffer, Variadic<Index>:$indices, AffineMapAttr:$map, Optional<Tile_AnyBuffer>:$pages,
                   Optional<Index>:$rows);
  let results = (outs AnyType:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$buffer, "::mlir::ValueRange":$indices, "::mlir::AffineMapAttr":$map,
                   "::mlir::Value":$pages), [{
      build($_builder, $_state, result, buffer, indices, map, pages, ::mlir::Value());
    }]>
  ];
  let assemblyFormat = [{
    $buffer `[` $indices `]` `map` $map (`pages` $pages^)? (`rows` $rows^)? attr-dict
    `:` type($buffer) (`,` type($pages)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "Writes a tile through an index map";
  let description = [{
    The mirror of `tile.load`. Lanes whose index along an iteration dimension
    reaches the extent the buffer gives it (where the map names that dimension
    alone) are not written, nor are rows from number `rows` on. A paged buffer with a storage type gets the values
    rounded to nearest even.

    Constraints: as C1 to C4 of `tile.load`, the value in place of the result;
    - C5: the map names every lane index of an extent above 1 (no two lanes write one element); a buffer with a storage type is rounded to f16 or bf16.

    ```mlir
    tile.store %acc, %y[%t, %n] map affine_map<(t, n) -> (t, n)> : vector<4x64xf32>, !tile.buffer<[ragged(T), 960], f32>
    ```
  }];
  let arguments = (ins AnyType:$value, Tile_AnyBuffer:$buffer, Variadic<Index>:$indices, AffineMapAttr:$map, Optional<Tile_AnyBuffer>:$pages,
                   Optional<Index>:$rows);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$buffer, "::mlir::ValueRange":$indices, "::mlir::AffineMapAttr":$map,
                   "::mlir::Value":$pages), [{
      build($_builder, $_state, value, buffer, indices, map, pages, ::mlir::Value());
    }]>
  ];
  let assemblyFormat = [{
    $value `,` $buffer `[` $indices `]` `map` $map (`pages` $pages^)? (`rows` $rows^)? attr-dict
    `:` type($value) `,` type($buffer) (`,` type($pages)^)?
  }];
  let hasVerifier = 1;
}

def Tile_PrefetchOp : Tile_Op<"prefetch", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Asks for a tile to be brought near, ahead of its load";
  let description = [{
    Touches nothing that a program can see. The tile of `shape` rows and lanes is
    the one that a `tile.load` of the same operands would read; all of it must
    lie inside the buffer. The write effect only keeps its place in the program.

    Constraints: as C1 and C3 of `tile.load`;
    - C2: `shape` has two positive sizes.

    ```mlir
    tile.prefetch %cache[%s, %h, %d, %next] map affine_map<(s, h, d, j) -> (s, j, h, d)> pages %table shape [16, 64]
        : !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>, !tile.buffer<[sym(S), sym(B)], i32>
    ```
  }];
  let arguments = (ins Tile_AnyBuffer:$buffer, Variadic<Index>:$indices, AffineMapAttr:$map, Optional<Tile_AnyBuffer>:$pages,
                   DenseI64ArrayAttr:$shape);
  let assemblyFormat = [{
    $buffer `[` $indices `]` `map` $map (`pages` $pages^)? `shape` $shape attr-dict `:` type($buffer) (`,` type($pages)^)?
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

def Tile_IndexOp : Tile_Op<"index", [Pure]> {
  let summary = "The index along one lane dimension, as a tile";
  let description = [{
    `result[l0, l1] = base + l_dim`, in i32.

    Constraints:
    - C1: the result is a vector of i32 and `dim` is below its rank.

    ```mlir
    %j = tile.index %base dim 1 : vector<3x64xi32>
    ```
  }];
  let arguments = (ins Index:$base, I64Attr:$dim);
  let results = (outs AnyVectorOfAnyRank:$result);
  let assemblyFormat = "$base `dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "Multiplies two tiles into an accumulator";
  let description = [{
    `result[m, n] = acc[m, n] + sum_k lhs[m, k] * rhs[k, n]`, one fused
    multiply-add per step, `k` ascending: the same bits for any tile shape.
    Operands that are loads are read as they are needed; they never exist as a
    whole.

    With `operand_type`, what tensor cores do: both operands are rounded to that
    type, to nearest even; products are exact and added in f32 in an order that
    depends on `k` alone, not on the tile's shape.

    Constraints:
    - C1: shapes `MxK`, `KxN`, `MxN`, all of one float type;
    - C2: `operand_type` is f16 or bf16, the element type then f32.

    ```mlir
    %c = tile.dot %a, %b, %acc : vector<4x32xf32>, vector<32x64xf32> -> vector<4x64xf32>
    %d = tile.dot %a, %b, %acc {operand_type = bf16} : vector<4x32xf32>, vector<32x64xf32> -> vector<4x64xf32>
    ```
  }];
  let arguments = (ins AnyVectorOfAnyRank:$lhs, AnyVectorOfAnyRank:$rhs, AnyVectorOfAnyRank:$acc,
                   OptionalAttr<TypeAttr>:$operand_type);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::mlir::Value":$acc), [{
      build($_builder, $_state, result, lhs, rhs, acc, ::mlir::TypeAttr());
    }]>
  ];
  let results = (outs AnyVectorOfAnyRank:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"ReduceOp">]> {
  let summary = "Gives the merged carrier";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values `:` type($values) attr-dict";
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure, IsolatedFromAbove]> {
  let summary = "Folds the lanes of a carrier by a fixed tree";
  let description = [{
    Merges lane `i` with lane `i + n/2`, then halves `n`, until one is left:
    the order is part of the meaning. `combine` is `(a..., b...) -> a...` on scalars.
    The inputs are the components of one carrier and may differ in element type.
    Of rank 2, every row is folded on its own: `vector<MxN>` gives `vector<Mx1>`.

    Constraints:
    - C1: at least one input; all are vectors of one shape of rank 1 or 2, a power of two long in the last dimension;
    - C2: each result is the input's element type, or for rank 2 a `vector<Mx1>` of it;
    - C3: `combine` takes 2n scalars and yields n, of the inputs' element types.

    ```mlir
    %s = tile.reduce %v : vector<16xf32> -> f32 combine {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      tile.yield %r : f32
    }
    %m = tile.reduce %scores : vector<3x64xf32> -> vector<3x1xf32> combine {
    ^bb0(%a: f32, %b: f32):
      %r = arith.maximumf %a, %b : f32
      tile.yield %r : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyVectorOfAnyRank>:$inputs);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "$inputs `:` type($inputs) `->` type($results) attr-dict `combine` $combine";
  let hasVerifier = 1;
}

#endif
