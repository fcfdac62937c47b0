//===- weight_product.cu - y = x W^T by each form of weight_product.cuh -------===//
//
// Compiled with -DWEIGHT=, -DOPERAND=, -DCOLUMNS=, -DSLICE= and, for `spread`,
// -DSPREAD_TOKENS= and -DSPREAD_ROWS=.
//
//   y[tokens, rows] = x[tokens, COLUMNS] W[rows, COLUMNS]^T     sizes = {tokens, rows}
//
// One block per tile of tokens x rows; rows run fastest.
//
//===----------------------------------------------------------------------===//
#include "weight_product.cuh"
#ifdef STREAMED
#include "weight_stream.cuh"
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#include "weight_product_warpgroup.cuh"
#endif

using namespace fusec;

namespace {

struct Tokens {
  const float *x;
  int first, count;
  __device__ Operands8 operator()(int token, int k) const {
    const long long row = min(first + token, count - 1);
    return toOperands<OPERAND>(loadFloats8(x + row * COLUMNS + k));
  }
};

/// The tile of this block.
template <int tileTokens, int tileRows> struct Place {
  int tokens, rows, token, row;
  __device__ explicit Place(const long long *sizes)
      : tokens(static_cast<int>(sizes[0])), rows(static_cast<int>(sizes[1])) {
    const int columns = ceilDiv(rows, tileRows), block = static_cast<int>(blockIdx.x);
    token = block / columns * tileTokens;
    row = block % columns * tileRows;
  }
  __device__ bool isInside() const { return token < tokens; }
  template <class TileType> __device__ void write(float *y, const TileType &tile) const {
    store(tile, [&](int t, int n, float value) {
      if (token + t < tokens && row + n < rows)
        y[static_cast<long long>(token + t) * rows + row + n] = value;
    });
  }
};

} // namespace

extern "C" __global__ void __launch_bounds__(256)
    spread(const unsigned char *w, const float *x, float *y, const long long *sizes) {
  extern __shared__ __align__(128) unsigned char shared[];
  const Place<SPREAD_TOKENS, SPREAD_ROWS> place(sizes);
  if (place.isInside())
    place.write(y, weightProductSpread<SPREAD_TOKENS, SPREAD_ROWS, SLICE, 8>(
                       WEIGHT{w, place.rows}, place.row, Tokens{x, place.token, place.tokens}, shared));
}

#ifdef STREAMED
extern "C" __global__ void __launch_bounds__(256, 2)
    streamed(const unsigned char *w, const float *x, float *y, const long long *sizes) {
  extern __shared__ __align__(128) unsigned char shared[];
  const Place<SPREAD_TOKENS, SPREAD_ROWS> place(sizes);
  if (place.isInside())
    place.write(y, weightProductStreamed<SPREAD_TOKENS, SPREAD_ROWS, SLICE, 8>(
                       WEIGHT{w, place.rows}, place.row, Tokens{x, place.token, place.tokens}, shared));
}
#endif

extern "C" __global__ void __launch_bounds__(256, 2)
    tiled(const unsigned char *w, const float *x, float *y, const long long *sizes) {
  extern __shared__ __align__(128) unsigned char shared[];
  const Place<32, 128> place(sizes);
  if (place.isInside())
    place.write(y, weightProductTiled<32, 128, SLICE, 8>(WEIGHT{w, place.rows}, place.row,
                                                         Tokens{x, place.token, place.tokens}, shared));
}

/// Two products that share x, here of the same matrix, merged as their halves.
extern "C" __global__ void __launch_bounds__(128)
    tiledPair(const unsigned char *w, const float *x, float *y, const long long *sizes) {
  extern __shared__ __align__(128) unsigned char shared[];
  const Place<64, 64> place(sizes);
  if (!place.isInside())
    return;
  const Weights<2, WEIGHT> both{{{w, place.rows}, {w, place.rows}}};
  const auto product =
      weightProductTiled<64, 64, SLICE, 4>(both, place.row, Tokens{x, place.token, place.tokens}, shared);
  place.write(y, map<64, 64, MmaLanes<4>>([](float a, float b) { return 0.5f * a + 0.5f * b; }, product.tile[0],
                                          product.tile[1]));
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
extern "C" __global__ void __launch_bounds__(warpgroupProductThreads, 1)
    warpgroup(const unsigned char *w, const float *x, float *y, const long long *sizes) {
  extern __shared__ __align__(128) unsigned char shared[];
  const Place<64, warpgroupProductRows> place(sizes);
  if (place.isInside())
    weightProductWarpgroup<64, SLICE>(WEIGHT{w, place.rows}, place.row, Tokens{x, place.token, place.tokens}, shared,
                                      [&](const WarpgroupTile<64> &tile) { place.write(y, tile); });
}

/// As tiledPair.
extern "C" __global__ void __launch_bounds__(warpgroupProductThreads, 1)
    warpgroupPair(const unsigned char *w, const float *x, float *y, const long long *sizes) {
  extern __shared__ __align__(128) unsigned char shared[];
  const Place<32, warpgroupProductRows> place(sizes);
  const Weights<2, WEIGHT> both{{{w, place.rows}, {w, place.rows}}};
  if (place.isInside())
    weightProductWarpgroup<32, SLICE>(
        both, place.row, Tokens{x, place.token, place.tokens}, shared,
        [&](const Products<2, WarpgroupTile<32>> &product) {
          place.write(y, map<32, warpgroupProductRows, MmaLanes<8>>(
                             [](float a, float b) { return 0.5f * a + 0.5f * b; }, product.tile[0], product.tile[1]));
        });
}
#endif
