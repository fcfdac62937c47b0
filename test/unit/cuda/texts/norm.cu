//===- norm_rows --------------------------------------------------------===//
// Grid       T, a block of 64 threads for each program, last axis fastest
// Schedule   form = "rows"
// Shared     512 bytes
//===----------------------------------------------------------------------===//
#include "tile.cuh"

using namespace fusec;

extern "C" __global__ void __launch_bounds__(64) norm_rows(
    const float *input,       // [T, 576] f32
    const float *vector,      // [576] f32
    float *output,            // [T, 576] f32
    const long long *sizes) { // [T, S, B, R, C]
  using L = Lanes<64>;
  const int T = static_cast<int>(sizes[0]);
  const int program = static_cast<int>(blockIdx.x);
  if (program >= T)
    return;
  const int token = program;
  extern __shared__ __align__(16) unsigned char shared[];
  Exchange<512> exchange(shared);

  auto sum = splat<float, 1, 64, L>(0.0f);
  for (int i = 0; i < 576; i += 64) {
    const auto inputTile = load<float, 1, 64, L>([=](int, int col) { return input[token * 576 + i + col]; });
    sum = map<1, 64, L>([=](float inputTile, float sum) {
      return sum + inputTile * inputTile;
    }, inputTile, sum);
  }
  const float total = scalar(reduce(exchange, [](float a, float b) { return a + b; }, sum));
  const float scale = 1.0f / sqrtf(total / 576.0f + 1e-05f);
  for (int i = 0; i < 576; i += 64) {
    const auto inputTile = load<float, 1, 64, L>([=](int, int col) { return input[token * 576 + i + col]; });
    const auto vectorTile = load<float, 1, 64, L>([=](int, int col) { return vector[i + col]; });
    const auto product = map<1, 64, L>([=](float inputTile, float vectorTile) {
      return inputTile * scale * vectorTile;
    }, inputTile, vectorTile);
    store(product, [=](int, int col, float value) { output[token * 576 + i + col] = value; });
  }
}
