//===- ProductRates.h - when a library multiplies faster ---------------------------===//
//
// A library multiplies faster than generated kernels when there are many rows, but
// it takes row-major 16-bit matrices: packed weights are unpacked and activations
// rounded for it, and results that need more than an addition are read once more.
// With few rows that costs more than it gains.
//
//   kernels:  2 T N K / kernelFlops
//   library:  2 T N K / libraryFlops + bytes moved besides / bytesPerSecond + launches
//
// The two rates of products are what each reaches on large ones.
//
// Values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace fusec {

/// Of a device. All zero: there is no library.
struct ProductRates {
  double kernelFlops = 0;    ///< Operations per second (2 per multiply-add) of generated products with many rows.
  double libraryFlops = 0;   ///< The same of the library's.
  double bytesPerSecond = 0; ///< Of device memory.
  double launchSeconds = 0;  ///< Between two launches of kernels that do next to nothing.

  bool hasLibrary() const { return libraryFlops > 0; }
};

/// The products of one launch of a generated kernel, all [T, K] x [N, K]^T.
struct ProductSize {
  int64_t products = 1;
  int64_t outputs = 0;      ///< N.
  int64_t summed = 0;       ///< K.
  bool hasEpilogue = false; ///< A kernel reads the results again.
};

/// Seconds that a step of `tokens` spends with the library, minus those with the kernels.
double librarySecondsMore(const ProductRates &rates, const ProductSize &size, int64_t tokens);

/// The fewest tokens, a multiple of 64, from which the library is faster; 0 when it is not for any step there is (up to
/// 16384 tokens).
int64_t libraryFrom(const ProductRates &rates, const ProductSize &size);

} // namespace fusec
