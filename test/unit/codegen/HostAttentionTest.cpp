//===- HostAttentionTest.cpp - kernels on paged caches -----------------------===//
#include "test/unit/codegen/KernelHarness.h"

#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace fusec;
using namespace fusec::codegen;

namespace {

constexpr int64_t P = 64, H = 3, G = 3, D = 64;

/// A cache of S sequences in shuffled pages, and its plain contents.
struct PagedCache {
  PagedCache(int64_t sequences, int64_t context, bool isK)
      : S(sequences), C(context), B(context / P + 1), isK(isK), table(S * B * 4), pages((S * B + 1) * H * D * P * 4) {
    int64_t total = S * B;
    for (int64_t i = 0; i < total; ++i) // 7 is coprime to the sizes used here
      table.as<int32_t>()[i] = static_cast<int32_t>(1 + i * 7 % total);
  }
  float &at(int64_t s, int64_t c, int64_t h, int64_t d) {
    int64_t page = table.as<int32_t>()[s * B + c / P], slot = c % P;
    int64_t in = isK ? (h * D + d) * P + slot : (h * P + slot) * D + d;
    return pages.as<float>()[page * H * D * P + in];
  }
  void fill() {
    for (int64_t s = 0; s < S; ++s)
      for (int64_t c = 0; c < C; ++c)
        for (int64_t h = 0; h < H; ++h)
          for (int64_t d = 0; d < D; ++d)
            at(s, c, h, d) = noise(((s * 1000 + c) * H + h) * D + d);
  }
  int64_t S, C, B;
  bool isK;
  GuardedBuffer table, pages;
};

const char *scoresText = R"(
tile.kernel @scores grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[3] by 1>, #tile.axis<[sym(C)] by 64>] {
^bb0(%q: !tile.buffer<[ragged(T), 576], f32>, %kc: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>,
     %bt: !tile.buffer<[sym(S), sym(B)], i32>, %seqs: !tile.buffer<[ragged(T)], i32>,
     %pos: !tile.buffer<[ragged(T)], i32>, %e: !tile.buffer<[ragged(T), 3, 3, sym(C)], f32>):
  %t = tile.origin 0
  %h = tile.origin 1
  %j = tile.origin 2
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %s32 = tile.load %seqs[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %s = arith.index_cast %s32 : i32 to index
  %zero = arith.constant dense<0.0> : vector<3x64xf32>
  %acc = scf.for %d = %c0 to %c64 step %c16 iter_args(%a = %zero) -> (vector<3x64xf32>) {
    %qv = tile.load %q[%t, %h, %c0, %d] map affine_map<(t, h, g, d) -> (t, (h * 3 + g) * 64 + d)> : !tile.buffer<[ragged(T), 576], f32> -> vector<3x16xf32>
    %kv = tile.load %kc[%s, %h, %d, %j] map affine_map<(s, h, d, j) -> (s, j, h, d)> pages %bt : !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>, !tile.buffer<[sym(S), sym(B)], i32> -> vector<16x64xf32>
    %r = tile.dot %qv, %kv, %a : vector<3x16xf32>, vector<16x64xf32> -> vector<3x64xf32>
    scf.yield %r : vector<3x64xf32>
  }
  %p = tile.load %pos[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %pv = vector.broadcast %p : i32 to vector<3x64xi32>
  %idx = tile.index %j dim 1 : vector<3x64xi32>
  %visible = arith.cmpi sle, %idx, %pv : vector<3x64xi32>
  %low = arith.constant dense<0xFF800000> : vector<3x64xf32>
  %m = arith.select %visible, %acc, %low : vector<3x64xi1>, vector<3x64xf32>
  tile.store %m, %e[%t, %h, %c0, %j] map affine_map<(t, h, g, j) -> (t, h, g, j)> : vector<3x64xf32>, !tile.buffer<[ragged(T), 3, 3, sym(C)], f32>
  tile.return
})";

const char *valuesText = R"(
tile.kernel @values grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[3] by 1>] {
^bb0(%e: !tile.buffer<[ragged(T), 3, 3, sym(C)], f32>, %vc: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_v>,
     %bt: !tile.buffer<[sym(S), sym(B)], i32>, %seqs: !tile.buffer<[ragged(T)], i32>, %o: !tile.buffer<[ragged(T), 576], f32>):
  %t = tile.origin 0
  %h = tile.origin 1
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %C = tile.extent "C"
  %s32 = tile.load %seqs[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %s = arith.index_cast %s32 : i32 to index
  %zero = arith.constant dense<0.0> : vector<3x64xf32>
  %acc = scf.for %j = %c0 to %C step %c64 iter_args(%a = %zero) -> (vector<3x64xf32>) {
    %ev = tile.load %e[%t, %h, %c0, %j] map affine_map<(t, h, g, j) -> (t, h, g, j)> : !tile.buffer<[ragged(T), 3, 3, sym(C)], f32> -> vector<3x64xf32>
    %vv = tile.load %vc[%s, %h, %j, %c0] map affine_map<(s, h, j, d) -> (s, j, h, d)> pages %bt : !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_v>, !tile.buffer<[sym(S), sym(B)], i32> -> vector<64x64xf32>
    %r = tile.dot %ev, %vv, %a : vector<3x64xf32>, vector<64x64xf32> -> vector<3x64xf32>
    scf.yield %r : vector<3x64xf32>
  }
  tile.store %acc, %o[%t, %h, %c0, %c0] map affine_map<(t, h, g, d) -> (t, (h * 3 + g) * 64 + d)> : vector<3x64xf32>, !tile.buffer<[ragged(T), 576], f32>
  tile.return
})";

/// Rotary embedding (two halves) of the keys, appended to the cache; values appended too.
const char *appendText = R"(
tile.kernel @append grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[3] by 1>] {
^bb0(%k: !tile.buffer<[ragged(T), 192], f32>, %v: !tile.buffer<[ragged(T), 192], f32>,
     %seqs: !tile.buffer<[ragged(T)], i32>, %pos: !tile.buffer<[ragged(T)], i32>, %bt: !tile.buffer<[sym(S), sym(B)], i32>,
     %kc: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>, %vc: !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_v>):
  %t = tile.origin 0
  %h = tile.origin 1
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %s32 = tile.load %seqs[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %s = arith.index_cast %s32 : i32 to index
  %p32 = tile.load %pos[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %p = arith.index_cast %p32 : i32 to index
  %c32v = arith.constant dense<32> : vector<16xi32>
  scf.for %d = %c0 to %c64 step %c16 {
    %a = tile.load %k[%t, %h, %d] map affine_map<(t, h, d) -> (t, h * 64 + d)> : !tile.buffer<[ragged(T), 192], f32> -> vector<16xf32>
    %b = tile.load %k[%t, %h, %d] map affine_map<(t, h, d) -> (t, h * 64 + (d + 32) mod 64)> : !tile.buffer<[ragged(T), 192], f32> -> vector<16xf32>
    %i = tile.index %d dim 0 : vector<16xi32>
    %first = arith.cmpi slt, %i, %c32v : vector<16xi32>
    %n = arith.negf %b : vector<16xf32>
    %sel = arith.select %first, %n, %b : vector<16xi1>, vector<16xf32>
    %o = arith.addf %a, %sel : vector<16xf32>
    tile.store %o, %kc[%s, %h, %p, %d] map affine_map<(s, h, p, d) -> (s, p, h, d)> pages %bt : vector<16xf32>, !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_k>, !tile.buffer<[sym(S), sym(B)], i32>
    %w = tile.load %v[%t, %h, %d] map affine_map<(t, h, d) -> (t, h * 64 + d)> : !tile.buffer<[ragged(T), 192], f32> -> vector<16xf32>
    tile.store %w, %vc[%s, %h, %p, %d] map affine_map<(s, h, p, d) -> (s, p, h, d)> pages %bt : vector<16xf32>, !tile.buffer<[sym(S), paged(C), 3, 64], f32, paged_v>, !tile.buffer<[sym(S), sym(B)], i32>
  }
  tile.return
})";

void fillNoise(GuardedBuffer &b, uint64_t seed) {
  for (int64_t i = 0; i < b.size() / 4; ++i)
    b.as<float>()[i] = noise(seed * 10007 + i);
}

} // namespace

TEST(HostAttention, ScoresOfShuffledPages) {
  for (const std::string &level : runnableLevels()) {
    LoadedKernels kernels(scoresText, level, P);
    ASSERT_EQ(kernels.error(), "");
    int64_t T = 5, S = 2, C = 3 * P;
    PagedCache cache(S, C, true);
    cache.fill();
    GuardedBuffer q(T * 576 * 4), seqs(T * 4), pos(T * 4), e(T * 9 * C * 4);
    fillNoise(q, 3);
    for (int64_t t = 0; t < T; ++t) {
      seqs.as<int32_t>()[t] = t % 2;
      pos.as<int32_t>()[t] = static_cast<int32_t>(t * 41 % C);
    }
    kernels.run("scores", {q.as(), cache.pages.as(), cache.table.as(), seqs.as(), pos.as(), e.as()},
                {T, S, cache.B, 1, C}, T * 3 * (C / 64));
    int64_t wrong = 0;
    for (int64_t t = 0; t < T; ++t)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t g = 0; g < G; ++g)
          for (int64_t j = 0; j < C; ++j) {
            float acc = 0;
            for (int64_t d = 0; d < D; ++d)
              acc = std::fma(q.as<float>()[t * 576 + (h * 3 + g) * 64 + d], cache.at(t % 2, j, h, d), acc);
            float want = j <= pos.as<int32_t>()[t] ? acc : -INFINITY;
            wrong += e.as<float>()[((t * 3 + h) * 3 + g) * C + j] != want;
          }
    EXPECT_EQ(wrong, 0) << level;
    EXPECT_TRUE(e.slackIsUntouched());
  }
}

TEST(HostAttention, ValuesOfShuffledPages) {
  for (const std::string &level : runnableLevels()) {
    LoadedKernels kernels(valuesText, level, P);
    ASSERT_EQ(kernels.error(), "");
    int64_t T = 3, S = 2, C = 2 * P;
    PagedCache cache(S, C, false);
    cache.fill();
    GuardedBuffer e(T * 9 * C * 4), seqs(T * 4), o(T * 576 * 4);
    fillNoise(e, 4);
    for (int64_t t = 0; t < T; ++t)
      seqs.as<int32_t>()[t] = (t + 1) % 2;
    kernels.run("values", {e.as(), cache.pages.as(), cache.table.as(), seqs.as(), o.as()}, {T, S, cache.B, 1, C},
                T * 3);
    int64_t wrong = 0;
    for (int64_t t = 0; t < T; ++t)
      for (int64_t hg = 0; hg < H * G; ++hg)
        for (int64_t d = 0; d < D; ++d) {
          float acc = 0;
          for (int64_t j = 0; j < C; ++j)
            acc = std::fma(e.as<float>()[(t * 9 + hg) * C + j], cache.at((t + 1) % 2, j, hg / 3, d), acc);
          wrong += o.as<float>()[t * 576 + hg * 64 + d] != acc;
        }
    EXPECT_EQ(wrong, 0) << level;
    EXPECT_TRUE(o.slackIsUntouched());
  }
}

TEST(HostAttention, AppendWritesOnlyItsPositions) {
  for (const std::string &level : runnableLevels()) {
    LoadedKernels kernels(appendText, level, P);
    ASSERT_EQ(kernels.error(), "");
    int64_t T = 4, S = 2, C = 2 * P;
    PagedCache keys(S, C, true), values(S, C, false);
    GuardedBuffer k(T * 192 * 4), v(T * 192 * 4), seqs(T * 4), pos(T * 4);
    fillNoise(k, 5);
    fillNoise(v, 6);
    for (int64_t t = 0; t < T; ++t) {
      seqs.as<int32_t>()[t] = t % 2;
      pos.as<int32_t>()[t] = static_cast<int32_t>(62 + t); // crosses a page
    }
    kernels.run("append", {k.as(), v.as(), seqs.as(), pos.as(), keys.table.as(), keys.pages.as(), values.pages.as()},
                {T, S, keys.B, 1, C}, T * 3);
    int64_t wrong = 0, written = 0;
    for (int64_t s = 0; s < S; ++s)
      for (int64_t c = 0; c < C; ++c)
        for (int64_t i = 0; i < 192; ++i) {
          int64_t t = c - 62, h = i / 64, d = i % 64;
          float wantK = 0, wantV = 0;
          if (t >= 0 && t < T && t % 2 == s) {
            float other = k.as<float>()[t * 192 + h * 64 + (d + 32) % 64];
            wantK = k.as<float>()[t * 192 + i] + (d < 32 ? -other : other);
            wantV = v.as<float>()[t * 192 + i];
            ++written;
          }
          wrong += keys.at(s, c, h, d) != wantK;
          wrong += values.at(s, c, h, d) != wantV;
        }
    EXPECT_EQ(wrong, 0) << level;
    EXPECT_EQ(written, T * 192);
  }
}
