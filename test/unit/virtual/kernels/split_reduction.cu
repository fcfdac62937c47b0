// *total = sum of x: each block sums a slice into partial[block], the last one to finish sums those.
extern "C" __global__ void __launch_bounds__(128) KERNEL(const float *x, float *partial, unsigned *counter, float *total, const long long *sizes) {
  __shared__ float parts[4];
  __shared__ bool last;
  const int n = sizes[0], thread = threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int i = blockIdx.x * 128 + thread; i < n; i += 128 * gridDim.x)
    sum += x[i];
  for (int o = 16; o; o >>= 1)
    sum += __shfl_xor_sync(0xffffffffu, sum, o);
  if (thread % 32 == 0)
    parts[thread / 32] = sum;
  __syncthreads(); // All parts are there.
  if (thread == 0) {
    partial[blockIdx.x] = parts[0] + parts[1] + parts[2] + parts[3];
    __threadfence(); // The partial sum before the count.
    last = atomicAdd(counter, 1u) == gridDim.x - 1;
  }
  __syncthreads(); // Everybody knows who is last.
  if (!last)
    return;
  sum = 0;
#pragma unroll 1
  for (int i = thread; i < gridDim.x; i += 128)
    sum += partial[i];
  for (int o = 16; o; o >>= 1)
    sum += __shfl_xor_sync(0xffffffffu, sum, o);
  if (thread % 32 == 0)
    parts[thread / 32] = sum;
  __syncthreads(); // All parts of the total are there.
  if (thread == 0)
    *total = parts[0] + parts[1] + parts[2] + parts[3];
}
