//===- Fp8Test.cpp - products in 8-bit floats ---------------------------------------===//
#include "test/unit/cuda/mma/MmaHarness.h"

#include <cmath>

using namespace fusec;
using namespace fusec::test;

namespace {

/// Nearest e4m3, ties to even: 3 bits after the first of a normal number, multiples of 2^-9 below 2^-6, at most 448.
float rounded(float x) {
  const float magnitude = std::min(std::fabs(x), 448.0f);
  const int exponent = std::max(std::ilogb(magnitude), -6);
  return std::copysign(std::ldexp(std::nearbyint(std::ldexp(magnitude, 3 - exponent)), exponent - 3), x);
}

TEST(Fp8, OperandsAreRoundedAndProductsExact) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  MmaProgram program(*nvrtc, "sm_90a", "fp8.cu", {});
  if (HasFailure())
    return;
  std::vector<float> a = randomFloats(16 * 32, 1), b = randomFloats(32 * 8, 2);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = std::ldexp(a[i], static_cast<int>(i % 17) - 8);
  a[3] = 1000;
  a[4] = -0.0009f;
  const uint64_t c = program.outputs(16 * 8);
  Status status = program.launch("product", {}, {program.put(a), program.put(b), c});
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<float> found = program.floats(c, 16 * 8);
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 8; ++n) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < 32; ++k) {
        const double p = static_cast<double>(rounded(a[m * 32 + k])) * rounded(b[k * 8 + n]);
        sum += p;
        magnitude += std::fabs(p);
      }
      EXPECT_NEAR(found[m * 8 + n], sum, 32 * std::ldexp(magnitude, -24)) << m << " " << n;
    }
}

} // namespace
