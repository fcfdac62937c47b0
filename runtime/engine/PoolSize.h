//===- PoolSize.h - how large the KV pool is, and what runs in it -----------------===//
//
// Resolves the options that size an engine against each other and the model. A
// pure function of both; nothing is reserved here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/engine/Engine.h"
#include "runtime/exec/Manifest.h"

#include <cstdint>

namespace fusec::runtime {

struct PoolSize {
  EngineOptions options;     ///< With contextTokens, chunkTokens and kvTokens filled in.
  int32_t numPages = 0;      ///< With the sink.
  int64_t maxOutputRows = 1; ///< Logit rows one step can give.
};

/// InvalidArgument names the option, what was expected and found; when the pool
/// does not hold one context, with the sizes of both.
Result<PoolSize> sizePool(const EngineOptions &options, const Manifest &manifest);

} // namespace fusec::runtime
