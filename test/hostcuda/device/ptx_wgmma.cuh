//===- ptx_wgmma.cuh - what codegen/cuda/device/ptx_wgmma.cuh does, in C++ --------===//
#pragma once

#include "mma.cuh"

namespace fusec {

inline void wgmmaFence() {}
inline void wgmmaCommit() { hostcuda::commitProducts(); }
template <int pending> void wgmmaWait() { hostcuda::waitForProducts(pending); }

template <int count> void settle(float (&)[count]) {}
inline void settle(FragmentA &) {}

enum class Major { K, N };

template <class Operand> constexpr hostcuda::Operands operandsOf = hostcuda::Operands::Bfloats;
template <> constexpr hostcuda::Operands operandsOf<Half> = hostcuda::Operands::Halves;

template <class Operand, int N, Major major> void wgmma(float *d, const FragmentA &a, unsigned long long b, bool keep) {
  hostcuda::startProduct({d, a.r, b, N, major == Major::N, keep, operandsOf<Operand>});
}

template <int registers> void giveRegisters() {}
template <int registers> void takeRegisters() {}

} // namespace fusec
