//===- ComparisonTest.cpp - the comparators themselves --------------------------===//
#include "test/unit/passes/Comparison.h"

#include <cmath>
#include <limits>

namespace fusec::differential {
namespace {

using namespace reference;

TEST(Comparators, OneSidedNaNAndInfinityFail) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  auto tensor = [](double v) { return Tensor::fromValues(Element::F32, {1}, {v}); };
  auto loose = [](int64_t) { return std::numeric_limits<double>::infinity(); };
  for (auto [a, b] : {std::pair{nan, 1.0}, {1.0, nan}, {inf, 1.0}, {1.0, -inf}, {inf, -inf}, {nan, inf}}) {
    EXPECT_FALSE(sameBits(tensor(a), tensor(b)));
    EXPECT_FALSE(within(tensor(a), tensor(b), loose));
  }
  for (double v : {nan, inf, -inf, 0.0, 1.5}) {
    EXPECT_TRUE(sameBits(tensor(v), tensor(v)));
    EXPECT_TRUE(within(tensor(v), tensor(v), [](int64_t) { return 0.0; }));
  }
  EXPECT_FALSE(sameBits(tensor(0.0), tensor(-0.0)));
  EXPECT_FALSE(within(tensor(1.0), tensor(1.0 + 2 * unit), [](int64_t) { return unit; }));
  EXPECT_FALSE(sameBits(tensor(1.0), Tensor::filled(Element::F32, {2}, 1.0)));
}

} // namespace
} // namespace fusec::differential
