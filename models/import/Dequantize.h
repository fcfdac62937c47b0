//===- Dequantize.h - storage types to float and back ----------------------===//
//
// The meaning of every storage type, row by row, with the arithmetic of ggml's
// reference code: single precision, one rounding per operation, no fused
// multiply-add. This is the oracle that faster kernels are tested against.
//
//   std::vector<float> row(cols);
//   dequantizeRow(w.type, w.data.data() + r * rowBytes(w.type, cols), row.data(), cols);
//
// Pure functions; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/schema/StorageType.h"

#include <cstddef>
#include <cstdint>

namespace fusec::models {

/// Bytes of a row of `n` elements; `n` must be a multiple of the block size.
constexpr int64_t rowBytes(StorageType type, int64_t n) { return n / info(type).blockElements * info(type).blockBytes; }

/// Writes the `n` values of `blocks` to `out`. `n` is a multiple of the block
/// size; `blocks` needs no alignment and holds rowBytes(type, n) bytes.
void dequantizeRow(StorageType type, const std::byte *blocks, float *out, int64_t n);

/// True for the types that quantizeRow can write: F32, F16, BF16, Q8_0, Q4_0, Q4_1.
bool canQuantize(StorageType type);

/// Writes `n` floats as `type`, byte for byte as ggml's reference quantiser does,
/// except that a block whose scale underflows becomes all zeros (ggml divides
/// by it). InvalidArgument for an infinity or NaN and for a value whose scale
/// does not fit the block's half-precision field (names the index), or when `n`
/// is no multiple of the block size; Unsupported for the other types.
Status quantizeRow(StorageType type, const float *values, std::byte *blocks, int64_t n);

} // namespace fusec::models
