//===- ptx_wgmma.cuh - matrix instructions of a warpgroup (sm_90a) -------------===//
//
// Inline PTX and nothing else (ptx_scalar.cuh); wgmma.cuh says how it is used.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mma.cuh"

namespace fusec {

/// wgmma.fence: orders register accesses before the wgmmas that follow.
__device__ __forceinline__ void wgmmaFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// wgmma.commit_group: ends a group of wgmmas.
__device__ __forceinline__ void wgmmaCommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// wgmma.wait_group: waits until at most `pending` groups are under way.
template <int pending> __device__ __forceinline__ void wgmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// A line that the compiler takes for a use and a change of these registers. Not while a wgmma has them.
template <int count> __device__ __forceinline__ void settle(float (&d)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}
__device__ __forceinline__ void settle(FragmentA &a) {
  asm volatile("" : "+r"(a.r[0]), "+r"(a.r[1]), "+r"(a.r[2]), "+r"(a.r[3])::"memory");
}

/// Which dimension of B lies side by side in shared memory.
enum class Major { K, N };

/// d = a * b + (keep ? d : 0).
template <class Operand, int N, Major major>
__device__ void wgmma(float *d, const FragmentA &a, unsigned long long b, bool keep);

// One specialisation per operand type, width and order: the instruction names its N / 2 registers one by one, and what
// follows them by number.
#define FUSEC_SUMS_8(i)                                                                                                \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]),          \
      "+f"(d[i + 7])
#define FUSEC_SUMS_16(i) FUSEC_SUMS_8(i), FUSEC_SUMS_8(i + 8)
#define FUSEC_SUMS_32(i) FUSEC_SUMS_16(i), FUSEC_SUMS_16(i + 16)
#define FUSEC_SUMS_64(i) FUSEC_SUMS_32(i), FUSEC_SUMS_32(i + 32)
#define FUSEC_NAMES_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define FUSEC_NAMES_32 FUSEC_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define FUSEC_NAMES_64                                                                                                 \
  FUSEC_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"                                   \
                 "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
// A and B, then the number of `keep`.
#define FUSEC_INPUTS_16 "{%16,%17,%18,%19}, %20"
#define FUSEC_INPUTS_32 "{%32,%33,%34,%35}, %36"
#define FUSEC_INPUTS_64 "{%64,%65,%66,%67}, %68"
#define FUSEC_KEEP_16 "%21"
#define FUSEC_KEEP_32 "%37"
#define FUSEC_KEEP_64 "%69"

#define FUSEC_WGMMA(Operand, type, width, sums, major, isTransposed)                                                   \
  template <>                                                                                                          \
  __device__ __forceinline__ void wgmma<Operand, width, Major::major>(float *d, const FragmentA &a,                    \
                                                                      unsigned long long b, bool keep) {               \
    asm volatile("{\n .reg .pred p;\n setp.ne.b32 p, " FUSEC_KEEP_##sums                                               \
                 ", 0;\n"                                                                                              \
                 " wgmma.mma_async.sync.aligned.m64n" #width "k16.f32." type "." type " {" FUSEC_NAMES_##sums          \
                 "}, " FUSEC_INPUTS_##sums ", p, 1, 1, " isTransposed ";\n}"                                           \
                 : FUSEC_SUMS_##sums(0)                                                                                \
                 : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "l"(b), "r"(static_cast<int>(keep)));           \
  }
#define FUSEC_WGMMA_OF(width, sums)                                                                                    \
  FUSEC_WGMMA(Bfloat, "bf16", width, sums, K, "0")                                                                     \
  FUSEC_WGMMA(Bfloat, "bf16", width, sums, N, "1")                                                                     \
  FUSEC_WGMMA(Half, "f16", width, sums, K, "0")                                                                        \
  FUSEC_WGMMA(Half, "f16", width, sums, N, "1")

FUSEC_WGMMA_OF(32, 16)
FUSEC_WGMMA_OF(64, 32)
FUSEC_WGMMA_OF(128, 64)

#undef FUSEC_SUMS_8
#undef FUSEC_SUMS_16
#undef FUSEC_SUMS_32
#undef FUSEC_SUMS_64
#undef FUSEC_NAMES_16
#undef FUSEC_NAMES_32
#undef FUSEC_NAMES_64
#undef FUSEC_INPUTS_16
#undef FUSEC_INPUTS_32
#undef FUSEC_INPUTS_64
#undef FUSEC_KEEP_16
#undef FUSEC_KEEP_32
#undef FUSEC_KEEP_64
#undef FUSEC_WGMMA
#undef FUSEC_WGMMA_OF

/// Registers per thread move from the warpgroups that give to those that take; all threads of a warpgroup together.
template <int registers> __device__ __forceinline__ void giveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers> __device__ __forceinline__ void takeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

} // namespace fusec
