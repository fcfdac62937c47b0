//===- PrintReport.h - the forms of a report ---------------------------------------------===//
#pragma once

#include "passes/report/Report.h"
#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace fusec::report {

/// For people: overview, kernels, decisions, memory.
std::string printText(const Report &report);

/// One JSON object with everything, in a fixed order. Names that are not UTF-8 lose what is not.
std::string printJson(const Report &report);

/// One page with all it needs inside: no network, no other file. Layers that are alike are shown once.
std::string printHtml(const Report &report);

/// The candidates as a fusion plan that repeats this compilation; layers that are alike become one
/// line with `*`. docs/fusion-plan.md describes the format.
std::string printFusionPlan(const Report &report);

/// Reads `printJson`'s output: what comparisons need of it (kernels, decisions, totals).
/// CorruptData for anything else.
Result<Report> readJson(std::string_view text);

} // namespace fusec::report
