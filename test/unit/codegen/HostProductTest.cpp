//===- HostProductTest.cpp - dot kernels against scalar loops ----------------===//
//
// Every product is one chain of fused multiply-adds with k ascending, so the
// kernels have to give the same bits as the loops here.
//
//===----------------------------------------------------------------------===//
#include "test/unit/codegen/KernelHarness.h"
#include "test/unit/codegen/KernelTexts.h"

#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace fusec;
using namespace fusec::codegen;

namespace {
struct ProductCase {
  StorageType type;
  int64_t n, k, t;
};
} // namespace

/// Runs `kernel` on random data and compares every bit with the scalar loop.
static void checkProduct(const LoadedKernels &kernels, const std::string &name, ProductCase c, int64_t programs) {
  TestWeights w(c.type, c.n, c.k, 5);
  GuardedBuffer x(c.t * c.k * 4), res(c.t * c.n * 4), y(c.t * c.n * 4);
  for (int64_t i = 0; i < c.t * c.k; ++i)
    x.as<float>()[i] = noise(i);
  for (int64_t i = 0; i < c.t * c.n; ++i)
    res.as<float>()[i] = noise(i + 77);
  kernels.run(name, {x.as(), w.packed.as(), res.as(), y.as()}, {c.t, 1, 1, 1, 64}, programs);
  int64_t wrong = 0;
  for (int64_t t = 0; t < c.t; ++t)
    for (int64_t n = 0; n < c.n; ++n) {
      float acc = 0;
      for (int64_t k = 0; k < c.k; ++k)
        acc = std::fma(x.as<float>()[t * c.k + k], w.values[n * c.k + k], acc);
      float want = acc + res.as<float>()[t * c.n + n];
      wrong += std::memcmp(&want, &y.as<float>()[t * c.n + n], 4) != 0;
    }
  EXPECT_EQ(wrong, 0) << name << " " << info(c.type).name << " n " << c.n << " k " << c.k << " t " << c.t;
  EXPECT_TRUE(y.slackIsUntouched());
}

static int64_t ceilDiv(int64_t a, int64_t m) { return (a + m - 1) / m; }

TEST(HostProduct, GemvOfEveryStorageType) {
  for (const std::string &level : runnableLevels())
    for (const StorageTypeInfo &type : storageTypes) {
      int64_t k = 3 * 256;
      LoadedKernels kernels(gemvText(type.type, 80, k, 64, 32), level);
      ASSERT_EQ(kernels.error(), "") << level << " " << type.name;
      checkProduct(kernels, "gemv", {type.type, 80, k, 2}, 2 * 2);
    }
}

TEST(HostProduct, GemvOfOddWidths) {
  for (const std::string &level : runnableLevels())
    for (int64_t n : {1, 7, 16, 17, 172, 576}) {
      LoadedKernels kernels(gemvText(StorageType::Q4_1, n, 96, 64, 32), level);
      ASSERT_EQ(kernels.error(), "");
      checkProduct(kernels, "gemv", {StorageType::Q4_1, n, 96, 1}, ceilDiv(n, 64));
    }
}

TEST(HostProduct, GemvOfOtherSteps) {
  for (const std::string &level : runnableLevels())
    for (auto [type, step] : {std::pair{StorageType::Q4_1, 8}, {StorageType::Q8_0, 4}, {StorageType::Q6_K, 16},
                              {StorageType::Q5_0, 1}, {StorageType::Q4_K, 64}, {StorageType::Q5_K, 256}}) {
      LoadedKernels kernels(gemvText(type, 48, 512, 16, step), level);
      ASSERT_EQ(kernels.error(), "");
      checkProduct(kernels, "gemv", {type, 48, 512, 1}, 3);
    }
}

TEST(HostProduct, GemmOfEveryRowCount) {
  for (const std::string &level : runnableLevels()) {
    LoadedKernels kernels(gemmText(StorageType::Q4_1, 80, 96, 12, 32, 8), level);
    ASSERT_EQ(kernels.error(), "");
    for (int64_t t : {0, 1, 2, 11, 12, 13, 25})
      checkProduct(kernels, "gemm", {StorageType::Q4_1, 80, 96, t}, 3);
  }
}

TEST(HostProduct, GemmOfEveryStorageType) {
  for (const std::string &level : runnableLevels())
    for (const StorageTypeInfo &type : storageTypes) {
      LoadedKernels kernels(gemmText(type.type, 40, 512, 4, 16, 32), level);
      ASSERT_EQ(kernels.error(), "");
      checkProduct(kernels, "gemm", {type.type, 40, 512, 5}, 3);
    }
}
