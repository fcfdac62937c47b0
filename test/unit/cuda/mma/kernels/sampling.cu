//===- sampling.cu - one token per row -----------------------------------------===//
//
//   scores [rows, count], uniform [rows]; best and drawn: ids [rows]
//   sizes = {rows, count, top-k, 1e6 top-p, 1e6 min-p, 1e6 temperature}
//
//===----------------------------------------------------------------------===//
#include "sampling.cuh"

using namespace fusec;

extern "C" __global__ void __launch_bounds__(256)
    sample(const float *scores, const double *uniform, int *best, int *drawn, const long long *sizes) {
  __shared__ __align__(16) unsigned char shared[samplingScratchBytes];
  const int row = static_cast<int>(blockIdx.x), count = static_cast<int>(sizes[1]);
  if (row >= sizes[0])
    return;
  const float *mine = scores + static_cast<long long>(row) * count;
  const SamplingChoice choice = {.temperature = static_cast<float>(sizes[5]) / 1e6f,
                                 .topK = static_cast<int>(sizes[2]),
                                 .topP = static_cast<float>(sizes[3]) / 1e6f,
                                 .minP = static_cast<float>(sizes[4]) / 1e6f};
  const int first = bestToken<256>(mine, count, shared);
  const int second = sampleToken<256>(mine, count, choice, uniform[row], shared);
  if (threadIdx.x == 0) {
    best[row] = first;
    drawn[row] = second;
  }
}
