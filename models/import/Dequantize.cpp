//===- Dequantize.cpp - storage types to float -----------------------------===//
//
// Block layouts are drawn beside each decoder, in memory order; halves are
// IEEE binary16. Compiled without floating-point contraction: a fused
// multiply-add would round differently from ggml.
//
//===----------------------------------------------------------------------===//

#include "models/import/Dequantize.h"

#include "runtime/base/Float16.h"

#include <bit>
#include <cstring>
#include <iterator>

namespace fusec::models {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are read in place as little endian");

using Bytes = const uint8_t *;

uint16_t load16(Bytes at) { return static_cast<uint16_t>(at[0] | at[1] << 8); }
float loadHalf(Bytes at) { return halfToFloat(load16(at)); }
uint32_t load32(Bytes at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void decodeF32(Bytes at, float *out) { std::memcpy(out, at, sizeof *out); }
void decodeF16(Bytes at, float *out) { *out = loadHalf(at); }
void decodeBF16(Bytes at, float *out) { *out = bfloatToFloat(load16(at)); }

/// half d; 16 bytes of nibbles: low = element j, high = element j + 16.
void decodeQ4_0(Bytes at, float *out) {
  const float d = loadHalf(at);
  for (int j = 0; j < 16; ++j) {
    const uint8_t q = at[2 + j];
    out[j] = static_cast<float>((q & 15) - 8) * d;
    out[j + 16] = static_cast<float>((q >> 4) - 8) * d;
  }
}

/// half d, half m; nibbles as Q4_0.
void decodeQ4_1(Bytes at, float *out) {
  const float d = loadHalf(at), m = loadHalf(at + 2);
  for (int j = 0; j < 16; ++j) {
    const uint8_t q = at[4 + j];
    out[j] = static_cast<float>(q & 15) * d + m;
    out[j + 16] = static_cast<float>(q >> 4) * d + m;
  }
}

/// half d; 32 high bits, bit j for element j; nibbles as Q4_0.
void decodeQ5_0(Bytes at, float *out) {
  const float d = loadHalf(at);
  const uint32_t high = load32(at + 2);
  for (int j = 0; j < 16; ++j) {
    const uint8_t q = at[6 + j];
    const int low = (q & 15) | static_cast<int>(high >> j & 1) << 4;
    const int top = (q >> 4) | static_cast<int>(high >> (j + 16) & 1) << 4;
    out[j] = static_cast<float>(low - 16) * d;
    out[j + 16] = static_cast<float>(top - 16) * d;
  }
}

/// half d, half m; then as Q5_0.
void decodeQ5_1(Bytes at, float *out) {
  const float d = loadHalf(at), m = loadHalf(at + 2);
  const uint32_t high = load32(at + 4);
  for (int j = 0; j < 16; ++j) {
    const uint8_t q = at[8 + j];
    const int low = (q & 15) | static_cast<int>(high >> j & 1) << 4;
    const int top = (q >> 4) | static_cast<int>(high >> (j + 16) & 1) << 4;
    out[j] = static_cast<float>(low) * d + m;
    out[j + 16] = static_cast<float>(top) * d + m;
  }
}

/// half d; 32 signed bytes.
void decodeQ8_0(Bytes at, float *out) {
  const float d = loadHalf(at);
  for (int j = 0; j < 32; ++j)
    out[j] = static_cast<float>(static_cast<int8_t>(at[2 + j])) * d;
}

/// The 6-bit scale and minimum of sub-block j of 8, packed in 12 bytes: bytes
/// 0-3 and 4-7 hold scales and minima 0-3 in their low 6 bits; bytes 8-11 hold
/// the low 4 bits of numbers 4-7, whose high 2 bits sit on top of bytes 0-7.
struct ScaleMin {
  int scale, minimum;
};

ScaleMin unpackScaleMin(Bytes packed, int j) {
  if (j < 4)
    return {packed[j] & 63, packed[j + 4] & 63};
  return {(packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4, (packed[j + 4] >> 4) | (packed[j] >> 6) << 4};
}

/// half d, half dmin; 12 bytes of scales; 128 bytes of nibbles: 32 bytes hold
/// sub-blocks 2c (low) and 2c+1 (high).
void decodeQ4_K(Bytes at, float *out) {
  const float d = loadHalf(at), dmin = loadHalf(at + 2);
  for (int sub = 0; sub < 8; ++sub) {
    const ScaleMin s = unpackScaleMin(at + 4, sub);
    const float scale = d * static_cast<float>(s.scale), minimum = dmin * static_cast<float>(s.minimum);
    const Bytes q = at + 16 + sub / 2 * 32;
    for (int l = 0; l < 32; ++l)
      out[sub * 32 + l] = scale * static_cast<float>(q[l] >> (sub % 2 * 4) & 15) - minimum;
  }
}

/// As Q4_K with 32 bytes of fifth bits before the nibbles: bit `sub` of byte l
/// belongs to element l of that sub-block.
void decodeQ5_K(Bytes at, float *out) {
  const float d = loadHalf(at), dmin = loadHalf(at + 2);
  const Bytes high = at + 16;
  for (int sub = 0; sub < 8; ++sub) {
    const ScaleMin s = unpackScaleMin(at + 4, sub);
    const float scale = d * static_cast<float>(s.scale), minimum = dmin * static_cast<float>(s.minimum);
    const Bytes q = at + 48 + sub / 2 * 32;
    for (int l = 0; l < 32; ++l) {
      const int value = (q[l] >> (sub % 2 * 4) & 15) | (high[l] >> sub & 1) << 4;
      out[sub * 32 + l] = scale * static_cast<float>(value) - minimum;
    }
  }
}

/// 128 low nibbles, 64 bytes of high bit pairs, 16 signed scales, half d. Each
/// half of 128 elements is four groups of 32: groups 0, 1 take the low nibbles
/// of bytes 0-31, 32-63, groups 2, 3 their high nibbles; group g takes bit pair
/// g of the high bytes. A scale covers 16 elements.
void decodeQ6_K(Bytes at, float *out) {
  const Bytes scales = at + 192;
  const float d = loadHalf(at + 208);
  for (int group = 0; group < 8; ++group) {
    const int half = group / 4, g = group % 4;
    const Bytes low = at + half * 64 + g % 2 * 32, high = at + 128 + half * 32;
    for (int l = 0; l < 32; ++l) {
      const int value = ((low[l] >> (g / 2 * 4) & 15) | (high[l] >> (2 * g) & 3) << 4) - 32;
      const float scale = d * static_cast<float>(static_cast<int8_t>(scales[group * 2 + l / 16]));
      out[group * 32 + l] = scale * static_cast<float>(value);
    }
  }
}

using Decoder = void (*)(Bytes block, float *out);

constexpr Decoder decoders[] = {
#define FUSEC_STORAGE(name, spelling, ggufId, blockElements, blockBytes) decode##name,
#include "runtime/schema/StorageType.def"
};
static_assert(std::size(decoders) == std::size(weightTypes));

} // namespace

void dequantizeRow(StorageType type, const std::byte *blocks, float *out, int64_t n) {
  const StorageTypeInfo &row = info(type);
  const Decoder decode = decoders[static_cast<size_t>(type)];
  const Bytes at = reinterpret_cast<Bytes>(blocks);
  for (int64_t block = 0; block < n / row.blockElements; ++block)
    decode(at + block * row.blockBytes, out + block * row.blockElements);
}

} // namespace fusec::models
