//===- MachineLimits.h - read bandwidth and multiply-add peak of this CPU ---===//
#pragma once

#include <cstdint>

namespace fusec::codegen {

/// Reads `bytes` once with vector loads, in `streams` equal parts side by side; returns a checksum.
float readAll(const void *data, int64_t bytes, int streams, bool wide);

/// Runs about `steps` x 24 independent fused multiply-adds on whole vectors; returns their number of flops.
double multiplyAdd(int64_t steps, bool wide);

} // namespace fusec::codegen
