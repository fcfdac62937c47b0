//===- PlanReport.h - fusion plans as reports, for comparing ------------------------------===//
#pragma once

#include "passes/report/Report.h"
#include "runtime/base/Status.h"

#include <string_view>

namespace fusec::report {

/// The decisions of a plan's lines; errors as FusionPlan::parse.
Result<Report> reportOfPlan(std::string_view text);

/// A report cut down to what its plan would say.
Report asPlan(const Report &report);

} // namespace fusec::report
