//===- gated ------------------------------------------------------------===//
// Grid       T by 4 x 1536 by 32, a block of 32 threads for each program, last axis fastest
// Schedule   form = "direct", lanes = 32, rows = 4, step = 16
//===----------------------------------------------------------------------===//
#include "tile.cuh"

using namespace fusec;

extern "C" __global__ void __launch_bounds__(32) gated(
    const float *input,           // [T, 576] f32
    const void *weightsPacked,    // [1536, 576] q4_1 panels
    const void *weights2Packed,   // [1536, 576] q6_k panels
    float *output,                // [T, 1536] f32
    const long long *sizes) {     // [T, S, B, R, C]
  using L = Lanes<32>;
  const int T = static_cast<int>(sizes[0]);
  const int program = static_cast<int>(blockIdx.x);
  if (program >= (T + 3) / 4 * 48)
    return;
  const int token = program / 48 * 4;
  const int column = program % 48 * 32;
  const Panel<Q4_1, 576> weights(weightsPacked);
  const Panel<Q6_K, 576> weights2(weights2Packed);

  auto sum = splat<float, 4, 32, L>(0.0f);
  auto sum2 = splat<float, 4, 32, L>(0.0f);
  for (int k = 0; k < 576; k += 16) {
    dot<16>(sum, [=](int row, int step) {
      return token + row < T ? input[(token + row) * 576 + k + step] : 0.0f;
    }, [=](int step, int col) {
      return weights.value<16>(column + col, k, step);
    });
    dot<16>(sum2, [=](int row, int step) {
      return token + row < T ? input[(token + row) * 576 + k + step] : 0.0f;
    }, [=](int step, int col) {
      return weights2.value<16>(column + col, k, step);
    });
  }
  const auto product = map<4, 32, L>([=](float sum, float sum2) {
    return sum / (expf(-sum) + 1.0f) * sum2;
  }, sum, sum2);
  store(product, [=](int row, int col, float value) {
    if (token + row < T)
      output[(token + row) * 1536 + column + col] = value;
  });
}
