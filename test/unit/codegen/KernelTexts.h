//===- KernelTexts.h - the product kernels the compiler makes, as text ------===//
#pragma once

#include "runtime/schema/StorageType.h"

#include <cstdint>
#include <string>

namespace fusec::codegen {

/// @gemv(x[T,k], w[n,k], res[T,n], y[T,n]): one row of x and `lanes` outputs per
/// program, `step` k at a time, residual added. Grid: T, n / lanes.
std::string gemvText(StorageType type, int64_t n, int64_t k, int64_t lanes, int64_t step);

/// @gemm, same arguments: weights are decoded once per `lanes` outputs, then
/// all rows go by in tiles of `rows`. Grid: n / lanes.
std::string gemmText(StorageType type, int64_t n, int64_t k, int64_t rows, int64_t lanes, int64_t step);

} // namespace fusec::codegen
