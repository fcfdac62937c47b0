//===- PanelLayout.h - how stored matrices are packed for kernels -----------===//
//
// A stored matrix W[N, K] is cut into panels of 16 rows; the rows of a panel
// are the lanes of a vector. Rows beyond N are zero. A panel is the sequence
// of its super-blocks along K (K / superElements of them), a super-block is:
//
//   scale    16 x f16          d of each row            (block formats)
//   minimum  16 x f16          m or dmin of each row    (hasMinimum)
//   subscale G x 16 x 8 bit    per group of `group` k   (hasSubscales; i8 for q6_k, u8 else)
//   submin   G x 16 x u8                                (hasSubscales and hasMinimum)
//   then for each 32 k, a code chunk:
//     low    bits >= 8: 8 x 16 x u32, word i byte b     = k 4i + b
//            else:      4 x 16 x u32, word i nibble b   = low 4 bits of k 8i + b
//     high   5 bit codes: 1 x 16 x u32, bit b           = bit 4 of k b
//            6 bit codes: 2 x 16 x u32, word i field b  = bits 4..5 of k 16i + b
//
// with G = superElements / group, little endian, lane (row) fastest.
// Plain types (f32, f16, bf16) are K x 16 elements per panel, lane fastest.
//
// The value of a code q (integer) is
//   no subscales:  d * q + m        where m = minimum, or -offset * d without one
//   subscales:     (d * sub) * q + m where m = -(dmin * submin), or -offset * (d * sub)
// computed in f32 as one fused multiply-add of exact products: the value the
// format defines.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/StorageType.h"

#include <iterator>

namespace fusec {

inline constexpr int64_t panelRows = 16;
inline constexpr int64_t codeChunk = 32; ///< k per code chunk.

struct PanelFormat {
  StorageType type;
  int bits;      ///< Bits of a code; 0 for plain types.
  bool isSigned; ///< Codes are two's complement (q8_0).
  int offset;    ///< Subtracted from the code when there is no minimum.
  bool hasMinimum;
  bool hasSubscales;
  int64_t group;         ///< k per scale.
  int64_t superElements; ///< k per super-block.
};

inline constexpr PanelFormat panelFormats[] = {
    // type            bits signed offset min    sub    group super
    {StorageType::F32, 0, false, 0, false, false, 1, 1},     {StorageType::F16, 0, false, 0, false, false, 1, 1},
    {StorageType::BF16, 0, false, 0, false, false, 1, 1},    {StorageType::Q4_0, 4, false, 8, false, false, 32, 32},
    {StorageType::Q4_1, 4, false, 0, true, false, 32, 32},   {StorageType::Q5_0, 5, false, 16, false, false, 32, 32},
    {StorageType::Q5_1, 5, false, 0, true, false, 32, 32},   {StorageType::Q8_0, 8, true, 0, false, false, 32, 32},
    {StorageType::Q4_K, 4, false, 0, true, true, 32, 256},   {StorageType::Q5_K, 5, false, 0, true, true, 32, 256},
    {StorageType::Q6_K, 6, false, 32, false, true, 16, 256},
};

// One row per type of weights, in the order of StorageType.def: a type without a row does not compile.
static_assert(std::size(panelFormats) == std::size(weightTypes), "each type of weights needs a row in panelFormats");
constexpr bool panelFormatsAreInOrder() {
  for (size_t i = 0; i < std::size(panelFormats); ++i)
    if (panelFormats[i].type != weightTypes[i].type)
      return false;
  return true;
}
static_assert(panelFormatsAreInOrder(), "panelFormats must follow the order of StorageType.def");

/// `type` is one of weights.
constexpr const PanelFormat &panelFormat(StorageType type) { return panelFormats[static_cast<size_t>(type)]; }

/// Byte offsets inside a super-block; all multiples of 16.
struct PanelOffsets {
  int64_t scale, minimum, subscale, submin, codes; ///< Section starts.
  int64_t lowBytes;                                ///< Low plane of one code chunk.
  int64_t chunkBytes;                              ///< One code chunk, low and high plane.
  int64_t superBytes;                              ///< The whole super-block.
};

constexpr PanelOffsets panelOffsets(const PanelFormat &f) {
  PanelOffsets o{};
  if (f.bits == 0) {
    o.superBytes = panelRows * info(f.type).blockBytes;
    return o;
  }
  int64_t subBytes = f.hasSubscales ? f.superElements / f.group * panelRows : 0;
  o.scale = 0;
  o.minimum = o.scale + 2 * panelRows;
  o.subscale = o.minimum + (f.hasMinimum ? 2 * panelRows : 0);
  o.submin = o.subscale + subBytes;
  o.codes = o.submin + (f.hasMinimum ? subBytes : 0);
  o.lowBytes = panelRows * 4 * (f.bits >= 8 ? 8 : 4);
  o.chunkBytes = o.lowBytes + panelRows * 4 * (f.bits == 5 ? 1 : f.bits == 6 ? 2 : 0);
  o.superBytes = o.codes + f.superElements / codeChunk * o.chunkBytes;
  return o;
}

constexpr int64_t panelCount(int64_t rows) { return (rows + panelRows - 1) / panelRows; }

/// Bytes of a packed matrix [rows, columns]; columns must be a multiple of superElements.
constexpr int64_t packedBytes(StorageType type, int64_t rows, int64_t columns) {
  const PanelFormat &f = panelFormat(type);
  return panelCount(rows) * (columns / f.superElements) * panelOffsets(f).superBytes;
}

} // namespace fusec
