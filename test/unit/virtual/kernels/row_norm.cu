// y = (x - mean) / sqrt(variance + 1e-5) * w for each row; one block of 256 threads per row. Two reductions
// over the block use the same 8 words of shared memory.
extern "C" __global__ void __launch_bounds__(256) KERNEL(const float *x, const float *w, float *y, const long long *sizes) {
  __shared__ float parts[8];
  const int rows = sizes[0], width = sizes[1], row = blockIdx.x;
  if (row >= rows)
    return;
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  auto sumOverBlock = [&](float v) {
    for (int o = 16; o; o >>= 1)
      v += __shfl_xor_sync(0xffffffffu, v, o);
    __syncthreads(); // The previous sum was read.
    if (lane == 0)
      parts[warp] = v;
    __syncthreads(); // All parts are there.
    float sum = 0;
    for (int i = 0; i < 8; ++i)
      sum += parts[i];
    return sum;
  };
  float sum = 0;
#pragma unroll 1
  for (int i = thread; i < width; i += 256)
    sum += x[row * width + i];
  const float mean = sumOverBlock(sum) / width;
  float squares = 0;
#pragma unroll 1
  for (int i = thread; i < width; i += 256)
    squares += (x[row * width + i] - mean) * (x[row * width + i] - mean);
  const float scale = rsqrtf(sumOverBlock(squares) / width + 1e-5f);
#pragma unroll 1
  for (int i = thread; i < width; i += 256)
    y[row * width + i] = (x[row * width + i] - mean) * scale * w[i];
}
