//===- Probes.cu - one small kernel per family of instructions --------------------===//
//
// Each kernel takes words from `in`, applies the instructions under test and
// stores every result to `out`; the runner runs it on the GPU and on the virtual
// device and compares the words (ProbeTable.cpp names inputs and tolerances).
// Blocks of one warp unless the kernel says otherwise.
//
// Probes.sm_80.ptx is this file; Probes.sm_89.ptx and Probes.sm_90a.ptx are what
// follows FUSEC_SM_89 and FUSEC_SM_90A. `compile.py` makes them.
//
//===-----------------------------------------------------------------------===//
#include "bulk_copy.cuh"
#include "cp_async.cuh"
#include "fp8.cuh"
#include "ldmatrix.cuh"
#include "mma.cuh"
#include "scalar.cuh"
#include "wgmma.cuh"

using namespace fusec;

#define PROBE(NAME, THREADS)                                                                                           \
  extern "C" __global__ void __launch_bounds__(THREADS) NAME(const unsigned *in, unsigned *out)

/// The lane's words of the input, `count` per lane, and of the output.
template <int count> __device__ __forceinline__ void take(unsigned (&words)[count], const unsigned *in) {
  for (int i = 0; i < count; ++i)
    words[i] = in[threadIdx.x * count + i];
}
template <int count> __device__ __forceinline__ void give(unsigned *out, const unsigned (&words)[count]) {
  for (int i = 0; i < count; ++i)
    out[threadIdx.x * count + i] = words[i];
}

#if defined(FUSEC_SM_80)

/// A in words 0..3, B in 4..5, C in 6..9 of each lane.
template <class Operand> __device__ __forceinline__ void mmaProbe(const unsigned *in, unsigned *out) {
  unsigned w[10];
  take(w, in);
  const FragmentA a = {{w[0], w[1], w[2], w[3]}};
  const FragmentB b = {{w[4], w[5]}};
  float c[4];
  unsigned r[4];
  for (int i = 0; i < 4; ++i)
    c[i] = __uint_as_float(w[6 + i]);
  mma<Operand>(c, a, b);
  for (int i = 0; i < 4; ++i)
    r[i] = __float_as_uint(c[i]);
  give(out, r);
}
PROBE(mma_bf16, 32) { mmaProbe<Bfloat>(in, out); }
PROBE(mma_f16, 32) { mmaProbe<Half>(in, out); }

PROBE(ldmatrix_x4, 32) {
  __shared__ __align__(16) unsigned tile[128];
  unsigned w[4], straight[4], turned[4];
  take(w, in);
  for (int i = 0; i < 4; ++i)
    tile[threadIdx.x * 4 + i] = w[i];
  __syncwarp();
  const unsigned row = sharedAddress(tile) + threadIdx.x * 16;
  loadMatrices(straight, row);
  loadMatricesTransposed(turned, row);
  give(out, straight);
  give(out + 128, turned);
}

/// Two groups, the second still under way when the first is read; every lane reads its neighbour's bytes.
PROBE(cp_async, 32) {
  __shared__ __align__(16) unsigned tile[2][128];
  copyAsync(sharedAddress(tile[0]) + threadIdx.x * 16, in + threadIdx.x * 4);
  commitAsync();
  copyAsync(sharedAddress(tile[1]) + threadIdx.x * 16, in + 128 + threadIdx.x * 4);
  commitAsync();
  waitAsync<1>();
  __syncwarp();
  unsigned w[4];
  for (int i = 0; i < 4; ++i)
    w[i] = tile[0][(threadIdx.x * 4 + 5 + i) % 128];
  give(out, w);
  waitAsync<0>();
  __syncwarp();
  for (int i = 0; i < 4; ++i)
    w[i] = tile[1][(threadIdx.x * 4 + 7 + i) % 128];
  give(out + 128, w);
}

PROBE(warp_exchange, 32) {
  unsigned w[1], r[10];
  take(w, in);
  const unsigned all = 0xffffffff, x = w[0];
  r[0] = __shfl_sync(all, x, x & 31);
  r[1] = __shfl_up_sync(all, x, 3);
  r[2] = __shfl_down_sync(all, x, 5);
  r[3] = __shfl_xor_sync(all, x, 17);
  r[4] = __shfl_down_sync(all, x, 2, 8);
  r[5] = __shfl_xor_sync(all, x, 5, 4);
  r[6] = __ballot_sync(all, x & 4);
  r[7] = __reduce_add_sync(all, x);
  r[8] = __reduce_max_sync(all, x);
  r[9] = __any_sync(all, x == 0) + 2 * __all_sync(all, x != 0);
  give(out, r);
}

/// Any bits, NaNs and subnormals among them.
PROBE(convert, 32) {
  unsigned w[2], r[10];
  take(w, in);
  const float a = __uint_as_float(w[0]), b = __uint_as_float(w[1]);
  r[0] = Half(a).bits;
  r[1] = Bfloat(a).bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r[2]) : "f"(a), "f"(b));
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r[3]) : "f"(a), "f"(b));
  r[4] = __float_as_uint(static_cast<float>(fromBits<Half>(static_cast<unsigned short>(w[0]))));
  r[5] = static_cast<unsigned>(__float2int_rn(a));
  r[6] = static_cast<unsigned>(__float2int_rz(a));
  r[7] = __float2uint_rz(b);
  r[8] = __float_as_uint(__int2float_rn(static_cast<int>(w[0])));
  r[9] = __float_as_uint(__uint2float_rn(w[1]));
  give(out, r);
}

/// Correctly rounded: every bit is defined for finite operands.
PROBE(arithmetic, 32) {
  unsigned w[3], r[8];
  take(w, in);
  const float a = __uint_as_float(w[0]), b = __uint_as_float(w[1]), c = __uint_as_float(w[2]);
  r[0] = __float_as_uint(__fmaf_rn(a, b, c));
  r[1] = __float_as_uint(__fadd_rn(a, b));
  r[2] = __float_as_uint(__fmul_rn(a, b));
  r[3] = __float_as_uint(__fdiv_rn(a, b));
  r[4] = __float_as_uint(__fsqrt_rn(fabsf(a)));
  r[5] = __float_as_uint(maximum(a, b));
  r[6] = __float_as_uint(minimum(a, b));
  r[7] = __float_as_uint(rintf(a));
  give(out, r);
}

PROBE(integer, 32) {
  unsigned w[3], r[10];
  take(w, in);
  r[0] = w[0] * w[1] + w[2];
  r[1] = __umulhi(w[0], w[1]);
  r[2] = static_cast<unsigned>(__mulhi(static_cast<int>(w[0]), static_cast<int>(w[1])));
  r[3] = __byte_perm(w[0], w[1], w[2] & 0x7777);
  r[4] = __funnelshift_r(w[0], w[1], w[2]);
  r[5] = __popc(w[0]) | __clz(w[1]) << 8 | __ffs(w[2]) << 16;
  r[6] = __brev(w[0]);
  r[7] = static_cast<unsigned>(__dp4a(static_cast<int>(w[0]), static_cast<int>(w[1]), static_cast<int>(w[2])));
  r[8] = (w[0] & w[1]) ^ (w[1] | ~w[2]);
  r[9] = w[0] / (w[1] | 1) + w[0] % (w[2] | 1);
  give(out, r);
}

/// Hardware approximations, of numbers in [1/16, 16).
PROBE(approximate, 32) {
  unsigned w[1];
  float f[6];
  take(w, in);
  const float x = __uint_as_float(w[0]);
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(f[0]) : "f"(x));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(f[1]) : "f"(x));
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(f[2]) : "f"(x));
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(f[3]) : "f"(x));
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(f[4]) : "f"(x + 2.0f));
  asm("tanh.approx.f32 %0, %1;" : "=f"(f[5]) : "f"(x));
  for (int i = 0; i < 6; ++i)
    out[threadIdx.x * 6 + i] = __float_as_uint(f[i]);
}

/// 128 threads: a sum in shared memory, blocks' sums by a counter; only the order-free results are stored.
PROBE(atomics, 128) {
  __shared__ unsigned sum, largest;
  if (threadIdx.x == 0) {
    sum = 0;
    largest = 0;
  }
  __syncthreads();
  atomicAdd(&sum, in[threadIdx.x]);
  atomicMax(&largest, in[threadIdx.x]);
  __syncthreads();
  atomicAdd(out, in[threadIdx.x] & 0xff);
  if (threadIdx.x == 0) {
    out[1] = sum;
    out[2] = largest;
  }
}

/// Two halves of the block meet at named barriers 1 and 2, the halves' words cross in shared memory.
PROBE(named_barriers, 128) {
  __shared__ unsigned words[128];
  words[threadIdx.x] = in[threadIdx.x];
  const int half = static_cast<int>(threadIdx.x) / 64;
  asm volatile("bar.sync %0, 64;" ::"r"(1 + half) : "memory");
  const unsigned mine = words[half * 64 + (threadIdx.x + 33) % 64];
  __syncthreads();
  out[threadIdx.x] = mine + words[127 - threadIdx.x];
}

#elif defined(FUSEC_SM_89)

PROBE(convert_e4m3, 32) {
  unsigned w[4], r[1];
  take(w, in);
  r[0] = packE4m3(__uint_as_float(w[0]), __uint_as_float(w[1]), __uint_as_float(w[2]), __uint_as_float(w[3]));
  give(out, r);
}

PROBE(mma_e4m3, 32) {
  unsigned w[10], r[4];
  take(w, in);
  const FragmentA a = {{w[0], w[1], w[2], w[3]}};
  const FragmentB b = {{w[4], w[5]}};
  float c[4];
  for (int i = 0; i < 4; ++i)
    c[i] = __uint_as_float(w[6 + i]);
  mmaE4m3(c, a, b);
  for (int i = 0; i < 4; ++i)
    r[i] = __float_as_uint(c[i]);
  give(out, r);
}

#elif defined(FUSEC_SM_90A)

/// A ring of one stage used twice: who waits for the wrong parity reads the wrong words or waits forever.
PROBE(mbarrier, 64) {
  __shared__ __align__(8) unsigned long long bars[2];
  __shared__ unsigned word[32];
  const RingBarriers<1> ring(bars);
  ring.init(32, 32);
  RingPosition<1> at;
  for (int round = 0; round < 3; ++round, at.advance()) {
    if (threadIdx.x < 32) {
      ring.empty(0).wait(at.parity ^ 1);
      word[threadIdx.x] = in[round * 32 + threadIdx.x];
      ring.full(0).arrive();
    } else {
      ring.full(0).wait(at.parity);
      out[round * 32 + threadIdx.x - 32] = word[63 - threadIdx.x];
      ring.empty(0).arrive();
    }
  }
}

PROBE(bulk_copy, 32) {
  __shared__ __align__(128) unsigned words[256];
  __shared__ __align__(8) unsigned long long bar;
  const Mbarrier arrived{sharedAddress(&bar)};
  if (threadIdx.x == 0) {
    arrived.init(1);
    fenceMbarrierInit();
  }
  __syncthreads();
  if (electLane()) {
    arrived.arriveExpecting(1024);
    copyBulk(sharedAddress(words), in, 512, arrived);
    copyBulk(sharedAddress(words + 128), in + 128, 512, arrived);
  }
  arrived.wait(0);
  for (int i = 0; i < 8; ++i)
    out[i * 32 + threadIdx.x] = words[255 - (i * 32 + threadIdx.x)];
}

/// One wgmma m64n32k16, A from registers, B from shared memory in the layout of `major`.
template <class Operand, Major major> __device__ __forceinline__ void wgmmaProbe(const unsigned *in, unsigned *out) {
  __shared__ __align__(1024) unsigned b[512];
  FragmentA a;
  for (int i = 0; i < 4; ++i)
    a.r[i] = in[threadIdx.x * 4 + i];
  for (unsigned i = threadIdx.x; i < 512; i += 128)
    b[i] = in[512 + i];
  fenceAsyncProxy();
  __syncthreads();
  float d[16];
  for (int i = 0; i < 16; ++i)
    d[i] = static_cast<float>(i);
  // K: 4 groups of 8 columns, each 2 x 128 bytes along k. N: rows of 128 bytes, of which 32 columns are used.
  const unsigned long long descriptor = major == Major::K ? matrixDescriptor(sharedAddress(b), 128, 256, false)
                                                          : matrixDescriptor(sharedAddress(b), 2048, 1024, true);
  settle(d);
  settle(a);
  wgmmaFence();
  wgmma<Operand, 32, major>(d, a, descriptor, true);
  wgmmaCommit();
  wgmmaWait<0>();
  settle(d);
  settle(a);
  for (int i = 0; i < 16; ++i)
    out[threadIdx.x * 16 + i] = __float_as_uint(d[i]);
}
PROBE(wgmma_bf16_k, 128) { wgmmaProbe<Bfloat, Major::K>(in, out); }
PROBE(wgmma_bf16_n, 128) { wgmmaProbe<Bfloat, Major::N>(in, out); }
PROBE(wgmma_f16_k, 128) { wgmmaProbe<Half, Major::K>(in, out); }
PROBE(wgmma_f16_n, 128) { wgmmaProbe<Half, Major::N>(in, out); }

#endif
