//===- HostLevel.h - the CPU levels kernels are compiled for ---------------===//
#pragma once

#include <cstdint>
#include <string_view>

namespace fusec::codegen {

/// One CPU level of an artifact. The features are exactly what the runtime
/// checks before it picks the level, so a library never needs more.
struct HostLevel {
  std::string_view name;     ///< As in manifests: "avx2", "avx512".
  std::string_view cpu;      ///< LLVM's name of the feature set.
  std::string_view features; ///< Extra LLVM features.
  unsigned vectorBits;       ///< Widest register.
  int64_t lanes;             ///< f32 in it: the widest piece of a tile.
  int64_t registers;         ///< Vector registers.
  bool hasTableLookup;       ///< One instruction looks 16 floats up by 16 indices.
  int64_t decodedAtOnce;     ///< Pieces of weights decoded side by side without spilling.
};

inline constexpr HostLevel hostLevels[] = {
    {"avx2", "x86-64-v3", "", 256, 8, 16, false, 2},
    {"avx512", "x86-64-v4", "", 512, 16, 32, true, 4},
};

/// The row called `name`, or null.
constexpr const HostLevel *hostLevelByName(std::string_view name) {
  for (const HostLevel &level : hostLevels)
    if (level.name == name)
      return &level;
  return nullptr;
}

} // namespace fusec::codegen
