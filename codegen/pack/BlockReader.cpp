//===- BlockReader.cpp - the fields of one stored block, unpacked -----------===//
#include "codegen/pack/BlockReader.h"

#include <cassert>
#include <cstring>

namespace fusec::codegen {
namespace {

uint16_t half(const uint8_t *p) { return static_cast<uint16_t>(p[0] | p[1] << 8); }

/// 16 bytes: the low nibbles are elements 0..15, the high ones 16..31.
void nibbles32(const uint8_t *qs, uint8_t *codes) {
  for (int j = 0; j < 16; ++j) {
    codes[j] = qs[j] & 15;
    codes[j + 16] = qs[j] >> 4;
  }
}

/// Bit j of a u32 is bit 4 of element j.
void fifthBits32(const uint8_t *qh, uint8_t *codes) {
  for (int j = 0; j < 32; ++j)
    codes[j] |= (qh[j / 8] >> (j % 8) & 1) << 4;
}

/// Eight 6-bit scales and minima in 12 bytes.
void scales6(const uint8_t *b, BlockFields &f) {
  for (int j = 0; j < 4; ++j) {
    f.subscales[j] = b[j] & 63;
    f.submins[j] = b[j + 4] & 63;
    f.subscales[j + 4] = static_cast<uint8_t>((b[j + 8] & 15) | b[j] >> 6 << 4);
    f.submins[j + 4] = static_cast<uint8_t>(b[j + 8] >> 4 | b[j + 4] >> 6 << 4);
  }
}

/// Four chunks of 32 bytes: low nibbles one group of 32, high nibbles the next.
void nibbles256(const uint8_t *qs, uint8_t *codes) {
  for (int c = 0; c < 4; ++c)
    for (int l = 0; l < 32; ++l) {
      codes[64 * c + l] = qs[32 * c + l] & 15;
      codes[64 * c + 32 + l] = qs[32 * c + l] >> 4;
    }
}

void readQ4_0(const uint8_t *p, BlockFields &f) {
  f.scale = half(p);
  nibbles32(p + 2, f.codes);
}

void readQ4_1(const uint8_t *p, BlockFields &f) {
  f.scale = half(p);
  f.minimum = half(p + 2);
  nibbles32(p + 4, f.codes);
}

void readQ5_0(const uint8_t *p, BlockFields &f) {
  f.scale = half(p);
  nibbles32(p + 6, f.codes);
  fifthBits32(p + 2, f.codes);
}

void readQ5_1(const uint8_t *p, BlockFields &f) {
  f.scale = half(p);
  f.minimum = half(p + 2);
  nibbles32(p + 8, f.codes);
  fifthBits32(p + 4, f.codes);
}

void readQ8_0(const uint8_t *p, BlockFields &f) {
  f.scale = half(p);
  std::memcpy(f.codes, p + 2, 32);
}

void readQ4_K(const uint8_t *p, BlockFields &f) {
  f.scale = half(p);
  f.minimum = half(p + 2);
  scales6(p + 4, f);
  nibbles256(p + 16, f.codes);
}

void readQ5_K(const uint8_t *p, BlockFields &f) {
  f.scale = half(p);
  f.minimum = half(p + 2);
  scales6(p + 4, f);
  nibbles256(p + 48, f.codes);
  for (int k = 0; k < 256; ++k) // bit g of byte l is bit 4 of element l in group g
    f.codes[k] |= (p[16 + k % 32] >> (k / 32) & 1) << 4;
}

void readQ6_K(const uint8_t *p, BlockFields &f) {
  const uint8_t *ql = p, *qh = p + 128;
  for (int k = 0; k < 256; ++k) {
    int part = k / 128, quarter = k % 128 / 32, l = k % 32;
    int low = ql[64 * part + 32 * (quarter % 2) + l] >> (quarter / 2 * 4) & 15;
    int high = qh[32 * part + l] >> (2 * quarter) & 3;
    f.codes[k] = static_cast<uint8_t>(low | high << 4);
  }
  std::memcpy(f.subscales, p + 192, 16);
  f.scale = half(p + 208);
}

} // namespace

void readBlock(StorageType type, const uint8_t *bytes, BlockFields &fields) {
  switch (type) {
  case StorageType::Q4_0:
    return readQ4_0(bytes, fields);
  case StorageType::Q4_1:
    return readQ4_1(bytes, fields);
  case StorageType::Q5_0:
    return readQ5_0(bytes, fields);
  case StorageType::Q5_1:
    return readQ5_1(bytes, fields);
  case StorageType::Q8_0:
    return readQ8_0(bytes, fields);
  case StorageType::Q4_K:
    return readQ4_K(bytes, fields);
  case StorageType::Q5_K:
    return readQ5_K(bytes, fields);
  case StorageType::Q6_K:
    return readQ6_K(bytes, fields);
  case StorageType::F32:
  case StorageType::F16:
  case StorageType::BF16:
  case StorageType::E4M3:
    break;
  }
  assert(false && "plain types have no blocks");
}

} // namespace fusec::codegen
