//===- HostOnlineSoftmaxTest.cpp - attention in one pass over the positions -----===//
//
// A kernel as the compiler writes it for a cascade of reductions: scores, running
// maximum, repaired sums and weighted values in one loop over blocks of positions.
//
//===----------------------------------------------------------------------===//
#include "test/unit/codegen/KernelComparison.h"
#include "test/unit/codegen/KernelHarness.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace fusec;
using namespace fusec::codegen;
using fusec::reference::Element;
using fusec::reference::Shape;
using fusec::reference::Tensor;

namespace {

constexpr int64_t P = 64, H = 2, G = 3, D = 64, maxBlocks = 3;
const std::vector<int64_t> lengths = {1, 63, 64, 65, 130};

/// Each token sees itself and the `window - 1` positions before it.
std::string attentionText(int64_t window) {
  std::string text = R"(
!q = !tile.buffer<[ragged(T), 384], f32>
!k = !tile.buffer<[sym(S), paged(C), 2, 64], f32, paged_k>
!v = !tile.buffer<[sym(S), paged(C), 2, 64], f32, paged_v>
!table = !tile.buffer<[sym(S), sym(B)], i32>
!ids = !tile.buffer<[ragged(T)], i32>
!p = !tile.buffer<[3, 64], f32>
tile.kernel @attention grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[2] by 1>] {
^bb0(%q: !q, %kc: !k, %vc: !v, %bt: !table, %seqs: !ids, %pos: !ids, %out: !q):
  %t = tile.origin 0
  %h = tile.origin 1
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %before = arith.constant )" +
                     std::to_string(window - 1) + R"( : index
  %C = tile.extent "C"
  %s32 = tile.load %seqs[%t] map affine_map<(t) -> (t)> : !ids -> i32
  %s = arith.index_cast %s32 : i32 to index
  %p32 = tile.load %pos[%t] map affine_map<(t) -> (t)> : !ids -> i32
  %at = arith.index_cast %p32 : i32 to index
  %length = arith.addi %at, %c1 : index
  %end = arith.minsi %length, %C : index
  %far = arith.subi %at, %before : index
  %first = arith.maxsi %far, %c0 : index
  %block = arith.divui %first, %c64 : index
  %start = arith.muli %block, %c64 : index
  %first32 = arith.index_cast %first : index to i32
  %newest = vector.broadcast %p32 : i32 to vector<3x64xi32>
  %oldest = vector.broadcast %first32 : i32 to vector<3x64xi32>
  %zero = arith.constant dense<0.0> : vector<3x64xf32>
  %zeros = arith.constant dense<0.0> : vector<3x1xf32>
  %low = arith.constant dense<0xFF800000> : vector<3x64xf32>
  %lows = arith.constant dense<0xFF800000> : vector<3x1xf32>
  %scale = arith.constant dense<0.125> : vector<3x64xf32>
  %w = tile.scratch : !p
  %m, %l, %o = scf.for %j = %start to %end step %c64 iter_args(%mc = %lows, %lc = %zero, %oc = %zero) -> (vector<3x1xf32>, vector<3x64xf32>, vector<3x64xf32>) {
    %dots = scf.for %d = %c0 to %c64 step %c16 iter_args(%a = %zero) -> (vector<3x64xf32>) {
      %qv = tile.load %q[%t, %h, %c0, %d] map affine_map<(t, h, g, d) -> (t, (h * 3 + g) * 64 + d)> : !q -> vector<3x16xf32>
      %kv = tile.load %kc[%s, %h, %d, %j] map affine_map<(s, h, d, j) -> (s, j, h, d)> pages %bt : !k, !table -> vector<16x64xf32>
      %r = tile.dot %qv, %kv, %a : vector<3x16xf32>, vector<16x64xf32> -> vector<3x64xf32>
      scf.yield %r : vector<3x64xf32>
    }
    %scaled = arith.mulf %dots, %scale : vector<3x64xf32>
    %idx = tile.index %j dim 1 : vector<3x64xi32>
    %old = arith.cmpi sge, %idx, %oldest : vector<3x64xi32>
    %new = arith.cmpi sle, %idx, %newest : vector<3x64xi32>
    %visible = arith.andi %old, %new : vector<3x64xi1>
    %scores = arith.select %visible, %scaled, %low : vector<3x64xi1>, vector<3x64xf32>
    %bm = tile.reduce %scores : vector<3x64xf32> -> vector<3x1xf32> combine {
    ^bb1(%x: f32, %y: f32):
      %xy = arith.maximumf %x, %y : f32
      tile.yield %xy : f32
    }
    %mn = arith.maximumf %mc, %bm : vector<3x1xf32>
    %none = arith.cmpf oeq, %mn, %lows : vector<3x1xf32>
    %safe = arith.select %none, %zeros, %mn : vector<3x1xi1>, vector<3x1xf32>
    %fall = arith.subf %mc, %safe : vector<3x1xf32>
    %repair = math.exp %fall : vector<3x1xf32>
    %wide = vector.broadcast %repair : vector<3x1xf32> to vector<3x64xf32>
    %base = vector.broadcast %safe : vector<3x1xf32> to vector<3x64xf32>
    %shifted = arith.subf %scores, %base : vector<3x64xf32>
    %pr = math.exp %shifted : vector<3x64xf32>
    %lr = arith.mulf %lc, %wide : vector<3x64xf32>
    %ln = arith.addf %lr, %pr : vector<3x64xf32>
    %or = arith.mulf %oc, %wide : vector<3x64xf32>
    tile.store %pr, %w[%c0, %c0] map affine_map<(g, i) -> (g, i)> : vector<3x64xf32>, !p
    %left = arith.subi %end, %j : index
    %n = arith.minsi %left, %c64 : index
    %tiles = arith.divui %n, %c16 : index
    %main = arith.muli %tiles, %c16 : index
    %o16 = scf.for %i = %c0 to %main step %c16 iter_args(%a = %or) -> (vector<3x64xf32>) {
      %jj = arith.addi %j, %i : index
      %pv = tile.load %w[%c0, %i] map affine_map<(g, i) -> (g, i)> : !p -> vector<3x16xf32>
      %vv = tile.load %vc[%s, %h, %jj, %c0] map affine_map<(s, h, j, d) -> (s, j, h, d)> pages %bt : !v, !table -> vector<16x64xf32>
      %r = tile.dot %pv, %vv, %a : vector<3x16xf32>, vector<16x64xf32> -> vector<3x64xf32>
      scf.yield %r : vector<3x64xf32>
    }
    %o1 = scf.for %i = %main to %n step %c1 iter_args(%a = %o16) -> (vector<3x64xf32>) {
      %jj = arith.addi %j, %i : index
      %pv = tile.load %w[%c0, %i] map affine_map<(g, i) -> (g, i)> : !p -> vector<3x1xf32>
      %vv = tile.load %vc[%s, %h, %jj, %c0] map affine_map<(s, h, j, d) -> (s, j, h, d)> pages %bt : !v, !table -> vector<1x64xf32>
      %r = tile.dot %pv, %vv, %a : vector<3x1xf32>, vector<1x64xf32> -> vector<3x64xf32>
      scf.yield %r : vector<3x64xf32>
    }
    scf.yield %mn, %ln, %o1 : vector<3x1xf32>, vector<3x64xf32>, vector<3x64xf32>
  }
  %sum = tile.reduce %l : vector<3x64xf32> -> vector<3x1xf32> combine {
  ^bb1(%x: f32, %y: f32):
    %xy = arith.addf %x, %y : f32
    tile.yield %xy : f32
  }
  %sums = vector.broadcast %sum : vector<3x1xf32> to vector<3x64xf32>
  %result = arith.divf %o, %sums : vector<3x64xf32>
  tile.store %result, %out[%t, %h, %c0, %c0] map affine_map<(t, h, g, d) -> (t, (h * 3 + g) * 64 + d)> : vector<3x64xf32>, !q
  tile.return
})";
  return text;
}

/// One token at the end of each of five sequences, on shuffled pages. What no token may see is NaN.
struct Caches {
  Caches() {
    int64_t S = static_cast<int64_t>(lengths.size()), used = 0;
    table = Tensor::filled(Element::I32, {S, maxBlocks}, 0);
    keys = values = Tensor::filled(Element::F32, {S * maxBlocks + 1, P, H, D}, NAN);
    values = values.clone();
    for (int64_t s = 0; s < S; ++s)
      for (int64_t j = 0; j < lengths[s]; ++j) {
        if (j % P == 0) // 7 is coprime to the 15 pages
          table.set({s, j / P}, static_cast<double>(1 + used++ * 7 % (S * maxBlocks)));
        for (int64_t h = 0; h < H; ++h)
          for (int64_t d = 0; d < D; ++d) {
            uint64_t number = ((s * 1000 + j) * H + h) * D + d;
            keys.set({page(s, j), j % P, h, d}, noise(number));
            values.set({page(s, j), j % P, h, d}, noise(number + 77777777));
          }
      }
  }
  int64_t page(int64_t s, int64_t j) const { return static_cast<int64_t>(table.get({s, j / P})); }
  Tensor table, keys, values;
};

/// softmax(q k / 8) v of one head in double precision.
double attend(const Caches &c, const Tensor &q, int64_t t, int64_t head, int64_t d, int64_t window) {
  double sum = 0, weighted = 0;
  for (int64_t j = std::max<int64_t>(0, lengths[t] - window); j < lengths[t]; ++j) {
    double score = 0;
    for (int64_t i = 0; i < D; ++i)
      score += q.get({t, head * D + i}) * c.keys.get({c.page(t, j), j % P, head / G, i});
    double p = std::exp(score / 8);
    sum += p;
    weighted += p * c.values.get({c.page(t, j), j % P, head / G, d});
  }
  return weighted / sum;
}

} // namespace

/// Runs `text` for a token at the end of every sequence; compares with the interpreter and the formula.
static void checkAttention(const std::string &text, int64_t window) {
  const double u = 0x1p-24, n = 130;
  int64_t T = static_cast<int64_t>(lengths.size());
  Caches caches;
  std::vector<double> queries, positions, sequences;
  for (int64_t i = 0; i < T * H * G * D; ++i)
    queries.push_back(noise(i + 123456));
  for (int64_t t = 0; t < T; ++t) {
    sequences.push_back(static_cast<double>(t));
    positions.push_back(static_cast<double>(lengths[t] - 1));
  }
  Tensor q = Tensor::fromValues(Element::F32, {T, H * G * D}, queries);
  ComparedRun run = runKernelEverywhere(
      text,
      {q, caches.keys, caches.values, caches.table, Tensor::fromValues(Element::I32, {T}, sequences),
       Tensor::fromValues(Element::I32, {T}, positions), Tensor::filled(Element::F32, {T, H * G * D}, 0)},
      {{"T", T}, {"S", T}, {"B", maxBlocks}, {"C", maxBlocks * P}});
  ASSERT_EQ(run.error, "");
  // Only exp differs, by 4u, in a weight and in up to 3 repairs, above and below the fraction; then n + 64 roundings
  // each.
  const double fromInterpreter = (2 * 4 * 4 + 2 * (n + 64)) * u;
  // A score of 64 products of at most 1, divided by 8, is off by at most (64 + 2) 8 u; that scales its weight.
  const double fromFormula = 2 * (66 * 8) * u + fromInterpreter;
  for (int64_t t = 0; t < T; ++t)
    for (int64_t i = 0; i < H * G * D; ++i) {
      double reference = run.expected[6].get({t, i});
      ASSERT_NEAR(reference, attend(caches, q, t, i / D, i % D, window), fromFormula) << lengths[t] << " at " << i;
      for (const HostOutcome &outcome : run.outcomes)
        ASSERT_NEAR(outcome.buffers[6].get({t, i}), reference, fromInterpreter)
            << outcome.level << ", length " << lengths[t] << " at " << i;
    }
}

class HostOnlineSoftmax : public testing::TestWithParam<int64_t> {};

TEST_P(HostOnlineSoftmax, EqualsInterpreterAndFormula) { checkAttention(attentionText(GetParam()), GetParam()); }

// Nothing says that the loop ends below C: every position is clamped, the result is the same.
TEST_P(HostOnlineSoftmax, NeedsNoBoundItCanDerive) {
  std::string text = attentionText(GetParam()), bound = "arith.minsi %length, %C", none = "arith.addi %length, %c0";
  text.replace(text.find(bound), bound.size(), none);
  checkAttention(text, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Windows, HostOnlineSoftmax, testing::Values(1000, 50, 1));
