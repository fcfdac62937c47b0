//===- FuseDialect.td - the dataflow graph of a language model -------------===//
#ifndef FUSEC_IR_FUSE_DIALECT_TD
#define FUSEC_IR_FUSE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Fuse_Dialect : Dialect {
  let name = "fuse";
  let cppNamespace = "::fusec::fuse";
  let summary = "Dataflow graph of a language model, before any kernel exists";
  let description = [{
    ```
    model file --models--> fuse --passes--> tile (fused kernels) --> plan (executable)
    ```

    A `func.func` holds one step of the model over *all* tokens of the step,
    packed along a ragged dimension. Values are tensors whose dimensions say
    how their extent is known (see `!fuse.tensor`). A handful of primitives
    carry every model: `map`, `contract`, `reduce`, `gather`, `scatter`,
    `view`, `reshape`, `kv_append`, with `weight` and `constant` as leaves.
    Importers may also use named sugar (`linear`, `rms_norm`, `rope`,
    `attention`, ...), which `--fuse-decompose` turns into primitives; passes
    after it never look at names.

    Every op keeps the location of the model's own tensor or node.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def Fuse_Order : I32EnumAttr<"Order", "how far a reduction may be reassociated", [
  I32EnumAttrCase<"Sequential", 0, "sequential">,
  I32EnumAttrCase<"Lanes", 1, "lanes">,
  I32EnumAttrCase<"Any", 2, "any">
]> {
  let cppNamespace = "::fusec::fuse";
  let genSpecializedAttr = 0;
}

def Fuse_EmptyPolicy : I32EnumAttr<"EmptyPolicy", "what a reduction over nothing (an empty or fully masked row) gives", [
  I32EnumAttrCase<"Identity", 0, "identity">,
  I32EnumAttrCase<"Zero", 1, "zero">
]> {
  let cppNamespace = "::fusec::fuse";
  let genSpecializedAttr = 0;
}

class Fuse_Attr<string cppName, string attrMnemonic> : AttrDef<Fuse_Dialect, cppName> {
  let mnemonic = attrMnemonic;
}

def Fuse_NumericsAttr : Fuse_Attr<"Numerics", "numerics"> {
  let summary = "Numerics contract of a reduction";
  let description = [{
    `accumulate` is the type of the accumulator; products are fused into it
    (one rounding per step). `order` is the permission to reassociate:
    `sequential` means one chain along the reduced dimension in ascending
    order (what `contract` kernels keep, so that results do not depend on the
    tile or the number of rows); `lanes` means a fixed number of interleaved
    partial results combined by a fixed tree; `any` is unrestricted. `empty`
    says what a reduction gives over no element, or over none but its identity
    (a fully masked row): the identity, or zero. `operands`, for a contraction,
    is the type that both operands are rounded to (to nearest even) before they
    are multiplied: `f16` or `bf16`, what tensor cores multiply. Products are exact.

    ```mlir
    #fuse.numerics<accumulate = f32, order = sequential, empty = identity>
    #fuse.numerics<accumulate = f32, order = any, empty = identity, operands = bf16>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$accumulate,
    EnumParameter<Fuse_Order>:$order,
    EnumParameter<Fuse_EmptyPolicy>:$empty,
    OptionalParameter<"::mlir::Type">:$operands);
  let builders = [
    AttrBuilder<(ins "::mlir::Type":$accumulate, "::fusec::fuse::Order":$order, "::fusec::fuse::EmptyPolicy":$empty), [{
      return $_get($_ctxt, accumulate, order, empty, ::mlir::Type());
    }]>
  ];
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif
