//===- Pooling.h - which positions of a text its embedding is made of -----------===//
//
// A row per pooling; the manifest names it. The compiler writes it, the runtime
// reads it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fusec {

enum class Pooling : uint8_t {
  Last, ///< The hidden state of the last token.
  Mean, ///< The mean over all tokens.
  Cls,  ///< That of the first token.
};

struct PoolingRow {
  std::string_view name;
  Pooling pooling;
  int64_t ggufType; ///< Value of a GGUF's `<arch>.pooling_type`.
};
inline constexpr PoolingRow poolings[] = {
    {"last", Pooling::Last, 3}, {"mean", Pooling::Mean, 1}, {"cls", Pooling::Cls, 2}};

inline constexpr std::string_view nameOf(Pooling pooling) {
  for (const PoolingRow &row : poolings)
    if (row.pooling == pooling)
      return row.name;
  return "";
}

inline constexpr std::optional<Pooling> poolingByName(std::string_view name) {
  for (const PoolingRow &row : poolings)
    if (row.name == name)
      return row.pooling;
  return std::nullopt;
}

} // namespace fusec
