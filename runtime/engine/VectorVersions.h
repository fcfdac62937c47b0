//===- VectorVersions.h - one loop, compiled for several instruction sets --------===//
//
// The runtime is built for the oldest CPU it supports. A loop that deserves the
// vectors of this one is an always_inline function; each version calls it:
//
//   [[gnu::always_inline]] inline void fill(...) { ... }
//   FUSEC_AVX512 void fillAvx512(...) { fill(...); }
//   FUSEC_AVX2 void fillAvx2(...) { fill(...); }
//   void fillPlain(...) { fill(...); }
//   static const auto version = versionForThisCpu(fillAvx512, fillAvx2, fillPlain);
//
// Floating-point loops have the same bits in each only if nothing is contracted
// (#pragma clang fp contract(off)) and sums have a fixed order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/host/CpuLevel.h"

#define FUSEC_AVX512 [[gnu::target("avx512f,avx512dq,avx512vl")]]
#define FUSEC_AVX2 [[gnu::target("avx2")]]

namespace fusec::runtime {

template <typename Function> Function *versionForThisCpu(Function *avx512, Function *avx2, Function *plain) {
  if (cpuSupports("avx512"))
    return avx512;
  return cpuSupports("avx2") ? avx2 : plain;
}

} // namespace fusec::runtime
