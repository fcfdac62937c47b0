//===- VerifyReport.h - what fusec verify found, for people and scripts ----===//
#pragma once

#include "tools/fusec/Compiler.h"
#include "tools/fusec/VerifyBisect.h"
#include "tools/fusec/VerifyComparison.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fusec {

/// The fusion that bisection blames.
struct VerifyCulprit {
  int64_t number = 0; ///< Counted from 1, in the order fusions are asked for.
  int64_t total = 0;
  TakenFusion fusion;
  BisectSample before, after;
  double bound = 0;     ///< 0: looked for the first one that changes any bit.
  std::string command;  ///< Shows the failure.
  std::string previous; ///< The same without the fusion.
};

struct VerifyReport {
  std::string model, level;
  int threads = 0;
  int64_t promptTokens = 0, generateTokens = 0;
  std::optional<double> noise; ///< Over a row's range; absent for an artifact.
  std::vector<VerifyRow> rows;
  std::optional<VerifyCulprit> culprit;
  std::vector<std::string> notes; ///< One sentence each.
  double seconds = 0;

  bool passed() const;
};

/// Ends with a line feed.
std::string verifyText(const VerifyReport &report);
std::string verifyJson(const VerifyReport &report);

} // namespace fusec
