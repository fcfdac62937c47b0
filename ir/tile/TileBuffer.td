//===- TileBuffer.td - the buffer constraint that tile and plan share -------===//
#ifndef FUSEC_IR_TILE_BUFFER_TD
#define FUSEC_IR_TILE_BUFFER_TD

include "mlir/IR/OpBase.td"

def Tile_AnyBuffer : Type<CPred<"::llvm::isa<::fusec::tile::BufferType>($_self)">, "tile buffer", "::fusec::tile::BufferType">;

#endif
