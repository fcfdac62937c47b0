//===- TargetKind.h - what a target's kernels run on ---------------------------===//
//
// A row per kind; the manifest names it in each target. The compiler writes it,
// the runtime reads it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fusec {

enum class TargetKind : uint8_t {
  Host, ///< One shared object of CPU code per level.
  Cuda, ///< One cubin and one PTX text per kernel variant.
};

struct TargetKindName {
  std::string_view name;
  TargetKind kind;
};
inline constexpr TargetKindName targetKinds[] = {{"host", TargetKind::Host}, {"cuda", TargetKind::Cuda}};

inline constexpr std::string_view nameOf(TargetKind kind) {
  for (const TargetKindName &row : targetKinds)
    if (row.kind == kind)
      return row.name;
  return "";
}

inline constexpr std::optional<TargetKind> targetKindByName(std::string_view name) {
  for (const TargetKindName &row : targetKinds)
    if (row.name == name)
      return row.kind;
  return std::nullopt;
}

} // namespace fusec
