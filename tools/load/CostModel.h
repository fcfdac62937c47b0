//===- CostModel.h - how long a step takes --------------------------------------===//
//
//   seconds = fixed + perToken * tokens + perContextToken * context
//
// where `context` sums, over the step's items, the positions their rows attend
// to: KV that is read once per item. As JSON:
//
//   {"fixed_seconds": 6e-3, "seconds_per_token": 2e-5, "seconds_per_context_token": 3e-8}
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/sched/Step.h"

#include <filesystem>
#include <span>
#include <string>

namespace fusec::load {

/// A step that was measured.
struct StepSample {
  double tokens = 0, context = 0, seconds = 0;
};

struct CostModel {
  double fixed = 0, perToken = 0, perContextToken = 0;

  double seconds(double tokens, double context) const { return fixed + perToken * tokens + perContextToken * context; }
  double seconds(const runtime::Step &step) const;

  /// An 8-billion-parameter model in bf16 on one data-centre GPU (3.3 TB/s, 400 Tflop/s, 128 KiB of KV per token, all
  /// sustained), by arithmetic, not measured: for comparing policies, not for predictions.
  static CostModel example();
  static Result<CostModel> read(const std::filesystem::path &path);
  /// Least squares of the relative error, without negative coefficients. InvalidArgument for fewer than three samples.
  static Result<CostModel> fit(std::span<const StepSample> samples);
  std::string json() const;
};

} // namespace fusec::load
