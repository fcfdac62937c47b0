//===- LazyLoad.h - loads that are part of the dots that read them -----------===//
#pragma once

#include "ir/tile/TileDialect.h"

namespace fusec::tile {

/// True if every reader is a dot of the same block and nothing is written in between: a dot may then read the operand
/// as its sum advances, and the load itself does nothing. So it is for a load that nobody reads.
bool isLazy(LoadOp op);

} // namespace fusec::tile
