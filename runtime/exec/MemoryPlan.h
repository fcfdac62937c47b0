//===- MemoryPlan.h - every byte the runtime reserves, by owner --------------===//
//
// Built once when an artifact is loaded, before the first step. Nothing is
// reserved afterwards. Values; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fusec::runtime {

struct MemoryPlan {
  struct Row {
    std::string name; ///< "weights (mapped)", "kv cache (f16)", "activations", ...
    int64_t bytes;    ///< Reserved; KV pages become resident on first use.
  };
  std::vector<Row> rows;

  int64_t totalBytes() const {
    int64_t total = 0;
    for (const Row &row : rows)
      total += row.bytes;
    return total;
  }
};

} // namespace fusec::runtime
