//===- WeightProductTest.cpp - products of every format on tensor cores ---------===//
#include "codegen/pack/PanelPack.h"
#include "runtime/base/Float16.h"
#include "test/unit/cuda/mma/MmaHarness.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

using namespace fusec;
using namespace fusec::test;

namespace {

/// W[rows, columns] as a kernel gets it, and what it means.
struct StoredWeight {
  std::vector<uint8_t> bytes;
  std::vector<float> values;
};

/// Panels of random codes with scales around 2^-6, so that sums stay small.
StoredWeight randomPanels(StorageType type, int64_t rows, int64_t columns, uint32_t seed) {
  const PanelFormat &f = panelFormat(type);
  const PanelOffsets at = panelOffsets(f);
  StoredWeight w{std::vector<uint8_t>(packedBytes(type, rows, columns)), std::vector<float>(rows * columns)};
  std::mt19937 rng(seed);
  for (uint8_t &b : w.bytes)
    b = static_cast<uint8_t>(rng() >> 24);
  auto half = [&](uint8_t *p) {
    uint16_t bits = floatToHalf(std::ldexp(static_cast<float>(rng() >> 8), -30) * (rng() & 0x100 ? 1.0f : -1.0f));
    std::memcpy(p, &bits, 2);
  };
  for (size_t super = 0; super < w.bytes.size(); super += at.superBytes)
    for (int lane = 0; lane < panelRows; ++lane) {
      half(&w.bytes[super + at.scale + 2 * lane]);
      if (f.hasMinimum)
        half(&w.bytes[super + at.minimum + 2 * lane]);
    }
  codegen::decodePanels(type, std::as_bytes(std::span<const uint8_t>(w.bytes)), rows, columns, w.values.data());
  return w;
}

StoredWeight randomRows(StorageType type, int64_t rows, int64_t columns, uint32_t seed) {
  StoredWeight w;
  w.values = randomFloats(rows * columns, seed);
  for (float &v : w.values) {
    uint16_t bits = type == StorageType::F16 ? floatToHalf(v) : floatToBfloat(v);
    if (type == StorageType::F16)
      v = halfToFloat(bits);
    else if (type == StorageType::BF16)
      v = bfloatToFloat(bits);
    const auto *p = type == StorageType::F32 ? reinterpret_cast<uint8_t *>(&v) : reinterpret_cast<uint8_t *>(&bits);
    w.bytes.insert(w.bytes.end(), p, p + (type == StorageType::F32 ? 4 : 2));
  }
  return w;
}

struct Case {
  std::string weight; ///< The C++ type, but for operand and columns.
  StorageType type;
  OperandType operand;
  int64_t columns, slice;
};

constexpr int64_t rows = 100, tokens = 65;

std::vector<std::string> definitions(const Case &c) {
  return {"-DWEIGHT=" + c.weight + "," + name(c.operand) + "," + std::to_string(c.columns) + ">",
          std::string("-DOPERAND=") + name(c.operand),
          "-DCOLUMNS=" + std::to_string(c.columns),
          "-DSLICE=" + std::to_string(c.slice),
          "-DSPREAD_TOKENS=8",
          "-DSPREAD_ROWS=32"};
}

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Form {
  const char *kernel;
  int64_t tileTokens, tileRows;
  int threads;
  int64_t shared;
};
const Form spread = {"spread", 8, 32, 256, 8 * 8 * 36 * 4};
const Form tiled = {"tiled", 32, 128, 256, 32 * 256};
const Form tiledPair = {"tiledPair", 64, 64, 128, 64 * 256};
const Form warpgroup = {"warpgroup", 64, 128, 384, 4 * 8192 + 64};

class Product {
public:
  Product(const codegen::Nvrtc &nvrtc, const std::string &target, const Case &c)
      : c(c), program(nvrtc, target, "weight_product.cu", definitions(c)) {
    bool isPanel = panelFormat(c.type).bits != 0;
    weight = isPanel ? randomPanels(c.type, rows, c.columns, 5) : randomRows(c.type, rows, c.columns, 5);
    x = randomFloats(tokens * c.columns, 6);
    w = program.put(weight.bytes);
  }

  /// The first `count` tokens by one form.
  std::vector<float> run(const Form &form, int64_t count) {
    const uint64_t y = program.outputs(count * rows);
    const std::vector<int64_t> sizes = {count, rows};
    const std::span<const float> some = std::span(x).first(count * c.columns);
    const int64_t grid = ceilDiv(count, form.tileTokens) * ceilDiv(rows, form.tileRows);
    Status status = program.launch(form.kernel, {.grid = grid + 1, .threads = form.threads, .shared = form.shared},
                                   {w, program.put(some), y, program.put(sizes)});
    EXPECT_TRUE(status.ok()) << form.kernel << ": " << status.message();
    return program.floats(y, count * rows);
  }

  /// Sums of n exact products in f32, in any order: the error is at most n u times the sum of magnitudes, u = 2^-24 for
  /// rounding; tensor cores may truncate, which doubles it.
  void expectNear(const std::vector<float> &found, int64_t count) {
    for (int64_t t = 0; t < count; ++t)
      for (int64_t n = 0; n < rows; ++n) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < c.columns; ++k) {
          const double p = static_cast<double>(operandValue(c.operand, weight.values[n * c.columns + k])) *
                           operandValue(c.operand, x[t * c.columns + k]);
          sum += p;
          magnitude += std::fabs(p);
        }
        const double bound = static_cast<double>(c.columns) * std::ldexp(magnitude, -23);
        ASSERT_NEAR(found[t * rows + n], sum, bound) << "token " << t << " row " << n;
      }
  }

private:
  Case c;
  MmaProgram program;
  StoredWeight weight;
  std::vector<float> x;
  uint64_t w = 0;
};

void expectEqual(const std::vector<float> &found, const std::vector<float> &expected, const char *what) {
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
        << what << ": token " << i / rows << " row " << i % rows << ", " << found[i] << " for " << expected[i];
}

/// Every form and number of tokens gives the bits of the first.
void expectAllForms(const codegen::Nvrtc &nvrtc, const std::string &target, const Case &c,
                    std::span<const Form *const> forms) {
  SCOPED_TRACE(c.weight + " as " + name(c.operand));
  Product product(nvrtc, target, c);
  if (testing::Test::HasFailure())
    return;
  const std::vector<float> reference = product.run(spread, tokens);
  product.expectNear(reference, tokens);
  for (int64_t count : {1, 7, 8, 9})
    expectEqual(product.run(spread, count), reference, "spread");
  for (const Form *form : forms)
    for (int64_t count : {int64_t(9), tokens})
      expectEqual(product.run(*form, count), reference, form->kernel);
}

constexpr const Form *sm80Forms[] = {&tiled, &tiledPair};

TEST(WeightProduct, EveryPackedFormatInEveryForm) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const Case cases[] = {
      {"PanelWeight<Q4_0", StorageType::Q4_0, OperandType::Bfloat, 544, 128},
      {"PanelWeight<Q4_1", StorageType::Q4_1, OperandType::Half, 544, 128},
      {"PanelWeight<Q5_0", StorageType::Q5_0, OperandType::Bfloat, 96, 64},
      {"PanelWeight<Q5_1", StorageType::Q5_1, OperandType::Bfloat, 96, 32},
      {"PanelWeight<Q8_0", StorageType::Q8_0, OperandType::Half, 96, 64},
      {"PanelWeight<Q4_K", StorageType::Q4_K, OperandType::Bfloat, 512, 192},
      {"PanelWeight<Q5_K", StorageType::Q5_K, OperandType::Half, 256, 64},
      {"PanelWeight<Q6_K", StorageType::Q6_K, OperandType::Bfloat, 256, 64},
  };
  for (const Case &c : cases)
    expectAllForms(*nvrtc, "sm_80", c, sm80Forms);
}

TEST(WeightProduct, RowsOfPlainTypes) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const Case cases[] = {
      {"RowWeight<Bfloat", StorageType::BF16, OperandType::Bfloat, 160, 64},
      {"RowWeight<Half", StorageType::F16, OperandType::Bfloat, 160, 64},
      {"RowWeight<float", StorageType::F32, OperandType::Half, 160, 64},
  };
  for (const Case &c : cases)
    expectAllForms(*nvrtc, "sm_80", c, sm80Forms);
}

TEST(WeightProduct, WarpgroupsGiveTheSameBits) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const Form *const forms[] = {&tiled, &warpgroup};
  const Case cases[] = {
      {"PanelWeight<Q4_1", StorageType::Q4_1, OperandType::Bfloat, 544, 128},
      {"RowWeight<Half", StorageType::F16, OperandType::Half, 160, 64},
      {"RowWeight<Half", StorageType::F16, OperandType::Half, 160, 128},
      {"RowWeight<Half", StorageType::F16, OperandType::Half, 128, 128},
      {"RowWeight<Bfloat", StorageType::BF16, OperandType::Bfloat, 160, 64},
      {"PanelWeight<Q4_1", StorageType::Q4_1, OperandType::Half, 160, 64},
  };
  for (const Case &c : cases)
    expectAllForms(*nvrtc, "sm_90a", c, forms);
}

} // namespace
