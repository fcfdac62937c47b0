//===- append -----------------------------------------------------------===//
// Grid       T x 3, a block of 64 threads for each program, last axis fastest
// Schedule   form = "rows"
//===----------------------------------------------------------------------===//
#include "tile.cuh"

using namespace fusec;

extern "C" __global__ void __launch_bounds__(64) append(
    const int *ids,           // [T] i32
    const int *ids2,          // [T] i32
    const float *input,       // [T, 960] f32
    const float *input2,      // [T, 32] f32
    const float *input3,      // [T, 32] f32
    Half *keys,               // [S, C, 3, 64] f16 pages [H][D][P]
    const int *blockTable,    // [S, B] i32
    Half *values,             // [S, C, 3, 64] f16 pages [H][P][D]
    const long long *sizes) { // [T, S, B, R, C]
  using L = Lanes<64>;
  const int T = static_cast<int>(sizes[0]);
  const int S = static_cast<int>(sizes[1]);
  const int B = static_cast<int>(sizes[2]);
  const int C = static_cast<int>(sizes[4]);
  const int program = static_cast<int>(blockIdx.x);
  if (program >= T * 3)
    return;
  const int token = program / 3;
  const int part = program % 3;

  const int id = ids[token];
  const int id2 = ids2[token];
  const auto inputTile = load<float, 1, 64, L>([=](int, int col) {
    return input[token * 960 + part * 64 + col + 576];
  });
  const auto inputTile2 = load<float, 1, 64, L>([=](int, int col) {
    return input[token * 960 + part * 64 + (col ^ 1) + 576];
  });
  const auto inputTile3 = load<float, 1, 64, L>([=](int, int col) { return input2[token * 32 + col / 2]; });
  const auto inputTile4 = load<float, 1, 64, L>([=](int, int col) { return input3[token * 32 + col / 2]; });
  const auto chosen = mapAt<1, 64, L>([=](int, int col, float inputTile, float inputTile3, float inputTile2, float inputTile4) {
    const float product = inputTile * inputTile3;
    const float product2 = inputTile2 * inputTile4;
    return (col & 1) == 0 ? product - product2 : product + product2;
  }, inputTile, inputTile3, inputTile2, inputTile4);
  if (inside(id, S) && inside(id2, C)) {
    auto *const keysPage = page(keys, blockTable[id * B + id2 / 64], 24576);
    store(chosen, [=](int, int col, float value) {
      keysPage[(part * 64 + col) * 64 + id2 % 64] = Half(value);
    });
  }
  const auto inputTile5 = load<float, 1, 64, L>([=](int, int col) {
    return input[token * 960 + part * 64 + col + 768];
  });
  if (inside(id, S) && inside(id2, C)) {
    auto *const valuesPage = page(values, blockTable[id * B + id2 / 64], 24576);
    store(inputTile5, [=](int, int col, float value) {
      valuesPage[(part * 64 + id2 % 64) * 64 + col] = Half(value);
    });
  }
}
