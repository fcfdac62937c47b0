//===- ProductRates.cpp ------------------------------------------------------------===//
#include "passes/lowering/ProductRates.h"

namespace fusec {

double librarySecondsMore(const ProductRates &rates, const ProductSize &size, int64_t tokens) {
  constexpr double operandBytes = 2, sumBytes = 4;
  const double t = static_cast<double>(tokens), n = static_cast<double>(size.outputs),
               k = static_cast<double>(size.summed), products = static_cast<double>(size.products);
  const double operations = 2 * t * n * k * products;
  // Weights are read packed, written and read unpacked; rows are read, written rounded and read again, where the
  // kernel reads both once.
  double bytes = products * n * k * 2 * operandBytes + t * k * 2 * operandBytes;
  if (size.hasEpilogue)
    bytes += products * t * n * 2 * sumBytes;
  const double launches = products * 2 + (size.hasEpilogue ? 1 : 0); // besides the one that the kernel is, too
  return operations * (1 / rates.libraryFlops - 1 / rates.kernelFlops) + bytes / rates.bytesPerSecond +
         launches * rates.launchSeconds;
}

int64_t libraryFrom(const ProductRates &rates, const ProductSize &size) {
  constexpr int64_t step = 64, most = 16384;
  if (!rates.hasLibrary())
    return 0;
  for (int64_t tokens = step; tokens <= most; tokens += step)
    if (librarySecondsMore(rates, size, tokens) < 0)
      return tokens;
  return 0;
}

} // namespace fusec
