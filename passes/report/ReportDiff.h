//===- ReportDiff.h - what two reports decide differently --------------------------------===//
#pragma once

#include "passes/report/Report.h"

#include <string>
#include <vector>

namespace fusec::report {

/// One thing that two reports disagree about.
struct Difference {
  enum class Kind { Kernel, Total, Decision };
  Kind kind = Kind::Kernel;
  std::string what;          ///< "blk.*.ffn_gate.weight:contract, ..." or "epilogue a -> b" or "moved_bytes".
  std::string first, second; ///< As text; empty: that side does not have it.
};

/// What a side of a comparison knows: a plan knows decisions only.
struct DiffOptions {
  bool kernels = true; ///< Compare kernels and totals, too.
};

/// Differences in a fixed order; kernels are matched by their members, not by their names.
std::vector<Difference> compareReports(const Report &first, const Report &second, const DiffOptions &options);

/// "+", "-" and "~" lines under headings; empty when there are none.
std::string printDifferences(const std::vector<Difference> &differences);
/// {"same": .., "differences": [..]}
std::string printDifferencesJson(const std::vector<Difference> &differences);

} // namespace fusec::report
