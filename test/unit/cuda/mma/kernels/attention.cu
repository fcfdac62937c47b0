//===- attention.cu - causal attention over pages with tensor cores -----------===//
//
// Compiled with -DOPERAND= (Bfloat, Half), -DCACHE= (Bfloat, Half, float), -DHEAD=,
// -DPAGE=, -DGROUP= (query heads per key head), -DWARPS=, and -DWGMMA for sm_90a.
//
//   q, out [tokens, heads * GROUP, HEAD]; the tokens of each sequence lie side by
//   side: sequence s has those in [first[s], first[s + 1]), the last of lengths[s]
//   positions. Pages [heads][HEAD][PAGE] (keys), [heads][PAGE][HEAD] (values).
//   sizes = {sequences, blocks per sequence in the table, heads, row tiles per sequence}
//
// A row of the tile is a query: (token, head of the group), the head fastest. One
// block: a tile of 16 WARPS rows of one sequence and key head.
//
//===----------------------------------------------------------------------===//
#include "tile.cuh"

#ifdef WGMMA
#include "mma_rows_warpgroup.cuh"
#else
#include "mma_rows.cuh"
#endif

using namespace fusec;

namespace {

constexpr int M = 16 * WARPS, P = 32 * WARPS;
using L = MmaRows<WARPS>;
using Keys = SharedTile<HEAD, PAGE>;
using Values = SharedTile<PAGE, HEAD>;

/// A tile of R x C elements in rows of memory: copied, or rounded on the way.
template <int R, int C> __device__ void bring(const SharedTile<R, C> &tile, const CACHE *from) {
  if constexpr (sizeof(CACHE) == 4)
    fill<P>(tile, [&](int row, int col) {
      return toOperands<OPERAND>(loadFloats8(reinterpret_cast<const float *>(from) + row * C + col));
    });
  else
    fillAsync<P>(tile, [&](int row, int col) { return from + row * C + col; });
}

template <class A, int R, int C, int N>
__device__ void multiply(Tile<float, M, N, L> &sum, const A &a, const SharedTile<R, C> &b) {
#ifdef WGMMA
  dotWarpgroup<OPERAND>(sum, a, b);
#else
  dot<OPERAND>(sum, a, b);
#endif
}

__device__ float greater(float a, float b) { return maximum(a, b); }
__device__ float plus(float a, float b) { return a + b; }

} // namespace

extern "C" __global__ void __launch_bounds__(P)
    attention(const float *q, const CACHE *keys, const CACHE *values, const int *table, const int *first,
              const int *lengths, float *out, const long long *sizes) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const int heads = static_cast<int>(sizes[2]), tiles = static_cast<int>(sizes[3]);
  const int block = static_cast<int>(blockIdx.x), sequence = block / tiles / heads, head = block / tiles % heads;
  if (sequence >= sizes[0])
    return;
  const int token0 = first[sequence], tokens = first[sequence + 1] - token0, rows = tokens * GROUP;
  const int row0 = block % tiles * M, past = lengths[sequence] - tokens;
  if (row0 >= rows)
    return;
  const auto token = [&](int row) { return min(row0 + row, rows - 1) / GROUP; };
  const auto element = [&](int row, int d) {
    const int r = min(row0 + row, rows - 1);
    return (static_cast<long long>(token0 + r / GROUP) * heads * GROUP + head * GROUP + r % GROUP) * HEAD + d;
  };
  const float scale = rsqrtf(static_cast<float>(HEAD));
  const auto query = loadRows<OPERAND, M, HEAD, L>([&](int row, int d) { return q[element(row, d)] * scale; });

  const long long headElements = HEAD * PAGE, pageElements = heads * headElements;
  const auto keysOf = [&](int stage) { return Keys{shared + stage * (Keys::bytes + Values::bytes)}; };
  const auto valuesOf = [&](int stage) { return Values{keysOf(stage).memory + Keys::bytes}; };
  const auto fetch = [&](int stage, int j) {
    const long long at = table[sequence * sizes[1] + j / PAGE] * pageElements + head * headElements;
    bring(keysOf(stage), keys + at);
    bring(valuesOf(stage), values + at);
  };

  Tile<float, M, 1, L> most = splat<float, M, 1, L>(-infinity<float>()), weight{};
  Tile<float, M, HEAD, L> sum{};
  int exchange = 0;
  const auto step = [&](int stage, int j) {
    Tile<float, M, PAGE, L> score{};
    multiply(score, query, keysOf(stage));
    score = mapAt<M, PAGE, L>(
        [&](int row, int col, float s) { return j + col <= past + token(row) ? s : -infinity<float>(); }, score);
    const auto next = map<M, 1, L>(greater, most, reduce(exchange, greater, score));
    const auto repair = map<M, 1, L>([](float old, float now) { return exp2f((old - now) * 1.44269504f); }, most, next);
    const auto part = map<M, PAGE, L>([](float s, float m) { return exp2f((s - m) * 1.44269504f); }, score, next);
    weight = map<M, 1, L>([](float w, float r, float p) { return fused(w, r, p); }, weight, repair,
                          reduce(exchange, plus, part));
    sum = map<M, HEAD, L>([](float o, float r) { return o * r; }, sum, repair);
    multiply(sum, asRows<OPERAND>(part), valuesOf(stage));
    most = next;
  };
  pipelined<2, L>(0, past + token(M - 1) + 1, PAGE, fetch, step);

  const auto result = map<M, HEAD, L>([](float o, float w) { return o / w; }, sum, weight);
  store(result, [&](int row, int d, float value) {
    if (row0 + row < rows)
      out[element(row, d)] = value;
  });
}
