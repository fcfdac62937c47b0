//===- attention.cu - causal attention over pages with tensor cores -----------===//
//
// Compiled with -DOPERAND= (Bfloat, Half), -DCACHE= (Bfloat, Half, float), -DHEAD=,
// -DPAGE=, -DGROUP= (query heads per key head), -DWARPS=; for sm_90a -DWGMMA, and
// -DSPECIALISTS for `attentionBySpecialists`, the same with a warpgroup of producers.
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
#include "page_ring.cuh"
#else
#include "mma_rows.cuh"
#endif

using namespace fusec;

namespace {

constexpr int M = 16 * WARPS, P = 32 * WARPS;
using L = MmaRows<WARPS>;
using Keys = SharedTile<HEAD, PAGE>;
using Values = SharedTile<PAGE, HEAD>;

/// A tile of R x C elements in rows of memory: copied, or rounded on the way, by Threads threads.
template <int Threads, int R, int C>
__device__ void bring(const SharedTile<R, C> &tile, const CACHE *from, int thread) {
  if constexpr (sizeof(CACHE) == 4)
    fill<Threads>(
        tile,
        [&](int row, int col) {
          return toOperands<OPERAND>(loadFloats8(reinterpret_cast<const float *>(from) + row * C + col));
        },
        thread);
  else
    fillAsync<Threads>(tile, [&](int row, int col) { return from + row * C + col; }, thread);
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

/// The tile of queries of this block, and where its operands are.
struct Place {
  const float *q;
  const CACHE *keys, *values;
  const int *table;
  float *out;
  int sequence, head, heads, token0, rows, row0, past;
  long long blocks;
  unsigned char *shared;

  __device__ Place(const float *q, const CACHE *keys, const CACHE *values, const int *table, const int *first,
                   const int *lengths, float *out, const long long *sizes, unsigned char *shared)
      : q(q), keys(keys), values(values), table(table), out(out), heads(static_cast<int>(sizes[2])), blocks(sizes[1]),
        shared(shared) {
    const int tiles = static_cast<int>(sizes[3]), block = static_cast<int>(blockIdx.x);
    sequence = block / tiles / heads;
    head = block / tiles % heads;
    rows = 0;
    row0 = block % tiles * M;
    if (sequence >= sizes[0])
      return;
    token0 = first[sequence];
    const int tokens = first[sequence + 1] - token0;
    rows = tokens * GROUP;
    past = lengths[sequence] - tokens;
  }
  __device__ bool isInside() const { return row0 < rows; }
  __device__ int clampedRow(int row) const { return min(row0 + row, rows - 1); }
  /// Positions that a row sees, and that any row of the tile sees.
  __device__ int visible(int row) const { return past + clampedRow(row) / GROUP + 1; }
  __device__ int end() const { return visible(M - 1); }
  __device__ long long element(int row, int d) const {
    const int r = clampedRow(row);
    return (static_cast<long long>(token0 + r / GROUP) * heads * GROUP + head * GROUP + r % GROUP) * HEAD + d;
  }
  __device__ Keys keysOf(int stage) const { return {shared + stage * (Keys::bytes + Values::bytes)}; }
  __device__ Values valuesOf(int stage) const { return {keysOf(stage).memory + Keys::bytes}; }
  template <int Threads> __device__ void fetch(int stage, int j, int thread) const {
    const long long headElements = HEAD * PAGE;
    const long long at = (table[sequence * blocks + j / PAGE] * static_cast<long long>(heads) + head) * headElements;
    bring<Threads>(keysOf(stage), keys + at, thread);
    bring<Threads>(valuesOf(stage), values + at, thread);
  }
  __device__ RowFragments<M, HEAD, L> queries() const {
    const float scale = rsqrtf(static_cast<float>(HEAD));
    return loadRows<OPERAND, M, HEAD, L>([&](int row, int d) { return q[element(row, d)] * scale; });
  }
  template <class Sum, class Weight> __device__ void write(const Sum &sum, const Weight &weight) const {
    store(map<M, HEAD, L>([](float o, float w) { return o / w; }, sum, weight), [&](int row, int d, float value) {
      if (row0 + row < rows)
        out[element(row, d)] = value;
    });
  }
};

/// The online softmax of a tile's rows.
struct Softmax {
  Tile<float, M, 1, L> most = splat<float, M, 1, L>(-infinity<float>()), weight{}, repair{};

  /// Scores of positions j .. j + PAGE - 1 become weights; `repair` is what sums so far have to be multiplied by.
  __device__ Tile<float, M, PAGE, L> fold(const Place &place, int j, Tile<float, M, PAGE, L> score) {
    int exchange = 0;
    score = mapAt<M, PAGE, L>(
        [&](int row, int col, float s) { return j + col < place.visible(row) ? s : -infinity<float>(); }, score);
    const auto next = map<M, 1, L>(greater, most, reduce(exchange, greater, score));
    repair = map<M, 1, L>([](float old, float now) { return exp2f((old - now) * 1.44269504f); }, most, next);
    const auto part = map<M, PAGE, L>([](float s, float m) { return exp2f((s - m) * 1.44269504f); }, score, next);
    weight = map<M, 1, L>([](float w, float r, float p) { return fused(w, r, p); }, weight, repair,
                          reduce(exchange, plus, part));
    most = next;
    return part;
  }
  __device__ Tile<float, M, HEAD, L> repaired(const Tile<float, M, HEAD, L> &sum) const {
    return map<M, HEAD, L>([](float o, float r) { return o * r; }, sum, repair);
  }
};

} // namespace

extern "C" __global__ void __launch_bounds__(P)
    attention(const float *q, const CACHE *keys, const CACHE *values, const int *table, const int *first,
              const int *lengths, float *out, const long long *sizes) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const Place place(q, keys, values, table, first, lengths, out, sizes, shared);
  if (!place.isInside())
    return;
  const auto query = place.queries();
  Softmax softmax;
  Tile<float, M, HEAD, L> sum{};
  const auto fetch = [&](int stage, int j) { place.fetch<P>(stage, j, threadIdx.x); };
  const auto step = [&](int stage, int j) {
    Tile<float, M, PAGE, L> score{};
    multiply(score, query, place.keysOf(stage));
    const auto part = softmax.fold(place, j, score);
    sum = softmax.repaired(sum);
    multiply(sum, asRows<OPERAND>(part), place.valuesOf(stage));
  };
  pipelined<2, L>(0, place.end(), PAGE, fetch, step);
  place.write(sum, softmax.weight);
}

#ifdef SPECIALISTS
/// The scores of the next page are multiplied while this page's are exponentiated.
extern "C" __global__ void __launch_bounds__(32 * (WARPS + 4), 1)
    attentionBySpecialists(const float *q, const CACHE *keys, const CACHE *values, const int *table, const int *first,
                           const int *lengths, float *out, const long long *sizes) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const Place place(q, keys, values, table, first, lengths, out, sizes, shared);
  if (!place.isInside())
    return;
  PageRing<3, WARPS> ring(shared + 3 * (Keys::bytes + Values::bytes));
  ring.start();
  if (ring.isProducer()) {
    giveRegisters<sizeof(CACHE) == 4 ? 72 : 40>();
    ring.produce(0, place.end(), PAGE, [&](int stage, int j) { place.fetch<128>(stage, j, ring.producer()); });
    return;
  }
  takeRegisters<sizeof(CACHE) == 4 ? 216 : 232>();
  auto query = place.queries();
  Softmax softmax;
  Tile<float, M, HEAD, L> sum{};
  Tile<float, M, PAGE, L> score{};
  ring.wait();
  startDot<OPERAND>(score, query, place.keysOf(ring.stage()));
  finishDots<0>(score, query);
  auto part = asRows<OPERAND>(softmax.fold(place, 0, score));
  const int end = place.end();
#pragma unroll 1
  for (int j = PAGE; j < end; j += PAGE) {
    score = Tile<float, M, PAGE, L>{};
    ring.wait(1);
    startDot<OPERAND>(score, query, place.keysOf(ring.stage(1)));
    startDot<OPERAND>(sum, part, place.valuesOf(ring.stage()));
    finishDots<1>(score, query);
    const auto next = asRows<OPERAND>(softmax.fold(place, j, score));
    finishDots<0>(sum, part);
    ring.release();
    ring.advance();
    sum = softmax.repaired(sum);
    part = next;
  }
  startDot<OPERAND>(sum, part, place.valuesOf(ring.stage()));
  finishDots<0>(sum, part);
  ring.release();
  place.write(sum, softmax.weight);
}
#endif
