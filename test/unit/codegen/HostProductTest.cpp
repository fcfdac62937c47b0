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
    for (const StorageTypeInfo &type : weightTypes) {
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
    for (auto [type, step] : {std::pair{StorageType::Q4_1, 8},
                              {StorageType::Q8_0, 4},
                              {StorageType::Q6_K, 16},
                              {StorageType::Q5_0, 1},
                              {StorageType::Q4_K, 64},
                              {StorageType::Q5_K, 256}}) {
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
    for (const StorageTypeInfo &type : weightTypes) {
      LoadedKernels kernels(gemmText(type.type, 40, 512, 4, 16, 32), level);
      ASSERT_EQ(kernels.error(), "");
      checkProduct(kernels, "gemm", {type.type, 40, 512, 5}, 3);
    }
}

/// Two products that share x, as a gated unit has them: y = (x A) * (x B).
static std::string gatedText(int64_t n, int64_t k, int64_t rows, int64_t lanes, int64_t step) {
  auto str = [](int64_t v) { return std::to_string(v); };
  std::string x = "!tile.buffer<[ragged(T), " + str(k) + "], f32>",
              y = "!tile.buffer<[ragged(T), " + str(n) + "], f32>";
  std::string w = "!tile.buffer<[" + str(n) + ", " + str(k) + "], f32, panel, q4_1>";
  std::string acc = "vector<" + str(rows) + "x" + str(lanes) + "xf32>",
              xa = "vector<" + str(rows) + "x" + str(step) + "xf32>";
  std::string wb = "vector<" + str(step) + "x" + str(lanes) + "xf32>";
  auto load = [&](const std::string &name) {
    return "    %w" + name + " = tile.load %" + name + "[%k, %n] map affine_map<(k, n) -> (n, k)> : " + w + " -> " +
           wb + "\n";
  };
  return "tile.kernel @gated grid [#tile.axis<[ragged(T)] by " + str(rows) + ">, #tile.axis<[" + str(n) + "] by " +
         str(lanes) +
         ">] {\n"
         "^bb0(%x: " +
         x + ", %a: " + w + ", %b: " + w + ", %y: " + y +
         "):\n"
         "  %t = tile.origin 0\n  %n = tile.origin 1\n"
         "  %c0 = arith.constant 0 : index\n  %step = arith.constant " +
         str(step) +
         " : index\n"
         "  %end = arith.constant " +
         str(k) +
         " : index\n"
         "  %zero = arith.constant dense<0.0> : " +
         acc +
         "\n"
         "  %p:2 = scf.for %k = %c0 to %end step %step iter_args(%pa = %zero, %pb = %zero) -> (" +
         acc + ", " + acc +
         ") {\n"
         "    %xa = tile.load %x[%t, %k] map affine_map<(t, k) -> (t, k)> : " +
         x + " -> " + xa + "\n" + load("a") + "    %da = tile.dot %xa, %wa, %pa : " + xa + ", " + wb + " -> " + acc +
         "\n" + load("b") + "    %db = tile.dot %xa, %wb, %pb : " + xa + ", " + wb + " -> " + acc +
         "\n"
         "    scf.yield %da, %db : " +
         acc + ", " + acc +
         "\n  }\n"
         "  %o = arith.mulf %p#0, %p#1 : " +
         acc +
         "\n"
         "  tile.store %o, %y[%t, %n] map affine_map<(t, n) -> (t, n)> : " +
         acc + ", " + y +
         "\n"
         "  tile.return\n}\n";
}

TEST(HostProduct, GatedPairsRunTogether) {
  int64_t n = 72, k = 96, T = 7;
  for (const std::string &level : runnableLevels())
    for (auto [rows, lanes] : {std::pair{1, 32}, {4, 32}, {6, 16}, {12, 64}}) {
      LoadedKernels kernels(gatedText(n, k, rows, lanes, 32), level);
      ASSERT_EQ(kernels.error(), "");
      TestWeights a(StorageType::Q4_1, n, k, 1), c(StorageType::Q4_1, n, k, 2);
      GuardedBuffer x(T * k * 4), y(T * n * 4);
      for (int64_t i = 0; i < T * k; ++i)
        x.as<float>()[i] = noise(i);
      kernels.run("gated", {x.as(), a.packed.as(), c.packed.as(), y.as()}, {T, 1, 1, 1, 64},
                  ceilDiv(T, rows) * ceilDiv(n, lanes));
      int64_t wrong = 0;
      for (int64_t t = 0; t < T; ++t)
        for (int64_t j = 0; j < n; ++j) {
          float p = 0, q = 0;
          for (int64_t i = 0; i < k; ++i) {
            p = std::fma(x.as<float>()[t * k + i], a.values[j * k + i], p);
            q = std::fma(x.as<float>()[t * k + i], c.values[j * k + i], q);
          }
          wrong += y.as<float>()[t * n + j] != p * q;
        }
      EXPECT_EQ(wrong, 0) << level << " " << rows << "x" << lanes;
      EXPECT_TRUE(y.slackIsUntouched());
    }
}
