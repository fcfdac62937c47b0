//===- ServerPool.h - the KV pool of a server, from its metrics --------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string_view>

namespace fusec::load {

struct ServerPool {
  int64_t pageTokens = 0, pages = 0;
};

/// From the metric cache_config_info, which fusec and vLLM have, in Prometheus' text form. NotFound without it,
/// CorruptData when a label is no number above 0.
Result<ServerPool> readServerPool(std::string_view metrics);

} // namespace fusec::load
