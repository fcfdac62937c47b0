//===- attention_tile ---------------------------------------------------===//
// Implements blk.*.attention
// Grid       W x 3 x 3 by 3, a block of 128 threads for each program, last axis fastest
// Schedule   block = 64, form = "cascade-tile", rows = 3, split = 256, threads = 128, tokens = 21
// Tiles      64 rows, 63 in use, 16 in the mma accumulators of each warp
// Shared     49664 bytes
//===----------------------------------------------------------------------===//
#include "tile.cuh"
#include "mma_rows.cuh"

using namespace fusec;

extern "C" __global__ void __launch_bounds__(128) attention_tile(
    const int *query_tiles,   // [W, 2] i32
    const int *positions,     // [T] i32
    const float *input,       // [T, 960] f32
    const float *input2,      // [T, 32] f32
    const float *input3,      // [T, 32] f32
    const int *sequences,     // [T] i32
    const Bfloat *keys,       // [S, C, 3, 64] bf16 pages [H][D][P]
    const int *block_table,   // [S, B] i32
    const Bfloat *values,     // [S, C, 3, 64] bf16 pages [H][P][D]
    float *output,            // [T, 576] f32
    const float *input4,      // [16, 3, 3, B, 66] f32
    const long long *sizes) { // [T, S, B, R, C, W]
  using L = Lanes<128>;
  using Rows = MmaRows<4>;
  const int T = static_cast<int>(sizes[0]);
  const int S = static_cast<int>(sizes[1]);
  const int B = static_cast<int>(sizes[2]);
  const int C = static_cast<int>(sizes[4]);
  const int W = static_cast<int>(sizes[5]);
  const int program = static_cast<int>(blockIdx.x);
  if (program >= W * 3)
    return;
  const int item = program / 3;
  const int head = program % 3;
  extern __shared__ __align__(1024) unsigned char shared[];
  using Keys = SharedTile<64, 64>;
  const auto keysOf = [=](int stage) { return Keys{shared + stage * 16384}; };
  using Values = SharedTile<64, 64>;
  const auto valuesOf = [=](int stage) { return Values{shared + stage * 16384 + 8192}; };
  Exchange<512> exchange(shared + 49152);

  const int token = query_tiles[item * 2];
  const int tokens = query_tiles[item * 2 + 1];
  const int rows = tokens * 3;
  const auto positionsTile = load<int, 1, 64, L>([=](int, int col) {
    return inside(token + col / 3, T) ? positions[token + col / 3] : 0;
  });
  const auto bounds = mapAt<1, 64, L>([=](int, int col, int positionsTile) {
    return col < rows ? positionsTile + 1 : -2147483647 - 1;
  }, positionsTile);
  const int bound = scalar(reduce(exchange, [](int a, int b) { return larger(a, b); }, bounds));
  const int end = larger(smaller(C, bound), 0);
  const auto query = loadRows<Bfloat, 64, 64, Rows>([=](int row, int col) {
    if (row >= rows || !inside(token + row / 3, T))
      return 0.0f;
    const float inputValue = input[(token + row / 3) * 960 + head * 192 + row % 3 * 64 + col];
    const float inputValue2 = input[(token + row / 3) * 960 + row % 3 * 64 + head * 192 + (col ^ 1)];
    const float product = inputValue * input2[(token + row / 3) * 32 + col / 2];
    const float product2 = inputValue2 * input3[(token + row / 3) * 32 + col / 2];
    return (col & 1) == 0 ? product - product2 : product + product2;
  });
  const int sequence = inside(token, T) ? sequences[token] : 0;
  const auto positionsTile2 = load<int, 64, 1, Rows>([=](int row, int) {
    return row < rows && inside(token + row / 3, T) ? positions[token + row / 3] : 0;
  });
  auto mostOfAll = splat<float, 64, 1, Rows>(-infinity<float>());
  auto totalOfAll = splat<float, 64, 1, Rows>(0.0f);
  Parked<float, 64, 64, Rows> sumOfAll(shared + 32768);
  sumOfAll = splat<float, 64, 64, Rows>(0.0f);
  for (int i = 0; i < end; i += 256) {
    const int partEnd = smaller(i + 256, end);
    auto most = splat<float, 64, 1, Rows>(-infinity<float>());
    auto total = splat<float, 64, 1, Rows>(0.0f);
    auto sum = splat<float, 64, 64, Rows>(0.0f);
    const auto fetch = [&](int stage, int start) {
      const int filled = smaller(partEnd - start, 64);
      const int pageNumber = block_table[clamped(sequence, S - 1) * B + smaller(start / 64, B - 1)];
      auto *const keysPage = page(keys, pageNumber, 1474560);
      fillAsync<128>(keysOf(stage), [=](int row, int col) { return &keysPage[(head * 64 + row) * 64 + col]; });
      auto *const valuesPage = page(values, pageNumber, 1474560);
      fillAsync<128>(valuesOf(stage), [=](int row, int col) {
        return row < filled ? &valuesPage[(head * 64 + row) * 64 + col] : nullptr;
      });
    };
    const auto compute = [&](int stage, int start) {
      Tile<float, 64, 64, Rows> score{};
      dot<Bfloat>(score, query, keysOf(stage));
      score = mapAt<64, 64, Rows>([=](int, int col, int positionsTile2, float score) {
        return start + col <= positionsTile2 ? score * 0.125f : -infinity<float>();
      }, positionsTile2, score);
      const auto blockMost = reduce([](float a, float b) { return maximum(a, b); }, score);
      const auto mostNow = map<64, 1, Rows>([=](float most, float blockMost) {
        return maximum(most, blockMost);
      }, most, blockMost);
      const auto base = map<64, 1, Rows>([=](float mostNow) {
        return mostNow == -infinity<float>() ? 0.0f : mostNow;
      }, mostNow);
      const auto repair = map<64, 1, Rows>([=](float mostNow, float most) {
        return most == mostNow ? 1.0f : expf(most - mostNow);
      }, mostNow, most);
      const auto weight = map<64, 64, Rows>([=](float score, float base) {
        return base == -infinity<float>() ? 0.0f : expf(score - base);
      }, score, base);
      const auto blockTotal = reduce([](float a, float b) { return a + b; }, weight);
      total = map<64, 1, Rows>([=](float total, float repair, float blockTotal) {
        return total * repair + blockTotal;
      }, total, repair, blockTotal);
      sum = map<64, 64, Rows>([=](float sum, float repair) { return sum * repair; }, sum, repair);
      dot<Bfloat>(sum, asRows<Bfloat>(weight), valuesOf(stage));
      most = mostNow;
    };
    pipelined<2, Rows>(i, partEnd, 64, fetch, compute);
    const auto mostOfBoth = map<64, 1, Rows>([=](float mostOfAll, float most) {
      return maximum(mostOfAll, most);
    }, mostOfAll, most);
    const auto negative = map<64, 1, Rows>([=](float mostOfBoth) { return -mostOfBoth; }, mostOfBoth);
    const auto repairOfAll = map<64, 1, Rows>([=](float mostOfAll, float negative, float mostOfBoth) {
      return mostOfAll == mostOfBoth ? 1.0f : expf(negative + mostOfAll);
    }, mostOfAll, negative, mostOfBoth);
    const auto repair = map<64, 1, Rows>([=](float most, float negative, float mostOfBoth) {
      return most == mostOfBoth ? 1.0f : expf(negative + most);
    }, most, negative, mostOfBoth);
    totalOfAll = map<64, 1, Rows>([=](float totalOfAll, float repairOfAll, float total, float repair) {
      return totalOfAll * repairOfAll + total * repair;
    }, totalOfAll, repairOfAll, total, repair);
    sumOfAll = map<64, 64, Rows>([=](float sumOfAll, float repairOfAll, float sum, float repair) {
      return sumOfAll * repairOfAll + sum * repair;
    }, sumOfAll, repairOfAll, sum, repair);
    mostOfAll = mostOfBoth;
  }
  const auto result = map<64, 64, Rows>([=](float totalOfAll, float sumOfAll) {
    return totalOfAll == 0.0f ? 0.0f : sumOfAll / totalOfAll;
  }, totalOfAll, sumOfAll);
  store(result, [=](int row, int col, float value) {
    if (row < rows && inside(token + row / 3, T))
      output[(token + row / 3) * 576 + head * 192 + row % 3 * 64 + col] = value;
  });
}
