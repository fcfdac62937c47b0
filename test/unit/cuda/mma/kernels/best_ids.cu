//===- best_ids.cu - the best id of each row, by tiles ---------------------------===//
//
//   scores [rows, count], parameters [rows]; words [rows, count / 16, rounded up]; chosen: ids [rows]
//   sizes = {rows, count}; fold: a block of 96 threads for each 8 rows and LANES columns
//
//===----------------------------------------------------------------------===//
#include "best_ids.cuh"
#include "flat_layout.cuh"
#include "tile.cuh"

using namespace fusec;

extern "C" __global__ void __launch_bounds__(96)
    fold(const float *scores, const SamplingRow *sampling, SamplingMass *words, const long long *sizes) {
  const int rows = static_cast<int>(sizes[0]), count = static_cast<int>(sizes[1]), perRow = (count + 15) / 16;
  const int tiles = (count + LANES - 1) / LANES, item = blockIdx.x / tiles * 8, column = blockIdx.x % tiles * LANES;
  const auto tile = load<float, 8, LANES, Flat<96>>([=](int row, int col) {
    return item + row < rows && column + col < count ? scores[(item + row) * count + column + col] : 0.0f;
  });
  __shared__ SamplingMass best[8];
  clearBest(best);
  store(tile, [=](int row, int col, float value) {
    if (item + row < rows && column + col < count)
      offerId(best[row], column + col, value, sampling[item + row].ids);
  });
  publishBest<8, LANES / 16>(best, [=](int row, int unit) {
    return item + row < rows && column / 16 + unit < perRow ? words + ((item + row) * perRow + column / 16 + unit)
                                                            : nullptr;
  });
}

extern "C" __global__ void __launch_bounds__(64) merge(const SamplingMass *words, int *chosen, const long long *sizes) {
  __shared__ __align__(16) unsigned char shared[samplingScratchBytes];
  const int perRow = (static_cast<int>(sizes[1]) + 15) / 16;
  const int id = bestOfWords<64>(words + blockIdx.x * perRow, perRow, shared);
  if (threadIdx.x == 0)
    chosen[blockIdx.x] = id;
}
