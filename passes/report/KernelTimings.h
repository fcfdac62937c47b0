//===- KernelTimings.h - measured times for a report --------------------------------------===//
//
//   {"machine": {"bytes_per_second": 4e10, "flops_per_second": 2e11},
//    "kernels": {"k3": {"seconds": 1.2e-3}}}
//
// Seconds are per step, all launches of the kernel together. `machine` may be
// missing; further keys are for people (`fusec bench --kernel-times` writes some).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/report/Report.h"
#include "runtime/base/Status.h"

#include <string_view>

namespace fusec::report {

/// Sets the seconds of the kernels named. CorruptData for text of another form, NotFound for a
/// kernel that the report does not have.
Status addTimings(Report &report, std::string_view text);

} // namespace fusec::report
