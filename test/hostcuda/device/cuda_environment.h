//===- cuda_environment.h - CUDA's names, for clang on the host -----------------===//
//
// Included before a kernel's text, which is compiled as it is. Has what our
// texts and the device library use, and nothing else: a name that is missing is
// a compiler error. Threads of a block are fibers (../runtime/HostBlock.h), so
// that __syncthreads and the warp's functions mean what they mean on a GPU.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "host_runtime.h"

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
// Arrays of fixed size. The dynamic one is the runtime's `shared`: HostCudaCompiler reads "extern __shared__" as
// "extern __dynamic__".
#define __shared__ static __attribute__((section("fusec_shared")))
#define __dynamic__

/// Once per kernel, after its text: how a launch reaches it.
#define FUSEC_HOST_ENTRY(entry)                                                                                        \
  extern "C" __attribute__((visibility("default"))) void fusecCall_##entry(const unsigned long long *parameters);      \
  void fusecCall_##entry(const unsigned long long *parameters) { hostcuda::invoke(&::entry, parameters); }

#define threadIdx (::hostcuda::threadIndex())
#define blockIdx (::hostcuda::blockIndex())
#define blockDim (::hostcuda::blockSize())
#define gridDim (::hostcuda::gridSize())

//===----------------------------------------------------------------------===//
// CUDA's functions
//===----------------------------------------------------------------------===//

using size_t = decltype(sizeof(0));

// Vectors of the compiler: a load is one access, as on the GPU, and its alignment is checked.
using float2 = float __attribute__((ext_vector_type(2)));
using float4 = float __attribute__((ext_vector_type(4)));
using uint2 = unsigned __attribute__((ext_vector_type(2)));
using uint4 = unsigned __attribute__((ext_vector_type(4)));
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

inline void __syncthreads() { hostcuda::meetBlock(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { hostcuda::meetWarp(&hostcuda::onlyMeet, mask, nullptr); }
template <class T> T __shfl_xor_sync(unsigned mask, T value, int distance) {
  return hostcuda::valueOfLane(mask, value, hostcuda::laneOfThread() ^ distance);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, int distance) {
  return hostcuda::valueOfLane(mask, value, hostcuda::laneOfThread() - distance);
}

template <class T> T __ldg(const T *p) { return *p; }
/// Threads take turns only where they meet: nobody comes between.
template <class T> T atomicAdd(T *p, T value) {
  T before = *p;
  *p = before + value;
  return before;
}

inline unsigned __float_as_uint(float value) { return __builtin_bit_cast(unsigned, value); }
inline float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
inline float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
/// Byte i of the result is the byte of {b, a} that the selector's nibble i names; its sign bits where bit 3 is set.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<unsigned>(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}

#define FUSEC_MIN_MAX(type)                                                                                            \
  inline type min(type a, type b) { return b < a ? b : a; }                                                            \
  inline type max(type a, type b) { return a < b ? b : a; }
FUSEC_MIN_MAX(int)
FUSEC_MIN_MAX(unsigned)
FUSEC_MIN_MAX(long long)
FUSEC_MIN_MAX(unsigned long long)
#undef FUSEC_MIN_MAX

extern "C" {
#define FUSEC_OF_ONE(name)                                                                                             \
  float name##f(float);                                                                                                \
  double name(double);
FUSEC_OF_ONE(fabs)
FUSEC_OF_ONE(sqrt)
FUSEC_OF_ONE(floor)
FUSEC_OF_ONE(ceil)
FUSEC_OF_ONE(trunc)
FUSEC_OF_ONE(rint)
FUSEC_OF_ONE(round)
FUSEC_OF_ONE(exp)
FUSEC_OF_ONE(exp2)
FUSEC_OF_ONE(expm1)
FUSEC_OF_ONE(log)
FUSEC_OF_ONE(log2)
FUSEC_OF_ONE(log1p)
FUSEC_OF_ONE(sin)
FUSEC_OF_ONE(cos)
FUSEC_OF_ONE(tan)
FUSEC_OF_ONE(tanh)
FUSEC_OF_ONE(erf)
FUSEC_OF_ONE(atan)
#undef FUSEC_OF_ONE
#define FUSEC_OF_TWO(name)                                                                                             \
  float name##f(float, float);                                                                                         \
  double name(double, double);
FUSEC_OF_TWO(fmin)
FUSEC_OF_TWO(fmax)
FUSEC_OF_TWO(pow)
FUSEC_OF_TWO(copysign)
#undef FUSEC_OF_TWO
}
inline float rsqrtf(float value) { return 1.0f / sqrtf(value); }
inline int abs(int value) { return value < 0 ? -value : value; }
inline long long abs(long long value) { return value < 0 ? -value : value; }
