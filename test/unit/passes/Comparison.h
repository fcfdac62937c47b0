//===- Comparison.h - what compiled graphs are held to -------------------------===//
//
// Two halves that meet in interpretPlan:
//
//   lowering   the kernels mean what the graph says: both interpreted in F64,
//              equal up to the rounding of doubles;
//   codegen    the machine computes what the kernels say: equal bits in Exact,
//              wherever no exp is involved.
//
// And, without going through the kernels, the machine against the graph: equal
// bits where the graph defines them, else within a bound that the test derives.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/unit/passes/CompiledGraph.h"

#include <gtest/gtest.h>

#include <functional>

namespace fusec::differential {

/// Unit roundoff of f32: one correctly rounded operation errs by at most this, relatively.
inline constexpr double unit = 0x1p-24;
/// Smallest step of f32, for results that underflow.
inline constexpr double tiny = 0x1p-149;
/// The kernels' exp errs by at most 2 ulp = 4 units relatively.
inline constexpr double expError = 4 * unit;

/// Equal as f32 bits; NaN equals NaN only. Zeroes of different sign differ.
::testing::AssertionResult sameBits(const reference::Tensor &actual, const reference::Tensor &expected);

/// |actual - expected| <= bound(i); NaN and infinities must be in the same places.
using Bound = std::function<double(int64_t i)>;
::testing::AssertionResult within(const reference::Tensor &actual, const reference::Tensor &expected,
                                  const Bound &bound);

enum class Against {
  GraphBits,     ///< The graph's Exact bits and the kernels' Exact bits.
  KernelBits,    ///< The kernels' Exact bits; the graph leaves the order of a sum open.
  KernelMeaning, ///< Only the kernels against the graph in F64; the test bounds the machine itself.
};

/// Runs a step on the machine twice (other pages, other splits of the programs: same bits) and
/// checks it. Returns the machine's result.
StepResult check(const CompiledGraph &graph, const Step &step, Against against);

/// Uniform in [-1, 1), exact in f32.
reference::Tensor randomTensor(llvm::ArrayRef<int64_t> shape, uint32_t seed);
reference::Tensor integerTensor(const std::vector<int64_t> &values);
/// A step of `tokens` rows of width `width` as the input "x".
Step rowsStep(int64_t tokens, int64_t width, uint32_t seed);

} // namespace fusec::differential
