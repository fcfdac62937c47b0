// C[M,N] = A[M,K] B[K,N], bf16 in, f32 out. A block of 4 warps makes 64 x 64; K goes by 32 through two
// stages of shared memory that cp.async fills while the other is multiplied.
// N a multiple of 64, K of 32; M is free.
typedef unsigned short bf16;
typedef unsigned uint;

__device__ __forceinline__ uint sharedAddress(const void *p) { return (uint)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(void *to, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(to)), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void waitFor() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
__device__ __forceinline__ void loadA(uint (&a)[4], const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(sharedAddress(p)) : "memory");
}
__device__ __forceinline__ void loadB(uint (&b)[2], const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(b[0]), "=r"(b[1]) : "r"(sharedAddress(p)) : "memory");
}
__device__ __forceinline__ void multiply(float (&c)[4], const uint (&a)[4], const uint (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(128) KERNEL(const bf16 *A, const bf16 *B, float *C, const long long *sizes) {
  __shared__ __align__(128) bf16 tileA[2][64][40];
  __shared__ __align__(128) bf16 tileB[2][32][72];
  const int M = sizes[0], N = sizes[1], K = sizes[2];
  const int row0 = blockIdx.x / (N / 64) * 64, column0 = blockIdx.x % (N / 64) * 64;
  if (row0 >= M)
    return;
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  float sums[8][4] = {};
  auto fetch = [&](int stage, int k0) {
#pragma unroll 1
    for (int i = thread; i < 64 * 4; i += 128) {
      const int r = i / 4, c = i % 4 * 8;
      copy16(&tileA[stage][r][c], A + (long long)(row0 + r) * K + k0 + c, row0 + r < M ? 16 : 0);
    }
#pragma unroll 1
    for (int i = thread; i < 32 * 8; i += 128)
      copy16(&tileB[stage][i / 8][i % 8 * 8], B + (long long)(k0 + i / 8) * N + column0 + i % 8 * 8, 16);
    commit();
  };
  fetch(0, 0);
#pragma unroll 1
  for (int k = 0; k < K / 32; ++k) {
    const int stage = k & 1;
    if (k + 1 < K / 32) {
      fetch(stage ^ 1, (k + 1) * 32);
      waitFor<1>();
    } else {
      waitFor<0>();
    }
    __syncthreads(); // Everybody's copies are there.
#pragma unroll
    for (int kk = 0; kk < 2; ++kk) {
      uint a[4];
      loadA(a, &tileA[stage][warp * 16 + lane % 16][kk * 16 + lane / 16 * 8]);
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        uint b[2];
        loadB(b, &tileB[stage][kk * 16 + lane % 16][n * 8]);
        multiply(sums[n], a, b);
      }
    }
    __syncthreads(); // The stage is free.
  }
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const int r = row0 + warp * 16 + lane / 4, c = column0 + n * 8 + lane % 4 * 2;
    if (r < M)
      *(float2 *)&C[(long long)r * N + c] = make_float2(sums[n][0], sums[n][1]);
    if (r + 8 < M)
      *(float2 *)&C[(long long)(r + 8) * N + c] = make_float2(sums[n][2], sums[n][3]);
  }
}
