//===- Rates.cu - kernels that reach what a GPU can do at best ----------------------===//
//
//   empty()                        what a launch costs
//   mma_peak(out, steps)           mma.sync m16n8k16 bf16 from registers: 8 chains per warp, `steps` rounds
//   read_bytes(in, out, words)     every thread sums 16-byte words of `in`, one sum per thread stored
//   random_bytes(out, words, seed) fills with bits that no cache or power saving can guess
//
//   wgmma_peak(out, steps)         sm_90a: wgmma m64n128k16 bf16, A from registers, B from shared memory,
//                                  4 per round and warpgroup, one accumulator
//
// Rates.sm_80.ptx is this file, Rates.sm_90a.ptx its last kernel; `compile.py` makes them.
//
//===-----------------------------------------------------------------------===//
#include "cp_async.cuh"
#include "mma.cuh"
#include "wgmma.cuh"

using namespace fusec;

#if defined(FUSEC_SM_80)

extern "C" __global__ void __launch_bounds__(32) empty() {}

extern "C" __global__ void __launch_bounds__(256) mma_peak(float *out, long long steps) {
  constexpr int chains = 8;
  float c[chains][4] = {};
  const unsigned one = 0x3f803f80u; // Two bf16 ones; the lane makes operands differ.
  const FragmentA a = {{one, one + threadIdx.x, one, one + threadIdx.x}};
  const FragmentB b = {{one, one}};
  for (long long step = 0; step < steps; ++step)
#pragma unroll
    for (int i = 0; i < chains; ++i)
      mma<Bfloat>(c[i], a, b);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < chains; ++i)
    sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
  out[blockIdx.x * 256 + threadIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(256) read_bytes(const uint4 *in, unsigned *out, long long words) {
  const long long stride = 256ll * gridDim.x, start = 256ll * blockIdx.x + threadIdx.x;
  unsigned sum = 0;
#pragma unroll 8
  for (long long i = start; i < words; i += stride) {
    const uint4 w = in[i];
    sum += w.x ^ w.y ^ w.z ^ w.w;
  }
  out[start] = sum;
}

extern "C" __global__ void __launch_bounds__(256) random_bytes(unsigned *out, long long words, long long seed) {
  const long long stride = 256ll * gridDim.x;
  for (long long i = 256ll * blockIdx.x + threadIdx.x; i < words; i += stride) {
    unsigned long long x = static_cast<unsigned long long>(i + seed) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93ull;
    out[i] = static_cast<unsigned>(x >> 32);
  }
}

#elif defined(FUSEC_SM_90A)

extern "C" __global__ void __launch_bounds__(256) wgmma_peak(float *out, long long steps) {
  __shared__ __align__(1024) unsigned b[1024]; // 128 columns x 16 k, K-major: the same for all products.
  for (unsigned i = threadIdx.x; i < 1024; i += 256)
    b[i] = 0x3f803f80u;
  fenceAsyncProxy();
  __syncthreads();
  FragmentA a = {{0x3f803f80u, 0x3f803f80u, 0x3f803f80u, 0x3f803f80u}};
  float d[64] = {};
  const unsigned long long descriptor = matrixDescriptor(sharedAddress(b), 128, 256, false);
  for (long long step = 0; step < steps; ++step) {
    settle(d);
    settle(a);
    wgmmaFence();
#pragma unroll
    for (int i = 0; i < 4; ++i)
      wgmma<Bfloat, 128, Major::K>(d, a, descriptor, true);
    wgmmaCommit();
    wgmmaWait<0>();
    settle(d);
    settle(a);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i)
    sum += d[i];
  out[blockIdx.x * 256 + threadIdx.x] = sum;
}

#endif
