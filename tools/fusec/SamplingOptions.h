//===- SamplingOptions.h - sampling parameters on the command line ---------===//
//
// What the user gives overrides what the model recommends, which overrides the
// runtime's defaults.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/SamplingParams.h"

#include <cstdint>
#include <optional>

namespace CLI {
class App;
} // namespace CLI

namespace fusec {

struct SamplingOptions {
  std::optional<float> temperature, topP, minP;
  std::optional<float> repetitionPenalty, presencePenalty, frequencyPenalty;
  std::optional<int> topK;
  uint64_t seed = 0;

  void declare(CLI::App &app);
  /// Ranges are checked by the runtime, which knows the model.
  runtime::SamplingParams resolve(const runtime::ModelInfo &model) const;
};

} // namespace fusec
