//===- attention --------------------------------------------------------===//
// Grid       T x 2, a block of 64 threads for each program, last axis fastest
// Shared     2304 bytes
//===----------------------------------------------------------------------===//
#include "tile.cuh"

using namespace fusec;

extern "C" __global__ void __launch_bounds__(64) attention(
    const float *input,       // [T, 384] f32
    const float *keys,        // [S, C, 2, 64] f32 pages [H][D][P]
    const float *values,      // [S, C, 2, 64] f32 pages [H][P][D]
    const int *blockTable,    // [S, B] i32
    const int *ids,           // [T] i32
    const int *ids2,          // [T] i32
    float *output,            // [T, 384] f32
    const long long *sizes) { // [T, S, B, R, C]
  using L = Lanes<64>;
  const int T = static_cast<int>(sizes[0]);
  const int S = static_cast<int>(sizes[1]);
  const int B = static_cast<int>(sizes[2]);
  const int C = static_cast<int>(sizes[4]);
  const int program = static_cast<int>(blockIdx.x);
  if (program >= T * 2)
    return;
  const int token = program / 2;
  const int part = program % 2;
  extern __shared__ __align__(16) unsigned char shared[];
  float *const scratch = reinterpret_cast<float *>(shared); // [3, 64] f32
  Exchange<1536> exchange(shared + 768);

  const int id = ids[token];
  const int id2 = ids2[token];
  const int end = smaller(id2 + 1, C);
  const int start = larger(id2 - 49, 0);
  const int multiple = start / 64 * 64;
  auto largest = splat<float, 3, 1, L>(-infinity<float>());
  auto sum = splat<float, 3, 64, L>(0.0f);
  auto sum2 = splat<float, 3, 64, L>(0.0f);
  for (int i = multiple; i < end; i += 64) {
    auto sum3 = splat<float, 3, 64, L>(0.0f);
    for (int k = 0; k < 64; k += 16) {
      auto *const keysPage = page(keys, blockTable[clamped(id, S - 1) * B + i / 64], 32768);
      dot<16>(sum3, [=](int row, int step) {
        return input[token * 384 + (part * 3 + row) * 64 + k + step];
      }, [=](int step, int col) {
        return keysPage[(part * 64 + k + step) * 64 + col];
      });
    }
    const auto product = mapAt<3, 64, L>([=](int, int col, float sum3) {
      return i + col >= start && i + col <= id2 ? sum3 * 0.125f : -infinity<float>();
    }, sum3);
    const auto largest2 = reduce(exchange, [](float a, float b) { return maximum(a, b); }, product);
    const auto largest3 = map<3, 1, L>([=](float largest, float largest2) {
      return maximum(largest, largest2);
    }, largest, largest2);
    const auto largest4 = map<3, 1, L>([=](float largest3) {
      return largest3 == -infinity<float>() ? 0.0f : largest3;
    }, largest3);
    const auto exponential = map<3, 1, L>([=](float largest, float largest4) {
      return expf(largest - largest4);
    }, largest, largest4);
    const auto exponential2 = map<3, 64, L>([=](float product, float largest4) {
      return expf(product - largest4);
    }, product, largest4);
    sum = map<3, 64, L>([=](float sum, float exponential, float exponential2) {
      return sum * exponential + exponential2;
    }, sum, exponential, exponential2);
    auto product2 = map<3, 64, L>([=](float sum2, float exponential) {
      return sum2 * exponential;
    }, sum2, exponential);
    barrier<L>();
    store(exponential2, [=](int row, int col, float value) { scratch[row * 64 + col] = value; });
    const int end2 = smaller(end - i, 64);
    const int multiple2 = end2 / 16 * 16;
    barrier<L>();
    for (int k = 0; k < multiple2; k += 16) {
      auto *const valuesPage = page(values, blockTable[clamped(id, S - 1) * B + i / 64], 32768);
      dot<16>(product2, [=](int row, int step) {
        return scratch[row * 64 + k + step];
      }, [=](int step, int col) {
        return valuesPage[(part * 64 + k + step) * 64 + col];
      });
    }
    for (int k = multiple2; k < end2; ++k) {
      auto *const valuesPage = page(values, blockTable[clamped(id, S - 1) * B + i / 64], 32768);
      dot<1>(product2, [=](int row, int) {
        return scratch[row * 64 + k];
      }, [=](int, int col) {
        return valuesPage[(part * 64 + k) * 64 + col];
      });
    }
    largest = largest3;
    sum2 = product2;
  }
  const auto total = reduce(exchange, [](float a, float b) { return a + b; }, sum);
  const auto quotient = map<3, 64, L>([=](float sum2, float total) { return sum2 / total; }, sum2, total);
  store(quotient, [=](int row, int col, float value) {
    output[token * 384 + (part * 3 + row) * 64 + col] = value;
  });
}
