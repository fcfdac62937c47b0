//===- PlanDialect.td - the executable: buffers and launches ----------------===//
#ifndef FUSEC_IR_PLAN_DIALECT_TD
#define FUSEC_IR_PLAN_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ir/tile/TileBuffer.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::fusec::plan";
  let summary = "What the runtime executes: buffers in slots, launches in order";
  let description = [{
    ```
    tile kernels + buffers --> plan --> manifest.json + weights.bin + kernels/
    ```

    A `plan.program` is the whole step. Buffers of run-time size share memory
    by slot; sizes follow from the dimension symbols. A launch names a
    `plan.kernel`, which picks one of its `tile.kernel` variants by symbol
    values.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::fusec::tile::TileDialect"];
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

def Plan_BufferKind : I32EnumAttr<"BufferKind", "who owns a buffer's bytes", [
  I32EnumAttrCase<"Input", 0, "input">,
  I32EnumAttrCase<"Weight", 1, "weight">,
  I32EnumAttrCase<"Constant", 2, "constant">,
  I32EnumAttrCase<"Cache", 3, "cache">,
  I32EnumAttrCase<"Activation", 4, "activation">,
  I32EnumAttrCase<"Output", 5, "output">
]> {
  let cppNamespace = "::fusec::plan";
  let genSpecializedAttr = 0;
}
def Plan_BufferKindAttr : EnumAttr<Plan_Dialect, Plan_BufferKind, "kind">;

def Plan_ProgramOp : Plan_Op<"program", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "One step of the model as launches over buffers";
  let description = [{
    `page` is the number of positions in a cache page.

    Constraints:
    - C1: the body holds `plan.buffer`, `plan.launch`, `plan.library_product` and nothing else; `page` is positive.

    ```mlir
    plan.program @step page 64 {
      %x = plan.buffer input "tokens" : !tile.buffer<[ragged(T)], i32>
      %y = plan.buffer activation "x" slot 0 : !tile.buffer<[ragged(T), 64], f32>
      plan.launch @k0(%x, %y) "embedding" : !tile.buffer<[ragged(T)], i32>, !tile.buffer<[ragged(T), 64], f32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$page);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `page` $page attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Plan_BufferOp : Plan_Op<"buffer", [HasParent<"ProgramOp">]> {
  let summary = "Declares a buffer";
  let description = [{
    Activations and outputs name the slot whose memory they use; `parts` are the
    stored tensors stacked into a weight, `value` the content of a constant.

    Constraints:
    - C1: `slot` is given exactly for activations and outputs;
    - C2: `parts` is given exactly for weights, `value` exactly for constants.

    ```mlir
    %w = plan.buffer weight "blk.0.attn_q.weight" parts ["blk.0.attn_q.weight"] : !tile.buffer<[576, 576], f32, panel, q4_1>
    ```
  }];
  let arguments = (ins Plan_BufferKindAttr:$kind, StrAttr:$name, OptionalAttr<I64Attr>:$slot,
                   OptionalAttr<StrArrayAttr>:$parts, OptionalAttr<ElementsAttr>:$value);
  let results = (outs Tile_AnyBuffer:$result);
  let assemblyFormat = "$kind $name (`slot` $slot^)? (`parts` $parts^)? (`value` $value^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Plan_PathKind : I32EnumAttr<"PathKind", "who computes the products of large steps", [
  I32EnumAttrCase<"Kernels", 0, "kernels">,
  I32EnumAttrCase<"Library", 1, "library">
]> {
  let cppNamespace = "::fusec::plan";
  let genSpecializedAttr = 0;
}

def Plan_PathAttr : AttrDef<Plan_Dialect, "Path"> {
  let mnemonic = "path";
  let summary = "One of two ways to compute the same buffers";
  let description = [{
    `<library from 256>`: only in a step of at least 256 tokens whose products a library computes;
    `<kernels from 256>`: in every other step. What has no path is always done.
    Whether there is a library is known when the artifact is loaded.
  }];
  let parameters = (ins EnumParameter<Plan_PathKind>:$kind, "int64_t":$from);
  let assemblyFormat = "`<` $kind `from` $from `>`";
  let genVerifyDecl = 1;
}

def Plan_LaunchOp : Plan_Op<"launch", [HasParent<"ProgramOp">]> {
  let summary = "Runs a kernel on buffers, after all launches before it";
  let description = [{
    `name` and `ops` are the model's names of what the launch computes: the last
    of the graph ops fused into the kernel, and all of them.

    Constraints:
    - C1: `kernel` names a `plan.kernel` of the module; each of its variants takes these buffer types.

    ```mlir
    plan.launch @k0(%x, %y) "blk.0.attn_norm" : !tile.buffer<[ragged(T), 64], f32>, !tile.buffer<[ragged(T), 64], f32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Tile_AnyBuffer>:$buffers, StrAttr:$name,
                   OptionalAttr<StrArrayAttr>:$ops, OptionalAttr<Plan_PathAttr>:$path);
  let assemblyFormat = "$kernel `(` $buffers `)` $name (`path` $path^)? attr-dict `:` type($buffers)";
}

def Plan_LibraryProductOp : Plan_Op<"library_product", [HasParent<"ProgramOp">, AttrSizedOperandSegments]> {
  let summary = "A matrix product by the device's library, after all launches before it";
  let description = [{
    `result[t, n] = sum over k of rows[t, k] * weights[n, k]`, exact products, sums in
    f32 in an order of the library's own, which depends on the number of rows. Then
    `+ bias[n]` or `+ addend[t, n]`, where given.

    Constraints:
    - C1: `rows` is `[T, K]` and `weights` `[N, K]`, row-major, both stored as f16 or both as bf16;
    - C2: `result` and `addend` are `[T, N]` and `bias` is `[N]`, row-major, f32; at most one of the two is given;
    - C3: `path` is the library's.

    ```mlir
    plan.library_product %x by %w plus %residual into %y "blk.0.ffn_down.weight" path <library from 256>
      : !tile.buffer<[ragged(T), 1536], f32, bf16>, !tile.buffer<[576, 1536], f32, bf16>
        -> !tile.buffer<[ragged(T), 576], f32> plus !tile.buffer<[ragged(T), 576], f32>
    ```
  }];
  let arguments = (ins Tile_AnyBuffer:$rows, Tile_AnyBuffer:$weights, Optional<Tile_AnyBuffer>:$addend,
                   Optional<Tile_AnyBuffer>:$bias, Tile_AnyBuffer:$result, StrAttr:$name, Plan_PathAttr:$path);
  let assemblyFormat = [{
    $rows `by` $weights (`plus` $addend^)? (`bias` $bias^)? `into` $result $name `path` $path attr-dict `:`
    type($rows) `,` type($weights) `->` type($result) (`plus` type($addend)^)? (`bias` type($bias)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What is read, in the order of the operands.
    ::llvm::SmallVector<::mlir::Value> getReadBuffers();
  }];
}

def Plan_VariantAttr : AttrDef<Plan_Dialect, "Variant"> {
  let mnemonic = "variant";
  let summary = "A tile kernel and the largest symbol value it is for";
  let description = [{
    `#plan.variant<@k0_r1 when T upto 1>`, `#plan.variant<@k0_r12>`: the first variant whose condition holds runs.
    One without a condition always does.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$kernel, "::mlir::StringAttr":$symbol, "int64_t":$limit);
  let hasCustomAssemblyFormat = 1;
}

def Plan_KernelOp : Plan_Op<"kernel", [Symbol]> {
  let summary = "A kernel with variants for ranges of a size";
  let description = [{
    The first variant whose condition holds runs. If every variant has a
    condition and none holds, a launch does nothing: the second half of a
    computation that is split only for small steps.

    Constraints:
    - C1: at least one variant; every one but the last has a condition.

    ```mlir
    plan.kernel @k0 [#plan.variant<@k0_r1 when T upto 1>, #plan.variant<@k0_r12>]
    plan.kernel @merge [#plan.variant<@merge_few when T upto 16>]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$variants);
  let assemblyFormat = "$sym_name $variants attr-dict";
  let hasVerifier = 1;
}

#endif
