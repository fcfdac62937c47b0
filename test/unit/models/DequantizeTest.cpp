//===- DequantizeTest.cpp - storage types against the gguf package ---------===//
//
// Goldens: test/golden/models/quants.gguf, made by
// tools/scripts/make_import_goldens.py.
//
//===----------------------------------------------------------------------===//

#include "models/import/Dequantize.h"
#include "models/import/Gguf.h"
#include "runtime/base/Float16.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace fusec;
using namespace fusec::models;
using testing::Each;
using testing::HasSubstr;

namespace {

class Quants : public testing::Test {
protected:
  void SetUp() override {
    Result<Gguf> opened = Gguf::open(FUSEC_SOURCE_DIR "/test/golden/models/quants.gguf");
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    file.emplace(std::move(*opened));
  }
  const TensorInfo &tensor(StorageType type, const char *what) {
    const TensorInfo *found = file->findTensor(std::string(info(type).name) + what);
    EXPECT_NE(found, nullptr) << info(type).name << what;
    return *found;
  }
  std::vector<float> floats(StorageType type, const char *what) {
    const TensorInfo &t = tensor(type, what);
    std::vector<float> out(static_cast<size_t>(t.bytes / 4));
    std::memcpy(out.data(), t.data, static_cast<size_t>(t.bytes));
    return out;
  }
  std::optional<Gguf> file;
};

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

TEST_F(Quants, EveryTypeDequantisesBitForBit) {
  for (const StorageTypeInfo &row : weightTypes) {
    const TensorInfo &blocks = tensor(row.type, ".blocks");
    const std::vector<float> expected = floats(row.type, ".values");
    ASSERT_EQ(blocks.type, row.type);
    ASSERT_EQ(blocks.bytes, rowBytes(row.type, static_cast<int64_t>(expected.size())));
    std::vector<float> actual(expected.size());
    dequantizeRow(row.type, blocks.data, actual.data(), static_cast<int64_t>(actual.size()));
    for (size_t i = 0; i < actual.size(); ++i)
      ASSERT_EQ(bits(actual[i]), bits(expected[i]))
          << row.name << " element " << i << ": " << actual[i] << " vs " << expected[i];
  }
}

TEST_F(Quants, UnalignedBlocksAreFine) {
  const TensorInfo &blocks = tensor(StorageType::Q5_0, ".blocks");
  std::vector<std::byte> shifted(static_cast<size_t>(blocks.bytes) + 1);
  std::memcpy(shifted.data() + 1, blocks.data, static_cast<size_t>(blocks.bytes));
  std::vector<float> a(448), b(448);
  dequantizeRow(StorageType::Q5_0, blocks.data, a.data(), 448);
  dequantizeRow(StorageType::Q5_0, shifted.data() + 1, b.data(), 448);
  EXPECT_EQ(a, b);
}

TEST_F(Quants, QuantisesByteForByte) {
  for (StorageType type :
       {StorageType::F16, StorageType::BF16, StorageType::Q8_0, StorageType::Q4_0, StorageType::Q4_1}) {
    const std::vector<float> input = floats(type, ".input");
    const TensorInfo &expected = tensor(type, ".encoded");
    std::vector<std::byte> actual(static_cast<size_t>(expected.bytes));
    ASSERT_TRUE(quantizeRow(type, input.data(), actual.data(), static_cast<int64_t>(input.size())).ok());
    for (size_t i = 0; i < actual.size(); ++i)
      ASSERT_EQ(actual[i], expected.data[i]) << info(type).name << " byte " << i;
  }
}

/// Quantises one block and reads it back.
Status roundTrip(StorageType type, std::vector<float> &row) {
  std::vector<std::byte> blocks(static_cast<size_t>(rowBytes(type, static_cast<int64_t>(row.size()))));
  Status status = quantizeRow(type, row.data(), blocks.data(), static_cast<int64_t>(row.size()));
  if (status.ok())
    dequantizeRow(type, blocks.data(), row.data(), static_cast<int64_t>(row.size()));
  return status;
}

constexpr StorageType blockTypes[] = {StorageType::Q8_0, StorageType::Q4_0, StorageType::Q4_1};

TEST(Quantize, TinyMaximaBecomeZeros) {
  for (StorageType type : blockTypes)
    for (float tiny : {0.0f, 1e-45f, 1e-40f, 1.2e-38f, 1e-12f}) {
      std::vector<float> row(32);
      for (size_t i = 0; i < 32; ++i)
        row[i] = i % 3 ? tiny : -tiny;
      ASSERT_TRUE(roundTrip(type, row).ok());
      EXPECT_THAT(row, Each(0.0f)) << info(type).name << " " << tiny;
    }
}

TEST(Quantize, TinyAndLargeTogether) {
  for (StorageType type : blockTypes) {
    std::vector<float> row(32, 1e-40f);
    row[5] = 1.0f;
    ASSERT_TRUE(roundTrip(type, row).ok());
    EXPECT_NEAR(row[5], 1.0f, 1e-2f);
    EXPECT_NEAR(row[6], 0.0f, 1e-6f);
    for (float value : row)
      EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Quantize, RefusesWhatCannotBeStored) {
  std::byte blocks[256];
  for (StorageType type : {StorageType::F32, StorageType::F16, StorageType::BF16, StorageType::Q8_0, StorageType::Q4_0,
                           StorageType::Q4_1}) {
    std::vector<float> row(32, 1.0f);
    row[3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(quantizeRow(type, row.data(), blocks, 32).message(), "element 3 is NaN");
    row[3] = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(quantizeRow(type, row.data(), blocks, 32).message(), "element 3 is infinite");
    row[3] = std::numeric_limits<float>::max();
    row[4] = -row[3];
    EXPECT_EQ(quantizeRow(type, row.data(), blocks, 32).ok(), type == StorageType::F32) << info(type).name;
  }
  std::vector<float> row(64, 1.0f);
  EXPECT_THAT(quantizeRow(StorageType::Q8_0, row.data(), blocks, 43).message(), HasSubstr("multiple of 32, found 43"));
  EXPECT_EQ(quantizeRow(StorageType::Q6_K, row.data(), blocks, 64).code(), ErrorCode::Unsupported);
  EXPECT_FALSE(canQuantize(StorageType::Q4_K));
}

// The compiler's own conversions are the oracle for all halves and for floats
// around every rounding border.
TEST(Float16, HalfToFloatIsExact) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const uint16_t half = static_cast<uint16_t>(i);
    const float expected = static_cast<float>(std::bit_cast<_Float16>(half)), actual = halfToFloat(half);
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(actual)) << i;
    else
      ASSERT_EQ(bits(actual), bits(expected)) << i;
  }
}

void expectHalf(float value) {
  const uint16_t expected = std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  ASSERT_EQ(floatToHalf(value), expected) << value;
}

TEST(Float16, FloatToHalfRoundsToEven) {
  for (uint32_t i = 0; i < 0x7c00; ++i) {
    // Each half, the midpoint to the next one and the floats beside both.
    const float at = halfToFloat(static_cast<uint16_t>(i));
    const float next = i == 0x7bff ? 65536.0f : halfToFloat(static_cast<uint16_t>(i + 1));
    for (float base : {at, (at + next) / 2})
      for (float value : {base, std::nextafter(base, -INFINITY), std::nextafter(base, INFINITY)}) {
        expectHalf(value);
        expectHalf(-value);
      }
  }
  for (float value : {65519.99f, 65520.0f, 1e30f, INFINITY, 1e-45f, 1e-30f})
    expectHalf(value);
  for (uint32_t nan : {0x7f800001u, 0x7fc00000u, 0xffffffffu})
    EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(std::bit_cast<float>(nan))))) << nan;
}

TEST(Float16, Bfloat) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const uint16_t bfloat = static_cast<uint16_t>(i);
    const float value = bfloatToFloat(bfloat);
    ASSERT_EQ(bits(value), i << 16);
    if (!std::isnan(value))
      ASSERT_EQ(floatToBfloat(value), bfloat);
    else
      ASSERT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(value))));
  }
  EXPECT_EQ(floatToBfloat(std::bit_cast<float>(0x3f808000u)), 0x3f80); // tie to even, down
  EXPECT_EQ(floatToBfloat(std::bit_cast<float>(0x3f818000u)), 0x3f82); // tie to even, up
  EXPECT_EQ(floatToBfloat(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(floatToBfloat(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(bfloatToFloat(floatToBfloat(std::bit_cast<float>(0x7f800001u)))));
}

} // namespace
