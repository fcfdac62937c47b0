//===- PanelPackTest.cpp - packing keeps every value -------------------------===//
#include "codegen/pack/PanelPack.h"
#include "models/import/Dequantize.h"
#include "runtime/base/Float16.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

using namespace fusec;
using namespace fusec::codegen;

static uint16_t finiteHalf(std::mt19937 &rng) { return static_cast<uint16_t>(rng() & 0xbbff); }

static std::vector<std::byte> randomRows(StorageType type, int64_t rows, int64_t columns, std::mt19937 &rng) {
  std::vector<std::byte> bytes(rows * models::rowBytes(type, columns));
  for (std::byte &b : bytes)
    b = static_cast<std::byte>(rng());
  int64_t block = info(type).blockBytes;
  for (int64_t at = 0; at < static_cast<int64_t>(bytes.size()); at += block) {
    uint16_t d = finiteHalf(rng), m = finiteHalf(rng);
    float plain = static_cast<float>(rng()) / 1e9f;
    if (type == StorageType::F32)
      std::memcpy(&bytes[at], &plain, 4);
    else if (type == StorageType::Q6_K)
      std::memcpy(&bytes[at + 208], &d, 2);
    else
      std::memcpy(&bytes[at], &d, 2);
    if (panelFormat(type).hasMinimum)
      std::memcpy(&bytes[at + 2], &m, 2);
  }
  return bytes;
}

TEST(PanelPack, EveryTypeDecodesBitForBit) {
  std::mt19937 rng(7);
  for (const StorageTypeInfo &type : weightTypes)
    for (int64_t rows : {1, 15, 16, 17, 40}) {
      int64_t columns = 3 * 256;
      std::vector<std::byte> stored = randomRows(type.type, rows, columns, rng);
      std::vector<std::byte> packed(packedBytes(type.type, rows, columns));
      StoredRows part{stored, rows};
      ASSERT_TRUE(packPanels(type.type, {&part, 1}, columns, packed).ok());
      std::vector<float> got(rows * columns), want(rows * columns);
      decodePanels(type.type, packed, rows, columns, got.data());
      for (int64_t r = 0; r < rows; ++r)
        models::dequantizeRow(type.type, stored.data() + r * models::rowBytes(type.type, columns),
                              want.data() + r * columns, columns);
      EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * 4), 0) << type.name << " rows " << rows;
    }
}

TEST(PanelPack, PartsCrossPanels) {
  std::mt19937 rng(8);
  StorageType type = StorageType::Q4_1;
  int64_t columns = 64;
  std::vector<std::byte> all = randomRows(type, 45, columns, rng);
  size_t row = models::rowBytes(type, columns);
  std::vector<std::byte> once(packedBytes(type, 45, columns)), inParts(once.size());
  StoredRows whole{all, 45};
  ASSERT_TRUE(packPanels(type, {&whole, 1}, columns, once).ok());
  std::span<const std::byte> bytes(all);
  StoredRows parts[] = {{bytes.first(7 * row), 7}, {bytes.subspan(7 * row, 0), 0}, {bytes.subspan(7 * row), 38}};
  ASSERT_TRUE(packPanels(type, parts, columns, inParts).ok());
  EXPECT_EQ(once, inParts);
}

TEST(PanelPack, RejectsWrongSizes) {
  std::vector<std::byte> stored(20), packed(packedBytes(StorageType::Q4_1, 1, 32));
  StoredRows part{stored, 1};
  EXPECT_TRUE(packPanels(StorageType::Q4_1, {&part, 1}, 32, packed).ok());
  EXPECT_FALSE(packPanels(StorageType::Q4_1, {&part, 1}, 48, packed).ok());
  EXPECT_FALSE(packPanels(StorageType::Q4_1, {&part, 1}, 64, packed).ok());
  part.rows = 2;
  EXPECT_FALSE(packPanels(StorageType::Q4_1, {&part, 1}, 32, packed).ok());
  part.rows = 1;
  packed.pop_back();
  EXPECT_FALSE(packPanels(StorageType::Q4_1, {&part, 1}, 32, packed).ok());
}
