//===- KernelComparison.h - host code against the reference interpreter -----===//
#pragma once

#include "ir/reference/Tensor.h"

#include <map>
#include <string>
#include <vector>

namespace fusec::codegen {

/// What one level computed: a tensor per buffer, in the interpreter's layout.
struct HostOutcome {
  std::string level;
  std::vector<reference::Tensor> buffers;
};

struct ComparedRun {
  std::string error;                       ///< Empty if everything parsed, compiled and ran.
  std::vector<reference::Tensor> expected; ///< The interpreter's, exact precision.
  std::vector<HostOutcome> outcomes;       ///< One per level this machine can run.
};

/// Runs the one kernel of `text` on copies of `buffers` in the interpreter and on the host. Paged buffers are page
/// pools [pages, P, H, D]; the host gets them in its layout. `symbols` has T, S, B, R, C, those missing are 1 (C: the
/// page). Reports writes behind a buffer.
ComparedRun runKernelEverywhere(const std::string &text, const std::vector<reference::Tensor> &buffers,
                                const std::map<std::string, int64_t> &symbols, int64_t page = 64);

/// Elements that differ in bits; two NaNs are equal.
int64_t differences(const reference::Tensor &a, const reference::Tensor &b);

} // namespace fusec::codegen
