//===- PanelPack.cpp - stored matrices to panels of 16 rows -----------------===//
#include "codegen/pack/PanelPack.h"

#include "codegen/pack/BlockReader.h"
#include "runtime/base/Float16.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace fusec::codegen {
namespace {

int64_t storedRowBytes(StorageType type, int64_t columns) {
  return columns / info(type).blockElements * info(type).blockBytes;
}

/// Where one row lives inside the packed matrix.
struct PackedRow {
  uint8_t *panel; ///< First byte of its panel.
  int lane;
};

uint32_t loadWord(const uint8_t *p) {
  uint32_t v;
  std::memcpy(&v, p, 4);
  return v;
}

void orWord(uint8_t *p, uint32_t bits) {
  uint32_t v = loadWord(p) | bits;
  std::memcpy(p, &v, 4);
}

void storeHalf(uint8_t *section, int lane, uint16_t value) { std::memcpy(section + 2 * lane, &value, 2); }

/// Bits of one k in the low and high plane of its chunk.
struct CodePlace {
  int64_t low, high; ///< Bytes from the chunk's start, lane 0.
  int lowShift, highShift;
};

CodePlace placeOf(const PanelFormat &f, const PanelOffsets &at, int64_t k) {
  int lowBits = f.bits >= 8 ? 8 : 4, highBits = f.bits - lowBits;
  int64_t perLow = 32 / lowBits, perHigh = highBits > 0 ? 32 / highBits : 32;
  return {k / perLow * 4 * panelRows, at.lowBytes + k / perHigh * 4 * panelRows, static_cast<int>(k % perLow) * lowBits,
          static_cast<int>(k % perHigh) * highBits};
}

void packSuperBlock(const PanelFormat &f, const PanelOffsets &at, const BlockFields &block, uint8_t *super, int lane) {
  storeHalf(super + at.scale, lane, block.scale);
  if (f.hasMinimum)
    storeHalf(super + at.minimum, lane, block.minimum);
  for (int64_t g = 0; f.hasSubscales && g < f.superElements / f.group; ++g) {
    super[at.subscale + g * panelRows + lane] = block.subscales[g];
    if (f.hasMinimum)
      super[at.submin + g * panelRows + lane] = block.submins[g];
  }
  int lowBits = f.bits >= 8 ? 8 : 4;
  for (int64_t k = 0; k < f.superElements; ++k) {
    uint8_t *chunk = super + at.codes + k / codeChunk * at.chunkBytes + 4 * lane;
    CodePlace place = placeOf(f, at, k % codeChunk);
    uint32_t code = block.codes[k];
    orWord(chunk + place.low, (code & ((1u << lowBits) - 1)) << place.lowShift);
    if (f.bits > lowBits)
      orWord(chunk + place.high, code >> lowBits << place.highShift);
  }
}

void packRow(const PanelFormat &f, const uint8_t *stored, int64_t columns, PackedRow row) {
  const StorageTypeInfo &type = info(f.type);
  PanelOffsets at = panelOffsets(f);
  if (f.bits == 0) {
    for (int64_t k = 0; k < columns; ++k)
      std::memcpy(row.panel + k * at.superBytes + row.lane * type.blockBytes, stored + k * type.blockBytes,
                  type.blockBytes);
    return;
  }
  for (int64_t s = 0; s < columns / f.superElements; ++s) {
    BlockFields fields;
    readBlock(f.type, stored + s * type.blockBytes, fields);
    packSuperBlock(f, at, fields, row.panel + s * at.superBytes, row.lane);
  }
}

float plainValue(StorageType type, const uint8_t *p) {
  uint16_t half;
  std::memcpy(&half, p, 2);
  if (type == StorageType::F16)
    return halfToFloat(half);
  if (type == StorageType::BF16)
    return bfloatToFloat(half);
  float value;
  std::memcpy(&value, p, 4);
  return value;
}

float halfAt(const uint8_t *section, int lane) {
  uint16_t bits;
  std::memcpy(&bits, section + 2 * lane, 2);
  return halfToFloat(bits);
}

float decodeElement(const PanelFormat &f, const PanelOffsets &at, const uint8_t *super, int64_t k, int lane) {
  if (f.bits == 0)
    return plainValue(f.type, super + lane * info(f.type).blockBytes);
  int lowBits = f.bits >= 8 ? 8 : 4;
  CodePlace place = placeOf(f, at, k % codeChunk);
  const uint8_t *chunk = super + at.codes + k / codeChunk * at.chunkBytes + 4 * lane;
  uint32_t code = loadWord(chunk + place.low) >> place.lowShift & ((1u << lowBits) - 1);
  if (f.bits > lowBits)
    code |= (loadWord(chunk + place.high) >> place.highShift & ((1u << (f.bits - lowBits)) - 1)) << lowBits;
  int value = f.isSigned ? static_cast<int8_t>(code) : static_cast<int>(code);
  float scale = halfAt(super + at.scale, lane), minimum = f.hasMinimum ? halfAt(super + at.minimum, lane) : 0;
  if (f.hasSubscales) {
    int64_t slot = k / f.group * panelRows + lane;
    uint8_t sub = super[at.subscale + slot];
    scale *= f.hasMinimum ? static_cast<float>(sub) : static_cast<float>(static_cast<int8_t>(sub));
    if (f.hasMinimum)
      minimum = -(minimum * static_cast<float>(super[at.submin + slot]));
  }
  if (f.hasMinimum)
    return std::fma(scale, static_cast<float>(value), minimum);
  return scale * static_cast<float>(value - f.offset);
}

} // namespace

Status packPanels(StorageType type, std::span<const StoredRows> parts, int64_t columns, std::span<std::byte> out) {
  const PanelFormat &f = panelFormat(type);
  std::string name(info(type).name);
  if (columns <= 0 || columns % f.superElements != 0)
    return invalidArgument("packing " + name + ": " + std::to_string(columns) + " columns, expected a multiple of " +
                           std::to_string(f.superElements));
  int64_t rowBytes = storedRowBytes(type, columns), total = 0;
  for (const StoredRows &part : parts) {
    if (part.rows < 0 || static_cast<int64_t>(part.bytes.size()) / rowBytes < part.rows)
      return invalidArgument("packing " + name + ": " + std::to_string(part.bytes.size()) + " bytes for " +
                             std::to_string(part.rows) + " rows of " + std::to_string(rowBytes));
    total += part.rows;
  }
  if (static_cast<int64_t>(out.size()) != packedBytes(type, total, columns))
    return invalidArgument("packing " + name + ": output of " + std::to_string(out.size()) + " bytes, expected " +
                           std::to_string(packedBytes(type, total, columns)));
  std::memset(out.data(), 0, out.size());
  int64_t panelBytes = columns / f.superElements * panelOffsets(f).superBytes, row = 0;
  for (const StoredRows &part : parts)
    for (int64_t r = 0; r < part.rows; ++r, ++row) {
      auto *panel = reinterpret_cast<uint8_t *>(out.data()) + row / panelRows * panelBytes;
      packRow(f, reinterpret_cast<const uint8_t *>(part.bytes.data()) + r * rowBytes, columns,
              {panel, static_cast<int>(row % panelRows)});
    }
  return Status();
}

void decodePanels(StorageType type, std::span<const std::byte> packed, int64_t rows, int64_t columns, float *out) {
  const PanelFormat &f = panelFormat(type);
  PanelOffsets at = panelOffsets(f);
  int64_t panelBytes = columns / f.superElements * at.superBytes;
  const auto *bytes = reinterpret_cast<const uint8_t *>(packed.data());
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t k = 0; k < columns; ++k) {
      const uint8_t *super = bytes + n / panelRows * panelBytes + k / f.superElements * at.superBytes;
      out[n * columns + k] = decodeElement(f, at, super, k % f.superElements, static_cast<int>(n % panelRows));
    }
}

} // namespace fusec::codegen
