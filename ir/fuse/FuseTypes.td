//===- FuseTypes.td - tensors with dimension kinds --------------------------===//
#ifndef FUSEC_IR_FUSE_TYPES_TD
#define FUSEC_IR_FUSE_TYPES_TD

include "ir/fuse/FuseDialect.td"

def Fuse_TensorType : TypeDef<Fuse_Dialect, "GraphTensor"> {
  let mnemonic = "tensor";
  let summary = "Tensor whose dimensions say how their extent is known";
  let description = [{
    `!fuse.tensor<[dims], element>` or, for a weight or a cache,
    `!fuse.tensor<[dims], element, storage>`. A dimension is

    - an integer: static;
    - `sym(N)`: one run-time size per step;
    - `ragged(N)`: the concatenation of one length per sequence (the tokens of
      this step); `N` is the total;
    - `paged(N)`: one length per sequence, reached through a block table;
      `N` bounds the longest.

    `storage` is the block format of the bytes behind the logical elements
    (see `runtime/schema/StorageType.def`); reading such a tensor decodes it
    exactly as the format defines. A tensor with a paged dimension, that is a
    cache, may be stored in `f16`, `bf16` or `fp8_e4m3` when its element type is `f32`:
    `fuse.kv_append` rounds what it writes, and every reader sees the rounded
    value as `f32`.

    ```mlir
    !fuse.tensor<[ragged(T), 576], f32>
    !fuse.tensor<[49152, 576], f32, q8_0>
    !fuse.tensor<[sym(S), paged(C), 3, 64], f32>
    !fuse.tensor<[sym(S), paged(C), 3, 64], f32, f16>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::fusec::fuse::Dim">:$dims,
    "::mlir::Type":$elementType,
    "::std::optional<::fusec::StorageType>":$storage);
  let builders = [
    TypeBuilder<(ins "::llvm::ArrayRef<::fusec::fuse::Dim>":$dims, "::mlir::Type":$elementType), [{
      return $_get($_ctxt, dims, elementType, ::std::optional<::fusec::StorageType>());
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return static_cast<int64_t>(getDims().size()); }
    const Dim &getDim(int64_t i) const { return getDims()[i]; }
  }];
}

def Fuse_AnyTensor : Type<CPred<"::llvm::isa<::fusec::fuse::GraphTensorType>($_self)">, "fuse tensor", "::fusec::fuse::GraphTensorType">;

#endif
