//===- HostRowTest.cpp - row kernels, math, gathers and edges ----------------===//
#include "test/unit/codegen/KernelHarness.h"

#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace fusec;
using namespace fusec::codegen;

static std::string str(int64_t v) { return std::to_string(v); }

static void fillNoise(GuardedBuffer &b, uint64_t seed) {
  for (int64_t i = 0; i < b.size() / 4; ++i)
    b.as<float>()[i] = noise(seed * 10007 + i);
}

/// Distance in units in the last place; subnormals count like other numbers.
static int64_t ulps(float a, float c) {
  auto order = [](float v) {
    int32_t i;
    std::memcpy(&i, &v, 4);
    return i < 0 ? int64_t(INT32_MIN) - i : int64_t(i);
  };
  if (std::isnan(a) || std::isnan(c))
    return std::isnan(a) && std::isnan(c) ? 0 : INT64_MAX;
  return std::abs(order(a) - order(c));
}

/// y[i] = op(x[i]) for one row of `n`, `lanes` at a time.
static std::string mapText(const std::string &body, int64_t n, int64_t lanes) {
  std::string b = "!tile.buffer<[" + str(n) + "], f32>", v = "vector<" + str(lanes) + "xf32>";
  return "tile.kernel @map grid [#tile.axis<[" + str(n) + "] by " + str(lanes) + ">] {\n^bb0(%in: " + b +
         ", %out: " + b + "):\n  %i = tile.origin 0\n  %x = tile.load %in[%i] map affine_map<(i) -> (i)> : " + b +
         " -> " + v + "\n" + body + "\n  tile.store %y, %out[%i] map affine_map<(i) -> (i)> : " + v + ", " + b +
         "\n  tile.return\n}\n";
}

TEST(HostRow, ExpWithinTwoUlps) {
  int64_t n = 1 << 18;
  for (const std::string &level : runnableLevels()) {
    LoadedKernels kernels(mapText("%y = math.exp %x : vector<64xf32>", n, 64), level);
    ASSERT_EQ(kernels.error(), "");
    GuardedBuffer x(n * 4), y(n * 4);
    for (int64_t i = 0; i < n; ++i)
      x.as<float>()[i] = -110.0f + 210.0f * static_cast<float>(i) / static_cast<float>(n);
    float special[] = {0.0f,      -0.0f,    INFINITY, -INFINITY, NAN,     88.722839f, 88.7229f,
                       -87.3365f, -103.97f, -104.1f,  1e-30f,    -1e-42f, 3e38f,      -3e38f};
    std::memcpy(x.as(), special, sizeof special);
    kernels.run("map", {x.as(), y.as()}, {1, 1, 1, 1, 64}, n / 64);
    int64_t worst = 0;
    for (int64_t i = 0; i < n; ++i) {
      int64_t d = ulps(y.as<float>()[i], static_cast<float>(std::exp(static_cast<double>(x.as<float>()[i]))));
      EXPECT_LE(d, 2) << x.as<float>()[i] << " -> " << y.as<float>()[i];
      worst = std::max(worst, d);
    }
    RecordProperty("worst_ulps_" + level, static_cast<int>(worst));
    EXPECT_EQ(y.as<float>()[3], 0.0f);
  }
}

TEST(HostRow, MathOfTheCLibrary) {
  struct Case {
    const char *op;
    double (*want)(double);
  } cases[] = {{"tanh", std::tanh}, {"sin", std::sin}, {"cos", std::cos}, {"erf", std::erf}, {"absf", std::fabs}};
  for (const std::string &level : runnableLevels())
    for (const Case &c : cases) {
      int64_t n = 100;
      LoadedKernels kernels(mapText("%y = math." + std::string(c.op) + " %x : vector<16xf32>", n, 16), level);
      ASSERT_EQ(kernels.error(), "");
      GuardedBuffer x(n * 4), y(n * 4);
      for (int64_t i = 0; i < n; ++i)
        x.as<float>()[i] = noise(i) * (i % 2 ? 12.0f : 0.3f);
      kernels.run("map", {x.as(), y.as()}, {1, 1, 1, 1, 64}, 7);
      for (int64_t i = 0; i < n; ++i)
        EXPECT_LE(ulps(y.as<float>()[i], static_cast<float>(c.want(x.as<float>()[i]))), 2) << c.op;
      EXPECT_TRUE(y.slackIsUntouched());
    }
}

TEST(HostRow, DoubleAnglesAndConversions) {
  std::string body = R"(
    %i32 = tile.index %i dim 0 : vector<32xi32>
    %f = arith.sitofp %i32 : vector<32xi32> to vector<32xf64>
    %xd = arith.extf %x : vector<32xf32> to vector<32xf64>
    %a = arith.mulf %f, %xd : vector<32xf64>
    %c = math.cos %a : vector<32xf64>
    %y = arith.truncf %c : vector<32xf64> to vector<32xf32>)";
  for (const std::string &level : runnableLevels()) {
    int64_t n = 77;
    LoadedKernels kernels(mapText(body, n, 32), level);
    ASSERT_EQ(kernels.error(), "");
    GuardedBuffer x(n * 4), y(n * 4);
    fillNoise(x, 9);
    kernels.run("map", {x.as(), y.as()}, {1, 1, 1, 1, 64}, 3);
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(y.as<float>()[i], static_cast<float>(std::cos(static_cast<double>(i) * x.as<float>()[i])));
    EXPECT_TRUE(y.slackIsUntouched());
  }
}

TEST(HostRow, TailsOfEveryWidth) {
  for (const std::string &level : runnableLevels())
    for (int64_t lanes : {1, 2, 7, 8, 16, 17, 32, 64})
      for (int64_t n : {1, 7, 16, 17, 172, 576}) {
        std::string v = "vector<" + str(lanes) + "xf32>";
        LoadedKernels kernels(mapText("%y = arith.addf %x, %x : " + v, n, lanes), level);
        ASSERT_EQ(kernels.error(), "");
        GuardedBuffer x(n * 4), y(n * 4);
        fillNoise(x, n);
        kernels.run("map", {x.as(), y.as()}, {1, 1, 1, 1, 64}, (n + lanes - 1) / lanes);
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(y.as<float>()[i], 2 * x.as<float>()[i]) << lanes << " of " << n;
        EXPECT_TRUE(y.slackIsUntouched()) << lanes << " of " << n;
      }
}

/// RMS norm with the mean of squares in 64 partial sums and a fixed tree.
static const char *normText = R"(
tile.kernel @norm grid [#tile.axis<[ragged(T)] by 1>] {
^bb0(%x: !tile.buffer<[ragged(T), 576], f32>, %w: !tile.buffer<[576], f32>, %y: !tile.buffer<[ragged(T), 576], f32>):
  %t = tile.origin 0
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c576 = arith.constant 576 : index
  %zero = arith.constant dense<0.0> : vector<64xf32>
  %partial = scf.for %i = %c0 to %c576 step %c64 iter_args(%a = %zero) -> (vector<64xf32>) {
    %v = tile.load %x[%t, %i] map affine_map<(t, i) -> (t, i)> : !tile.buffer<[ragged(T), 576], f32> -> vector<64xf32>
    %sq = arith.mulf %v, %v : vector<64xf32>
    %s = arith.addf %a, %sq : vector<64xf32>
    scf.yield %s : vector<64xf32>
  }
  %sum = tile.reduce %partial : vector<64xf32> -> f32 combine {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    tile.yield %r : f32
  }
  %n = arith.constant 576.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %mean = arith.divf %sum, %n : f32
  %shifted = arith.addf %mean, %eps : f32
  %scale = math.rsqrt %shifted : f32
  %sv = vector.broadcast %scale : f32 to vector<64xf32>
  scf.for %i = %c0 to %c576 step %c64 {
    %v = tile.load %x[%t, %i] map affine_map<(t, i) -> (t, i)> : !tile.buffer<[ragged(T), 576], f32> -> vector<64xf32>
    %g = tile.load %w[%i] map affine_map<(i) -> (i)> : !tile.buffer<[576], f32> -> vector<64xf32>
    %p = arith.mulf %v, %sv : vector<64xf32>
    %q = arith.mulf %p, %g : vector<64xf32>
    tile.store %q, %y[%t, %i] map affine_map<(t, i) -> (t, i)> : vector<64xf32>, !tile.buffer<[ragged(T), 576], f32>
  }
  tile.return
})";

TEST(HostRow, NormReducesByTheFixedTree) {
  for (const std::string &level : runnableLevels()) {
    LoadedKernels kernels(normText, level);
    ASSERT_EQ(kernels.error(), "");
    int64_t T = 3;
    GuardedBuffer x(T * 576 * 4), w(576 * 4), y(T * 576 * 4);
    fillNoise(x, 1);
    fillNoise(w, 2);
    kernels.run("norm", {x.as(), w.as(), y.as()}, {T, 1, 1, 1, 64}, T);
    for (int64_t t = 0; t < T; ++t) {
      const float *row = x.as<float>() + t * 576;
      float lanes[64] = {};
      for (int64_t i = 0; i < 576; ++i) {
        volatile float square = row[i] * row[i]; // keeps the two roundings
        lanes[i % 64] += square;
      }
      for (int n = 32; n >= 1; n /= 2)
        for (int i = 0; i < n; ++i)
          lanes[i] += lanes[i + n];
      float scale = 1.0f / std::sqrt(lanes[0] / 576.0f + 1e-5f);
      for (int64_t i = 0; i < 576; ++i) {
        volatile float scaled = row[i] * scale;
        ASSERT_EQ(y.as<float>()[t * 576 + i], scaled * w.as<float>()[i]) << level;
      }
    }
  }
}

/// Largest value and its index over a row: two carriers folded together.
static const char *argmaxText = R"(
tile.kernel @argmax grid [#tile.axis<[ragged(T)] by 1>] {
^bb0(%x: !tile.buffer<[ragged(T), 32], f32>, %y: !tile.buffer<[ragged(T)], i32>):
  %t = tile.origin 0
  %c0 = arith.constant 0 : index
  %v = tile.load %x[%t, %c0] map affine_map<(t, i) -> (t, i)> : !tile.buffer<[ragged(T), 32], f32> -> vector<32xf32>
  %i = tile.index %c0 dim 0 : vector<32xi32>
  %best, %at = tile.reduce %v, %i : vector<32xf32>, vector<32xi32> -> f32, i32 combine {
  ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
    %g = arith.cmpf oge, %a, %b : f32
    %m = arith.select %g, %a, %b : f32
    %mi = arith.select %g, %ai, %bi : i32
    tile.yield %m, %mi : f32, i32
  }
  tile.store %at, %y[%t] map affine_map<(t) -> (t)> : i32, !tile.buffer<[ragged(T)], i32>
  tile.return
})";

TEST(HostRow, ReduceOfTwoCarriers) {
  for (const std::string &level : runnableLevels()) {
    LoadedKernels kernels(argmaxText, level);
    ASSERT_EQ(kernels.error(), "");
    int64_t T = 9;
    GuardedBuffer x(T * 32 * 4), y(T * 4);
    fillNoise(x, 12);
    kernels.run("argmax", {x.as(), y.as()}, {T, 1, 1, 1, 64}, T);
    for (int64_t t = 0; t < T; ++t)
      EXPECT_EQ(y.as<int32_t>()[t],
                std::max_element(x.as<float>() + t * 32, x.as<float>() + t * 32 + 32) - (x.as<float>() + t * 32));
    EXPECT_TRUE(y.slackIsUntouched());
  }
}

/// Rows of a packed matrix by token id.
static std::string gatherText(StorageType type, int64_t rows, int64_t k, int64_t lanes) {
  std::string w = "!tile.buffer<[" + str(rows) + ", " + str(k) + "], f32, panel, " + std::string(info(type).name) + ">";
  std::string y = "!tile.buffer<[ragged(T), " + str(k) + "], f32>", v = "vector<" + str(lanes) + "xf32>";
  return "tile.kernel @gather grid [#tile.axis<[ragged(T)] by 1>] {\n^bb0(%ids: !tile.buffer<[ragged(T)], i32>, %w: " +
         w + ", %y: " + y + "):\n  %t = tile.origin 0\n  %c0 = arith.constant 0 : index\n  %s = arith.constant " +
         str(lanes) + " : index\n  %e = arith.constant " + str(k) +
         " : index\n"
         "  %id = tile.load %ids[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32\n"
         "  %r = arith.index_cast %id : i32 to index\n"
         "  scf.for %k = %c0 to %e step %s {\n"
         "    %v = tile.load %w[%r, %k] map affine_map<(r, k) -> (r, k)> : " +
         w + " -> " + v +
         "\n"
         "    tile.store %v, %y[%t, %k] map affine_map<(t, k) -> (t, k)> : " +
         v + ", " + y +
         "\n  }\n"
         "  tile.return\n}\n";
}

TEST(HostRow, GatherRowsOfEveryStorageType) {
  for (const std::string &level : runnableLevels())
    for (const StorageTypeInfo &type : weightTypes)
      for (int64_t lanes : {32, 8}) {
        int64_t rows = 37, k = 512, T = 6;
        LoadedKernels kernels(gatherText(type.type, rows, k, lanes), level);
        ASSERT_EQ(kernels.error(), "");
        TestWeights w(type.type, rows, k, 3);
        GuardedBuffer ids(T * 4), y(T * k * 4);
        int32_t wanted[] = {36, 0, 15, 16, -1, 2000000000}; // the last two are out of range: no fault
        std::memcpy(ids.as(), wanted, sizeof wanted);
        kernels.run("gather", {ids.as(), w.packed.as(), y.as()}, {T, 1, 1, 1, 64}, T);
        int64_t wrong = 0;
        for (int64_t t = 0; t < 4; ++t)
          for (int64_t i = 0; i < k; ++i)
            wrong += std::memcmp(&y.as<float>()[t * k + i], &w.values[wanted[t] * k + i], 4) != 0;
        EXPECT_EQ(wrong, 0) << type.name << " " << lanes;
        EXPECT_TRUE(y.slackIsUntouched());
      }
}

TEST(HostRow, SameInputSameLibrary) {
  for (const std::string &level : runnableLevels()) {
    LoadedKernels kernels(normText, level);
    LoadedKernels again(normText, level);
    ASSERT_EQ(kernels.error(), "");
    EXPECT_EQ(kernels.libraryBytes(), again.libraryBytes());
    EXPECT_FALSE(kernels.libraryBytes().empty());
  }
}

TEST(HostRow, RefusesWithTheOpsName) {
  for (const std::string &level : runnableLevels()) {
    LoadedKernels kernels(mapText("%y = math.cbrt %x : vector<16xf32>", 16, 16), level);
    EXPECT_NE(kernels.error().find("math.cbrt"), std::string::npos) << kernels.error();
  }
  LoadedKernels unknown(normText, "sse9");
  EXPECT_NE(unknown.error().find("sse9"), std::string::npos);
}
