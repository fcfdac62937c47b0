//===- ldmatrix.cuh - what codegen/cuda/device/ldmatrix.cuh does, in C++ --------===//
#pragma once

namespace fusec {

inline void loadMatrices(unsigned (&r)[4], unsigned rowAddress) { hostcuda::loadMatrices(r, rowAddress, false); }
inline void loadMatricesTransposed(unsigned (&r)[4], unsigned rowAddress) {
  hostcuda::loadMatrices(r, rowAddress, true);
}

} // namespace fusec
