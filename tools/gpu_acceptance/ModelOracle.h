//===- ModelOracle.h - what a model must give, stored beside its artifact ---------===//
//
// <data>/models/<name>.json, written by --store-oracle from an artifact for the
// CPU:
//
//   ids        a prompt
//   logits     of its last `rows` positions, [rows][vocab], by the CPU in float
//   greedy     what follows the model's start token, token by token
//   tolerance  how far logits may be, as a share of the largest one (set by prepare.py)
//   exact      the greedy ids must be the same (likewise)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fusec::acceptance {

struct ModelOracle {
  std::vector<int32_t> ids;
  std::vector<std::vector<float>> logits; ///< Of the last positions.
  std::vector<int32_t> greedyPrompt, greedy;
  double tolerance = 1e-4;
  bool exact = false;

  /// Errors name the file.
  static Result<ModelOracle> read(const std::filesystem::path &file);
};

/// Runs the artifact on the CPU and writes what it gives to `file`.
Status storeOracle(const std::filesystem::path &artifact, const std::filesystem::path &file);

} // namespace fusec::acceptance
