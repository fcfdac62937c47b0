//===- sampling.cu - one token per row -----------------------------------------===//
//
//   scores [rows, count], parameters [rows]; chosen: ids [rows]
//   sizes = {rows, count}
//
//===----------------------------------------------------------------------===//
#include "sampling.cuh"

using namespace fusec;

extern "C" __global__ void __launch_bounds__(256)
    sample(const float *scores, const SamplingRow *parameters, int *chosen, const long long *sizes) {
  __shared__ __align__(16) unsigned char shared[samplingScratchBytes];
  const int row = static_cast<int>(blockIdx.x), count = static_cast<int>(sizes[1]);
  if (row >= sizes[0])
    return;
  const int id = chooseToken<256>(scores + static_cast<long long>(row) * count, parameters[row], shared);
  if (threadIdx.x == 0)
    chosen[row] = id;
}
