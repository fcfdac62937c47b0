//===- PanelPack.h - stored matrices to panels of 16 rows -------------------===//
//
// Repacks GGUF blocks into the layout of runtime/schema/PanelLayout.h; values
// do not change. Several matrices with equal columns may be packed as one, row
// after row (fused projections): parts need not end on a panel.
//
//   std::vector<std::byte> packed(packedBytes(type, qRows + kRows, columns));
//   FUSEC_RETURN_IF_ERROR(packPanels(type, {{q, qRows}, {k, kRows}}, columns, packed));
//
// Pure functions; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/schema/PanelLayout.h"

#include <cstddef>
#include <span>

namespace fusec::codegen {

/// Some rows of a stored matrix: `bytes` holds a whole number of rows.
struct StoredRows {
  std::span<const std::byte> bytes;
  int64_t rows = 0;
};

/// Writes the panels of all parts to `out`, which has exactly
/// packedBytes(type, sum of rows, columns) bytes. InvalidArgument when a size
/// does not fit: columns no multiple of a super-block, a part too short, `out`
/// of another size.
Status packPanels(StorageType type, std::span<const StoredRows> parts, int64_t columns, std::span<std::byte> out);

/// Decodes packed panels to f32 [rows, columns]: the readable counterpart of
/// what kernels do in registers, for tests.
void decodePanels(StorageType type, std::span<const std::byte> packed, int64_t rows, int64_t columns, float *out);

} // namespace fusec::codegen
