//===- gate_up_best -----------------------------------------------------===//
// Grid       T by 8 x 1536 by 16, a block of 128 threads for each program, last axis fastest
// Schedule   form = "sliced", lanes = 16, rows = 8, slice = 128, step = 32, threads = 128
// Result     the best id of each row's scores, not the scores
// Shared     12320 bytes
//===----------------------------------------------------------------------===//
#include "weight_product.cuh"
#include "best_ids.cuh"

using namespace fusec;

extern "C" __global__ void __launch_bounds__(128) gate_up_best(
    const float *input,            // [T, 512] f32
    const float *vector,           // [512] f32
    const void *weightsPacked,     // [1536, 512] q4_k panels
    const void *weights2Packed,    // [1536, 512] q4_k panels
    SamplingMass *words,           // for each 16 of [T, 1536] f32
    const SamplingRow *sampling,   // [R]
    const long long *sizes) {      // [T, S, B, R, C]
  using L = Lanes<128>;
  using Sums = Flat<128>;
  const int T = static_cast<int>(sizes[0]);
  const int program = static_cast<int>(blockIdx.x);
  if (program >= (T + 7) / 8 * 96)
    return;
  const int token = program / 96 * 8;
  const int column = program % 96 * 16;
  const PanelWeight<Q4_K, Bfloat, 512> weights{weightsPacked, 1536};
  const PanelWeight<Q4_K, Bfloat, 512> weights2{weights2Packed, 1536};
  extern __shared__ __align__(128) unsigned char shared[];
  void *const products = shared; // 4096 bytes
  float *const scaleRows = reinterpret_cast<float *>(shared + 4096); // [8] f32
  Exchange<8192> exchange(shared + 4128);

  auto sum = splat<float, 8, 128, L>(0.0f);
  for (int i = 0; i < 512; i += 128) {
    const auto inputTile = load<float, 8, 128, L>([=](int row, int col) {
      return token + row < T ? input[(token + row) * 512 + i + col] : 0.0f;
    });
    sum = map<8, 128, L>([=](float inputTile, float sum) {
      return sum + inputTile * inputTile;
    }, inputTile, sum);
  }
  const auto total = reduce(exchange, [](float a, float b) { return a + b; }, sum);
  const auto scale = map<8, 1, L>([=](float total) { return 1.0f / sqrtf(total / 512.0f + 1e-05f); }, total);
  store(scale, [=](int row, int, float value) { scaleRows[row] = value; });
  barrier<L>();
  const auto sums = weightProductSpread<8, 16, 128, 4>(together(weights, weights2), column, [=](int row, int k) {
    const Floats8 x = each8([=](float inputTile, float vectorTile) {
      return inputTile * scaleRows[row] * vectorTile;
    }, loadFloats8(input + smaller(token + row, T - 1) * 512 + k), loadFloats8(vector + k));
    return toOperands<Bfloat>(x);
  }, products);
  const auto &weightsSum = sums.tile[0];
  const auto &weights2Sum = sums.tile[1];
  const auto product = map<8, 16, Sums>([=](float weightsSum, float weights2Sum) {
    return weightsSum / (expf(-weightsSum) + 1.0f) * weights2Sum;
  }, weightsSum, weights2Sum);
  __shared__ SamplingMass best[8];
  clearBest(best);
  store(product, [=](int row, int col, float value) {
    if (token + row < T)
      offerId(best[row], column + col, value, sampling[token + row].ids);
  });
  publishBest<8, 1>(best, [=](int row, int) {
    return token + row < T ? words + ((token + row) * 96 + column / 16) : nullptr;
  });
}
