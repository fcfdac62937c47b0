//===- TileDialect.td - fused kernels on tiles ------------------------------===//
#ifndef FUSEC_IR_TILE_DIALECT_TD
#define FUSEC_IR_TILE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "ir/tile/TileBuffer.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fusec::tile";
  let summary = "One fused kernel as a program over tiles, for any target";
  let description = [{
    ```
    fuse --grouping, tile selection--> tile --codegen--> host object code | CUDA C++
    ```

    A `tile.kernel` is a grid of independent programs. A program moves tiles
    between buffers and values: `tile.load` and `tile.store` go through index
    maps, block tables and storage formats; between them tiles are plain MLIR
    `vector`s of rank 1 or 2 computed with `arith`, `math`, `tile.dot` and
    `tile.reduce`, in `scf.for` loops with carried tiles. Nothing names a
    target. Every choice (tile shape, staging, loop steps) is visible in the
    ops and recorded in the kernel's `schedule`.

    A loop with the attribute `tile.spread` adds up parts: each carried tile is
    yielded as the sum of itself and a part that depends on no carried tile. A
    GPU computes the parts on different warps at once and adds them in
    ascending order, which gives the same bits.

    `tile.stream` on such a loop asks a GPU to bring the stored matrices that its
    products read through a ring in shared memory, many bytes ahead, instead of
    through registers.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::fusec::fuse::FuseDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def Tile_Layout : I32EnumAttr<"Layout", "how a buffer's elements lie in memory", [
  I32EnumAttrCase<"Rows", 0, "rows">,
  I32EnumAttrCase<"Panel", 1, "panel">,
  I32EnumAttrCase<"PagedK", 2, "paged_k">,
  I32EnumAttrCase<"PagedV", 3, "paged_v">
]> {
  let cppNamespace = "::fusec::tile";
  let genSpecializedAttr = 0;
  let description = [{
    - `rows`: row-major, the last dimension contiguous.
    - `panel`: a stored matrix `[N, K]` packed in panels of 16 rows (see
      runtime/schema/PanelLayout.h).
    - `paged_k`: a cache `[S, C, H, D]` in pages of P positions, each page
      `[H][D][P]`: the positions of one element lie side by side.
    - `paged_v`: the same with pages `[H][P][D]`.
  }];
}

def Tile_BufferType : TypeDef<Tile_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Memory that a kernel reads or writes";
  let description = [{
    Dimensions as in `!fuse.tensor`, an element type, a layout and, for
    stored weights and rounded values, the storage type that loads decode. A
    paged or row-major buffer of `f32` may be stored in `f16` or `bf16`, a paged
    one in `fp8_e4m3`, too: stores round to nearest even.

    ```mlir
    !tile.buffer<[ragged(T), 576], f32>
    !tile.buffer<[960, 576], f32, panel, q4_1>
    !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>
    !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_v, f16>
    !tile.buffer<[ragged(T), 576], f32, bf16>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::fusec::fuse::Dim">:$dims,
    "::mlir::Type":$elementType,
    "::fusec::tile::Layout":$layout,
    "::std::optional<::fusec::StorageType>":$storage);
  let builders = [
    TypeBuilder<(ins "::llvm::ArrayRef<::fusec::fuse::Dim>":$dims, "::mlir::Type":$elementType), [{
      return $_get($_ctxt, dims, elementType, ::fusec::tile::Layout::Rows, ::std::optional<::fusec::StorageType>());
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return static_cast<int64_t>(getDims().size()); }
    bool isPaged() const { return getLayout() == Layout::PagedK || getLayout() == Layout::PagedV; }
    /// Bytes that an element of a buffer that is not packed, takes in memory.
    int64_t getElementBytes() const {
      return getStorage() ? ::fusec::info(*getStorage()).blockBytes : getElementType().getIntOrFloatBitWidth() / 8;
    }
  }];
}

def Tile_AxisAttr : AttrDef<Tile_Dialect, "Axis"> {
  let mnemonic = "axis";
  let summary = "One axis of a kernel's grid: an extent cut into tiles";
  let description = [{
    `#tile.axis<[ragged(T)] by 1>`, `#tile.axis<[960] by 64>`: `ceil(extent / tile)` programs.
  }];
  let parameters = (ins "::fusec::fuse::Dim":$extent, "int64_t":$tile);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif
