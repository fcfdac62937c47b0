//===- Quantize.cpp - float to storage types -------------------------------===//
//
// ggml's reference rounding, block by block. Compiled without floating-point
// contraction, as Dequantize.cpp.
//
//===----------------------------------------------------------------------===//

#include "models/import/Dequantize.h"
#include "runtime/base/Float16.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fusec::models {
namespace {

using Bytes = uint8_t *;

void store16(Bytes at, uint16_t value) {
  at[0] = static_cast<uint8_t>(value);
  at[1] = static_cast<uint8_t>(value >> 8);
}

/// Stores a scale; false when it does not fit a half.
bool storeHalf(Bytes at, float value) {
  const uint16_t half = floatToHalf(value);
  store16(at, half);
  return (half & 0x7c00u) != 0x7c00u;
}

/// 1/scale, or 0 when the scale vanishes in the stored half: its block decodes
/// to a constant whatever the codes are, and 1/scale could be infinite.
float inverseScale(float scale) { return (floatToHalf(scale) & 0x7fffu) != 0 ? 1.0f / scale : 0.0f; }

// Each encoder writes one block of finite values; false: a scale is too large.

bool encodeF32(const float *in, Bytes at) {
  std::memcpy(at, in, sizeof *in);
  return true;
}

bool encodeF16(const float *in, Bytes at) { return storeHalf(at, *in); }

bool encodeBF16(const float *in, Bytes at) {
  const uint16_t value = floatToBfloat(*in);
  store16(at, value);
  return (value & 0x7f80u) != 0x7f80u;
}

bool encodeQ8_0(const float *in, Bytes at) {
  float largest = 0.0f;
  for (int j = 0; j < 32; ++j)
    largest = std::max(largest, std::fabs(in[j]));
  const float d = largest / 127.0f, inverse = inverseScale(d);
  for (int j = 0; j < 32; ++j)
    at[2 + j] = static_cast<uint8_t>(static_cast<int8_t>(std::round(in[j] * inverse)));
  return storeHalf(at, d);
}

uint8_t nibble(float value) { return static_cast<uint8_t>(std::min(15, static_cast<int>(value))); }

bool encodeQ4_0(const float *in, Bytes at) {
  // The scale's sign puts the value of largest magnitude on code 0 (= -8).
  float extreme = 0.0f;
  for (int j = 0; j < 32; ++j)
    if (std::fabs(in[j]) > std::fabs(extreme))
      extreme = in[j];
  const float d = extreme / -8.0f, inverse = inverseScale(d);
  for (int j = 0; j < 16; ++j)
    at[2 + j] = static_cast<uint8_t>(nibble(in[j] * inverse + 8.5f) | nibble(in[j + 16] * inverse + 8.5f) << 4);
  return storeHalf(at, d);
}

bool encodeQ4_1(const float *in, Bytes at) {
  const auto [low, high] = std::minmax_element(in, in + 32);
  const float d = (*high - *low) / 15.0f;
  if (!std::isfinite(d))
    return false;
  const float inverse = inverseScale(d), minimum = *low;
  for (int j = 0; j < 16; ++j)
    at[4 + j] = static_cast<uint8_t>(nibble((in[j] - minimum) * inverse + 0.5f) |
                                     nibble((in[j + 16] - minimum) * inverse + 0.5f) << 4);
  const bool fits = storeHalf(at, d);
  return storeHalf(at + 2, minimum) && fits;
}

using Encoder = bool (*)(const float *in, Bytes block);

struct EncoderRow {
  StorageType type;
  Encoder encode;
};

constexpr EncoderRow encoders[] = {
    {StorageType::F32, encodeF32},   {StorageType::F16, encodeF16},   {StorageType::BF16, encodeBF16},
    {StorageType::Q8_0, encodeQ8_0}, {StorageType::Q4_0, encodeQ4_0}, {StorageType::Q4_1, encodeQ4_1},
};

Encoder encoderOf(StorageType type) {
  for (const EncoderRow &row : encoders)
    if (row.type == type)
      return row.encode;
  return nullptr;
}

} // namespace

bool canQuantize(StorageType type) { return encoderOf(type) != nullptr; }

Status quantizeRow(StorageType type, const float *values, std::byte *blocks, int64_t n) {
  const StorageTypeInfo &row = info(type);
  const Encoder encode = encoderOf(type);
  if (!encode)
    return unsupported("cannot quantise to " + std::string(row.name));
  if (n % row.blockElements != 0)
    return invalidArgument(std::string(row.name) + " needs a row length that is a multiple of " +
                           std::to_string(row.blockElements) + ", found " + std::to_string(n));
  for (int64_t i = 0; i < n; ++i)
    if (!std::isfinite(values[i]))
      return invalidArgument("element " + std::to_string(i) + " is " + (std::isnan(values[i]) ? "NaN" : "infinite"));
  const Bytes at = reinterpret_cast<Bytes>(blocks);
  for (int64_t block = 0; block < n / row.blockElements; ++block)
    if (!encode(values + block * row.blockElements, at + block * row.blockBytes))
      return invalidArgument("elements from " + std::to_string(block * row.blockElements) + ": too large for " +
                             std::string(row.name));
  return {};
}

} // namespace fusec::models
