//===- KvLayout.h - where the cache pages of a sequence lie ---------------------===//
//
// A row per layout; the manifest names it. The compiler writes it, the runtime
// reads it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/TargetKind.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fusec {

enum class KvLayout : uint8_t {
  Paged,      ///< Anywhere in the pool: kernels look every page up in the block table.
  Contiguous, ///< Side by side in virtual memory, mapped on demand: kernels look up the first one only.
};

struct KvLayoutName {
  std::string_view name;
  KvLayout layout;
};
inline constexpr KvLayoutName kvLayouts[] = {{"paged", KvLayout::Paged}, {"contiguous", KvLayout::Contiguous}};

inline constexpr std::string_view nameOf(KvLayout layout) {
  for (const KvLayoutName &row : kvLayouts)
    if (row.layout == layout)
      return row.name;
  return "";
}

inline constexpr std::optional<KvLayout> kvLayoutByName(std::string_view name) {
  for (const KvLayoutName &row : kvLayouts)
    if (row.name == name)
      return row.layout;
  return std::nullopt;
}

/// What a cache page is a multiple of, in bytes. To be mapped it has to fill pages of the machine: of 4 KiB on x86-64,
/// of 2 MiB on every NVIDIA GPU so far (the minimum of cuMemGetAllocationGranularity).
inline constexpr int64_t kvPageAlignment(KvLayout layout, TargetKind kind) {
  if (layout == KvLayout::Paged)
    return 1;
  return kind == TargetKind::Cuda ? int64_t{2} << 20 : 4096;
}

} // namespace fusec
