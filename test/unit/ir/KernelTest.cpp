//===- KernelTest.cpp - tile kernels against the ops they implement ---------------===//
#include "test/unit/ir/KernelFixture.h"

namespace fusec::reference {
namespace {

using Values = std::vector<double>;

class KernelTest : public KernelFixture {};

float chain(const Tensor &x, int64_t t, const Tensor &w, int64_t n) {
  float sum = 0;
  for (int64_t k = 0; k < x.dim(1); ++k)
    sum = std::fma(static_cast<float>(x.get({t, k})), static_cast<float>(w.get({n, k})), sum);
  return sum;
}

//===----------------------------------------------------------------------===//
// 1. One row times a packed matrix, residual added
//===----------------------------------------------------------------------===//

constexpr const char *gemv = R"(
tile.kernel @gemv grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[80] by 64>] {
^bb0(%x: !tile.buffer<[ragged(T), 96], f32>, %w: !tile.buffer<[80, 96], f32, panel, q4_1>, %res: !tile.buffer<[ragged(T), 80], f32>, %y: !tile.buffer<[ragged(T), 80], f32>):
  %t = tile.origin 0
  %n = tile.origin 1
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant dense<0.0> : vector<1x64xf32>
  %acc = scf.for %k = %c0 to %c96 step %c32 iter_args(%a = %zero) -> (vector<1x64xf32>) {
    %xa = tile.load %x[%t, %k] map affine_map<(t, k) -> (t, k)> : !tile.buffer<[ragged(T), 96], f32> -> vector<1x32xf32>
    %wb = tile.load %w[%k, %n] map affine_map<(k, n) -> (n, k)> : !tile.buffer<[80, 96], f32, panel, q4_1> -> vector<32x64xf32>
    %d = tile.dot %xa, %wb, %a : vector<1x32xf32>, vector<32x64xf32> -> vector<1x64xf32>
    scf.yield %d : vector<1x64xf32>
  }
  %r = tile.load %res[%t, %n] map affine_map<(t, n) -> (t, n)> : !tile.buffer<[ragged(T), 80], f32> -> vector<1x64xf32>
  %o = arith.addf %acc, %r : vector<1x64xf32>
  tile.store %o, %y[%t, %n] map affine_map<(t, n) -> (t, n)> : vector<1x64xf32>, !tile.buffer<[ragged(T), 80], f32>
  tile.return
})";

TEST_F(KernelTest, GemvWithResidual) {
  environment.symbols["T"] = 3;
  Tensor x = randomFloats({3, 96}, 1), w = randomFloats({80, 96}, 2), res = randomFloats({3, 80}, 3);
  Tensor y = nans({3, 80});
  KernelRun run = runKernel(gemv, {x, w, res, y});
  EXPECT_EQ(run.programs, 6);
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t n = 0; n < 80; ++n)
      EXPECT_EQ(y.get({t, n}), static_cast<double>(chain(x, t, w, n) + static_cast<float>(res.get({t, n}))));
  ASSERT_EQ(run.traffic.size(), 4u);
  EXPECT_EQ(run.traffic[1].loadedElements, 3 * 80 * 96);
  EXPECT_EQ(run.traffic[1].loadedBytes, 3 * 80 * 96 * 20.0 / 32); // q4_1: 20 bytes per 32
  EXPECT_EQ(run.traffic[0].loadedElements, 3 * 2 * 96);
  EXPECT_EQ(run.traffic[3].storedElements, 3 * 80);
  EXPECT_EQ(run.traffic[3].storedBytes, 3 * 80 * 4.0);
}

TEST_F(KernelTest, TheOrderOfProgramsDoesNotMatter) {
  environment.symbols["T"] = 3;
  Tensor x = randomFloats({3, 96}, 1), w = randomFloats({80, 96}, 2), res = randomFloats({3, 80}, 3);
  Tensor a = nans({3, 80}), b = nans({3, 80}), real = nans({3, 80});
  runKernel(gemv, {x, w, res, a});
  KernelOptions shuffled;
  shuffled.shuffleSeed = 7;
  runKernel(gemv, {x, w, res, b}, Precision::Exact, shuffled);
  EXPECT_EQ(a.values(), b.values());
  runKernel(gemv, {x, w, res, real}, Precision::F64);
  expectNear(a.values(), real.values(), 98 * 97 * f32Roundoff); // (K + 1) u (sum |x w| + |r|)
  // In place: the residual's own memory may be the result's.
  runKernel(gemv, {x, w, res, res});
  EXPECT_EQ(res.values(), a.values());
}

TEST_F(KernelTest, NoRowsNoPrograms) {
  environment.symbols["T"] = 0;
  EXPECT_EQ(runKernel(gemv, {nans({0, 96}), nans({80, 96}), nans({0, 80}), nans({0, 80})}).programs, 0);
}

//===----------------------------------------------------------------------===//
// 2. Many rows: weights decoded into scratch, then tiles of rows
//===----------------------------------------------------------------------===//

constexpr const char *gemm = R"(
tile.kernel @gemm grid [#tile.axis<[48] by 32>] {
^bb0(%x: !tile.buffer<[ragged(T), 64], f32>, %w: !tile.buffer<[48, 64], f32, panel, q8_0>, %y: !tile.buffer<[ragged(T), 48], f32>):
  %n = tile.origin 0
  %T = tile.extent "T"
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<4x32xf32>
  %s = tile.scratch : !tile.buffer<[64, 32], f32>
  scf.for %k = %c0 to %c64 step %c32 {
    %wb = tile.load %w[%k, %n] map affine_map<(k, n) -> (n, k)> : !tile.buffer<[48, 64], f32, panel, q8_0> -> vector<32x32xf32>
    tile.store %wb, %s[%k, %c0] map affine_map<(k, n) -> (k, n)> : vector<32x32xf32>, !tile.buffer<[64, 32], f32>
  }
  scf.for %m = %c0 to %T step %c4 {
    %acc = scf.for %k = %c0 to %c64 step %c8 iter_args(%a = %zero) -> (vector<4x32xf32>) {
      %xa = tile.load %x[%m, %k] map affine_map<(m, k) -> (m, k)> : !tile.buffer<[ragged(T), 64], f32> -> vector<4x8xf32>
      %wb = tile.load %s[%k, %c0] map affine_map<(k, n) -> (k, n)> : !tile.buffer<[64, 32], f32> -> vector<8x32xf32>
      %d = tile.dot %xa, %wb, %a : vector<4x8xf32>, vector<8x32xf32> -> vector<4x32xf32>
      scf.yield %d : vector<4x32xf32>
    }
    tile.store %acc, %y[%m, %n] map affine_map<(m, n) -> (m, n)> : vector<4x32xf32>, !tile.buffer<[ragged(T), 48], f32>
  }
  tile.return
})";

TEST_F(KernelTest, GemmThroughScratchGivesTheSameBits) {
  for (int64_t rows : {1, 4, 7}) {
    environment.symbols["T"] = rows;
    Tensor x = randomFloats({rows, 64}, 1), w = randomFloats({48, 64}, 2), y = nans({rows, 48});
    runKernel(gemm, {x, w, y});
    for (int64_t t = 0; t < rows; ++t)
      for (int64_t n = 0; n < 48; ++n)
        EXPECT_EQ(y.get({t, n}), static_cast<double>(chain(x, t, w, n)));
  }
}

//===----------------------------------------------------------------------===//
// 3. and 4. Attention over pages
//===----------------------------------------------------------------------===//

/// Pools of `pages` pages of 4 positions, 2 heads, 8 elements; two sequences of 2 blocks.
struct Pools {
  Tensor k = randomFloats({6, 4, 2, 8}, 2), v = randomFloats({6, 4, 2, 8}, 3);
  Tensor table = Tensor::fromValues(Element::I32, {2, 2}, {5, 1, 3, 2});
  static double at(const Tensor &pool, const Tensor &table, int64_t s, int64_t j, int64_t h, int64_t d) {
    return pool.get({static_cast<int64_t>(table.get({s, j / 4})), j % 4, h, d});
  }
};

constexpr const char *scores = R"(
tile.kernel @scores grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[2] by 1>, #tile.axis<[paged(C)] by 4>] {
^bb0(%q: !tile.buffer<[ragged(T), 2, 3, 8], f32>, %kc: !tile.buffer<[sym(S), paged(C), 2, 8], f32, paged_k>, %bt: !tile.buffer<[sym(S), sym(B)], i32>, %sq: !tile.buffer<[ragged(T)], i32>, %y: !tile.buffer<[ragged(T), 2, 3, paged(C)], f32>):
  %t = tile.origin 0
  %h = tile.origin 1
  %j = tile.origin 2
  %c0 = arith.constant 0 : index
  %s32 = tile.load %sq[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %s = arith.index_cast %s32 : i32 to index
  %zero = arith.constant dense<0.0> : vector<3x4xf32>
  %a = tile.load %q[%t, %h, %c0, %c0] map affine_map<(t, h, g, d) -> (t, h, g, d)> : !tile.buffer<[ragged(T), 2, 3, 8], f32> -> vector<3x8xf32>
  %b = tile.load %kc[%s, %h, %c0, %j] map affine_map<(s, h, d, j) -> (s, j, h, d)> pages %bt : !tile.buffer<[sym(S), paged(C), 2, 8], f32, paged_k>, !tile.buffer<[sym(S), sym(B)], i32> -> vector<8x4xf32>
  %d = tile.dot %a, %b, %zero : vector<3x8xf32>, vector<8x4xf32> -> vector<3x4xf32>
  tile.store %d, %y[%t, %h, %c0, %j] map affine_map<(t, h, g, j) -> (t, h, g, j)> : vector<3x4xf32>, !tile.buffer<[ragged(T), 2, 3, paged(C)], f32>
  tile.return
})";

TEST_F(KernelTest, ScoresOverPagedKeys) {
  environment.symbols = {{"T", 3}, {"S", 2}, {"B", 2}, {"C", 8}};
  environment.page = 4;
  Pools pools;
  Tensor q = randomFloats({3, 2, 3, 8}, 1), y = nans({3, 2, 3, 8});
  runKernel(scores, {q, pools.k, pools.table, integers({1, 0, 1}), y});
  const int64_t sequences[] = {1, 0, 1};
  EXPECT_TRUE(forEachIndex(y.shape(), [&](llvm::ArrayRef<int64_t> i) {
                float sum = 0;
                for (int64_t d = 0; d < 8; ++d)
                  sum = std::fma(static_cast<float>(q.get({i[0], i[1], i[2], d})),
                                 static_cast<float>(Pools::at(pools.k, pools.table, sequences[i[0]], i[3], i[1], d)),
                                 sum);
                EXPECT_EQ(y.get(i), static_cast<double>(sum));
                return Status();
              }).ok());
}

TEST_F(KernelTest, ABadPageIdIsAnError) {
  environment.symbols = {{"T", 1}, {"S", 2}, {"B", 2}, {"C", 8}};
  environment.page = 4;
  Pools pools;
  pools.table.set({0, 1}, 6);
  Tensor q = randomFloats({1, 2, 3, 8}, 1), y = nans({1, 2, 3, 8});
  expectError(tryKernel(scores, {q, pools.k, pools.table, integers({0}), y}), "outside the pool of 6");
  environment.symbols["B"] = 1;
  Tensor narrow = Tensor::fromValues(Element::I32, {2, 1}, {5, 3});
  expectError(tryKernel(scores, {q, pools.k, narrow, integers({0}), y}), "outside the block table [2, 1]");
  environment.page = 8;
  expectError(tryKernel(scores, {q, pools.k, narrow, integers({0}), y}), "buffer 1 has shape");
}

constexpr const char *values = R"(
tile.kernel @pv grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[2] by 1>] {
^bb0(%e: !tile.buffer<[ragged(T), 2, 3, paged(C)], f32>, %vc: !tile.buffer<[sym(S), paged(C), 2, 8], f32, paged_v>, %bt: !tile.buffer<[sym(S), sym(B)], i32>, %sq: !tile.buffer<[ragged(T)], i32>, %y: !tile.buffer<[ragged(T), 48], f32>):
  %t = tile.origin 0
  %h = tile.origin 1
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %C = tile.extent "C"
  %s32 = tile.load %sq[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %s = arith.index_cast %s32 : i32 to index
  %zero = arith.constant dense<0.0> : vector<3x8xf32>
  %acc = scf.for %j = %c0 to %C step %c4 iter_args(%a = %zero) -> (vector<3x8xf32>) {
    %l = tile.load %e[%t, %h, %c0, %j] map affine_map<(t, h, g, j) -> (t, h, g, j)> : !tile.buffer<[ragged(T), 2, 3, paged(C)], f32> -> vector<3x4xf32>
    %r = tile.load %vc[%s, %h, %j, %c0] map affine_map<(s, h, j, d) -> (s, j, h, d)> pages %bt : !tile.buffer<[sym(S), paged(C), 2, 8], f32, paged_v>, !tile.buffer<[sym(S), sym(B)], i32> -> vector<4x8xf32>
    %d = tile.dot %l, %r, %a : vector<3x4xf32>, vector<4x8xf32> -> vector<3x8xf32>
    scf.yield %d : vector<3x8xf32>
  }
  tile.store %acc, %y[%t, %h, %c0, %c0] map affine_map<(t, h, g, d) -> (t, h * 24 + g * 8 + d)> : vector<3x8xf32>, !tile.buffer<[ragged(T), 48], f32>
  tile.return
})";

TEST_F(KernelTest, WeightedSumOfPagedValues) {
  environment.symbols = {{"T", 2}, {"S", 2}, {"B", 2}, {"C", 8}};
  environment.page = 4;
  Pools pools;
  Tensor e = randomFloats({2, 2, 3, 8}, 1), y = nans({2, 48});
  runKernel(values, {e, pools.v, pools.table, integers({1, 0}), y});
  const int64_t sequences[] = {1, 0};
  EXPECT_TRUE(forEachIndex({2, 2, 3, 8}, [&](llvm::ArrayRef<int64_t> i) {
                float sum = 0;
                for (int64_t j = 0; j < 8; ++j)
                  sum = std::fma(static_cast<float>(e.get({i[0], i[1], i[2], j})),
                                 static_cast<float>(Pools::at(pools.v, pools.table, sequences[i[0]], j, i[1], i[3])),
                                 sum);
                EXPECT_EQ(y.get({i[0], i[1] * 24 + i[2] * 8 + i[3]}), static_cast<double>(sum));
                return Status();
              }).ok());
}

//===----------------------------------------------------------------------===//
// 5. Row kernels
//===----------------------------------------------------------------------===//

constexpr const char *norm = R"(
tile.kernel @norm grid [#tile.axis<[ragged(T)] by 1>] {
^bb0(%x: !tile.buffer<[ragged(T), 64], f32>, %w: !tile.buffer<[64], f32, f32>, %y: !tile.buffer<[ragged(T), 64], f32>):
  %t = tile.origin 0
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %n = arith.constant 64.0 : f32
  %eps = arith.constant 0.5 : f32
  %p = scf.for %c = %c0 to %c64 step %c16 iter_args(%a = %zero) -> (vector<16xf32>) {
    %v = tile.load %x[%t, %c] map affine_map<(t, c) -> (t, c)> : !tile.buffer<[ragged(T), 64], f32> -> vector<16xf32>
    %q = arith.mulf %v, %v : vector<16xf32>
    %s = arith.addf %a, %q : vector<16xf32>
    scf.yield %s : vector<16xf32>
  }
  %sum = tile.reduce %p : vector<16xf32> -> f32 combine {
  ^bb1(%a: f32, %b: f32):
    %r = arith.addf %a, %b : f32
    tile.yield %r : f32
  }
  %mean = arith.divf %sum, %n : f32
  %shifted = arith.addf %mean, %eps : f32
  %scale = math.rsqrt %shifted : f32
  %scales = vector.broadcast %scale : f32 to vector<16xf32>
  scf.for %c = %c0 to %c64 step %c16 {
    %v = tile.load %x[%t, %c] map affine_map<(t, c) -> (t, c)> : !tile.buffer<[ragged(T), 64], f32> -> vector<16xf32>
    %g = tile.load %w[%t, %c] map affine_map<(t, c) -> (c)> : !tile.buffer<[64], f32, f32> -> vector<16xf32>
    %m = arith.mulf %v, %scales : vector<16xf32>
    %o = arith.mulf %m, %g : vector<16xf32>
    tile.store %o, %y[%t, %c] map affine_map<(t, c) -> (t, c)> : vector<16xf32>, !tile.buffer<[ragged(T), 64], f32>
  }
  tile.return
})";

TEST_F(KernelTest, RowNormAgreesWithTheGraphOp) {
  Tensor x = randomFloats({3, 64}, 1), w = randomFloats({64}, 2), y = nans({3, 64}), exact = nans({3, 64});
  const Values expected = run(R"(
    func.func @f(%x: !fuse.tensor<[ragged(T), 64], f32>, %w: !fuse.tensor<[64], f32>) -> !fuse.tensor<[ragged(T), 64], f32> {
      %y = fuse.rms_norm %x, %w epsilon 0.5 : !fuse.tensor<[ragged(T), 64], f32>, !fuse.tensor<[64], f32> -> !fuse.tensor<[ragged(T), 64], f32>
      return %y : !fuse.tensor<[ragged(T), 64], f32>
    })",
                              {x, w});
  environment.symbols["T"] = 3;
  runKernel(norm, {x, w, y}, Precision::F64);
  expectNear(y.values(), expected, 1e-14);
  runKernel(norm, {x, w, exact}, Precision::Exact);
  expectNear(exact.values(), expected, 20 * 2 * f32Roundoff);
}

constexpr const char *embedding = R"(
tile.kernel @embed grid [#tile.axis<[ragged(T)] by 1>] {
^bb0(%ids: !tile.buffer<[ragged(T)], i32>, %w: !tile.buffer<[40, 32], f32, panel, q8_0>, %y: !tile.buffer<[ragged(T), 32], f32>):
  %t = tile.origin 0
  %c0 = arith.constant 0 : index
  %id = tile.load %ids[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %row = arith.index_cast %id : i32 to index
  %v = tile.load %w[%row, %c0] map affine_map<(r, k) -> (r, k)> : !tile.buffer<[40, 32], f32, panel, q8_0> -> vector<32xf32>
  tile.store %v, %y[%t, %c0] map affine_map<(t, k) -> (t, k)> : vector<32xf32>, !tile.buffer<[ragged(T), 32], f32>
  tile.return
})";

TEST_F(KernelTest, GatheredRowsOfAPanelWeight) {
  environment.symbols["T"] = 3;
  Tensor w = randomFloats({40, 32}, 1), y = nans({3, 32});
  runKernel(embedding, {integers({39, 0, 17}), w, y});
  const int64_t ids[] = {39, 0, 17};
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t k = 0; k < 32; ++k)
      EXPECT_EQ(y.get({t, k}), w.get({ids[t], k}));
}

constexpr const char *append = R"(
tile.kernel @append grid [#tile.axis<[ragged(T)] by 1>, #tile.axis<[2] by 1>] {
^bb0(%x: !tile.buffer<[ragged(T), 2, 8], f32>, %sq: !tile.buffer<[ragged(T)], i32>, %ps: !tile.buffer<[ragged(T)], i32>, %bt: !tile.buffer<[sym(S), sym(B)], i32>, %kc: !tile.buffer<[sym(S), paged(C), 2, 8], f32, paged_k>):
  %t = tile.origin 0
  %h = tile.origin 1
  %c0 = arith.constant 0 : index
  %s32 = tile.load %sq[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %p32 = tile.load %ps[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], i32> -> i32
  %s = arith.index_cast %s32 : i32 to index
  %p = arith.index_cast %p32 : i32 to index
  %v = tile.load %x[%t, %h, %c0] map affine_map<(t, h, d) -> (t, h, d)> : !tile.buffer<[ragged(T), 2, 8], f32> -> vector<8xf32>
  tile.store %v, %kc[%s, %p, %h, %c0] map affine_map<(s, p, h, d) -> (s, p, h, d)> pages %bt : vector<8xf32>, !tile.buffer<[sym(S), paged(C), 2, 8], f32, paged_k>, !tile.buffer<[sym(S), sym(B)], i32>
  tile.return
})";

TEST_F(KernelTest, AppendsToPages) {
  environment.symbols = {{"T", 3}, {"S", 2}, {"B", 2}, {"C", 8}};
  environment.page = 4;
  Pools pools;
  Tensor x = randomFloats({3, 2, 8}, 9), before = pools.k.clone();
  runKernel(append, {x, integers({0, 1, 0}), integers({5, 3, 6}), pools.table, pools.k});
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t d = 0; d < 8; ++d) {
      EXPECT_EQ(Pools::at(pools.k, pools.table, 0, 5, h, d), x.get({0, h, d}));
      EXPECT_EQ(Pools::at(pools.k, pools.table, 1, 3, h, d), x.get({1, h, d}));
      EXPECT_EQ(Pools::at(pools.k, pools.table, 0, 6, h, d), x.get({2, h, d}));
      EXPECT_EQ(Pools::at(pools.k, pools.table, 0, 4, h, d), Pools::at(before, pools.table, 0, 4, h, d));
    }
  // Two tokens at one place.
  expectError(tryKernel(append, {x, integers({0, 0, 0}), integers({5, 5, 6}), pools.table, pools.k}), "writes too");
  // Padding goes to page 0, where anything goes.
  Tensor sink = Tensor::fromValues(Element::I32, {2, 2}, {0, 0, 0, 0});
  EXPECT_TRUE(tryKernel(append, {x, integers({0, 0, 0}), integers({5, 5, 6}), sink, pools.k}));
}

TEST_F(KernelTest, AppendsToPagesRounded) {
  environment.symbols = {{"T", 2}, {"S", 2}, {"B", 2}, {"C", 8}};
  environment.page = 4;
  for (Element element : {Element::F16, Element::BF16}) {
    std::string text = append;
    const std::string plain = "f32, paged_k>", stored = "f32, paged_k, " + std::string(info(element).name) + ">";
    for (size_t at = 0; (at = text.find(plain, at)) != std::string::npos; at += stored.size())
      text.replace(at, plain.size(), stored);
    Pools pools;
    Tensor x = randomFloats({2, 2, 8}, 9);
    x.set({0, 0, 0}, 70000); // infinite as f16, 70144 as bf16
    KernelRun run = runKernel(text.c_str(), {x, integers({0, 1}), integers({5, 3}), pools.table, pools.k});
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t d = 0; d < 8; ++d) {
        EXPECT_EQ(Pools::at(pools.k, pools.table, 0, 5, h, d), roundTo(element, x.get({0, h, d})));
        EXPECT_EQ(Pools::at(pools.k, pools.table, 1, 3, h, d), roundTo(element, x.get({1, h, d})));
      }
    EXPECT_EQ(run.traffic[4].storedBytes, 2 * 2 * 8 * 2.0);
    // Two tokens at one place are found here, too.
    expectError(tryKernel(text.c_str(), {x, integers({0, 0}), integers({5, 5}), pools.table, pools.k}), "writes too");
  }
}

//===----------------------------------------------------------------------===//
// Misuse shows
//===----------------------------------------------------------------------===//

std::string rowKernel(const std::string &body) {
  return R"(tile.kernel @k grid [#tile.axis<[sym(N)] by 4>] {
    ^bb0(%x: !tile.buffer<[sym(N)], f32>, %y: !tile.buffer<[sym(N)], f32>):
      %i = tile.origin 0
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
  )" + body +
         "\ntile.return\n}";
}

TEST_F(KernelTest, TailsAreMaskedAndOutOfRangeLanesAreNaN) {
  environment.symbols["N"] = 6;
  const std::string text = rowKernel(R"(
      %j = arith.addi %i, %c1 : index
      %v = tile.load %x[%j] map affine_map<(i) -> (i)> : !tile.buffer<[sym(N)], f32> -> vector<4xf32>
      tile.store %v, %y[%i] map affine_map<(i) -> (i)> : vector<4xf32>, !tile.buffer<[sym(N)], f32>)");
  Tensor y = nans({6});
  runKernel(text, {floats({6}, {0, 1, 2, 3, 4, 5}), y});
  const Values got = y.values();
  EXPECT_EQ(Values(got.begin(), got.begin() + 5), (Values{1, 2, 3, 4, 5}));
  EXPECT_TRUE(std::isnan(got[5]));
}

TEST_F(KernelTest, RacesAndStraysAreErrors) {
  environment.symbols["N"] = 8;
  Tensor x = randomFloats({8}, 1), y = nans({8});
  const std::string load =
      "%v = tile.load %x[%i] map affine_map<(i) -> (i)> : !tile.buffer<[sym(N)], f32> -> vector<4xf32>\n";
  expectError(
      tryKernel(
          rowKernel(load +
                    "tile.store %v, %y[%c1] map affine_map<(i) -> (i)> : vector<4xf32>, !tile.buffer<[sym(N)], f32>"),
          {x, y}),
      "program 0 writes too");
  expectError(
      tryKernel(
          rowKernel(
              load +
              "tile.store %v, %y[%i] map affine_map<(i) -> (i + 5)> : vector<4xf32>, !tile.buffer<[sym(N)], f32>"),
          {x, y}),
      "outside [8]");
  // Program 1 reads what program 0 wrote: x is y, one element back.
  expectError(tryKernel(rowKernel(R"(
      %j = arith.subi %i, %c1 : index
      %v = tile.load %x[%j] map affine_map<(i) -> (i)> : !tile.buffer<[sym(N)], f32> -> vector<4xf32>
      tile.store %v, %y[%i] map affine_map<(i) -> (i)> : vector<4xf32>, !tile.buffer<[sym(N)], f32>)"),
                        {y, y}),
              "of the same launch writes");
  expectError(tryKernel(rowKernel(""), {x}), "takes 2 buffers");
  environment.symbols.erase("N");
  expectError(tryKernel(rowKernel(""), {x, y}), "'N' has no value");
}

TEST_F(KernelTest, PoisonAsAnIndexIsAnError) {
  environment.symbols["N"] = 4;
  expectError(tryKernel(R"(tile.kernel @k grid [#tile.axis<[sym(N)] by 4>] {
    ^bb0(%x: !tile.buffer<[sym(N)], i32>, %y: !tile.buffer<[sym(N)], f32>):
      %i = tile.origin 0
      %n = tile.extent "N"
      %a = tile.load %x[%n] map affine_map<(i) -> (i)> : !tile.buffer<[sym(N)], i32> -> i32
      %j = arith.index_cast %a : i32 to index
      %v = tile.load %y[%j] map affine_map<(i) -> (i)> : !tile.buffer<[sym(N)], f32> -> f32
      tile.return
    })",
                        {integers({1, 2, 3, 4}), nans({4})}),
              "unspecified value");
}

TEST_F(KernelTest, IndicesSelectsBranchesAndVectorOps) {
  environment.symbols["N"] = 4;
  Tensor y = nans({4});
  runKernel(rowKernel(R"(
      %j = tile.index %c1 dim 0 : vector<4xi32>
      %two = arith.constant dense<2> : vector<4xi32>
      %small = arith.cmpi slt, %j, %two : vector<4xi32>
      %f = arith.sitofp %j : vector<4xi32> to vector<4xf32>
      %ten = arith.constant dense<10.0> : vector<4xf32>
      %a = arith.select %small, %ten, %f : vector<4xi1>, vector<4xf32>
      %r = vector.shuffle %a, %ten [3, 1, 0, 4] : vector<4xf32>, vector<4xf32>
      %e = vector.extract %r[0] : f32 from vector<4xf32>
      %b = vector.insert %e, %r[1] : f32 into vector<4xf32>
      %t = arith.constant true
      %z = scf.if %t -> (vector<4xf32>) {
        scf.yield %b : vector<4xf32>
      } else {
        scf.yield %ten : vector<4xf32>
      }
      %w = arith.select %t, %z, %ten : vector<4xf32>
      tile.store %w, %y[%i] map affine_map<(i) -> (i)> : vector<4xf32>, !tile.buffer<[sym(N)], f32>)"),
            {nans({4}), y});
  EXPECT_EQ(y.values(), (Values{4, 4, 10, 10}));
}

TEST_F(KernelTest, ReduceMergesByTheStatedTree) {
  environment.symbols["N"] = 4;
  Tensor y = nans({4});
  // combine(a, b) = 10 a + b shows the order: lanes (0,2) and (1,3), then those two.
  runKernel(rowKernel(R"(
      %v = tile.load %x[%i] map affine_map<(i) -> (i)> : !tile.buffer<[sym(N)], f32> -> vector<4xf32>
      %s = tile.reduce %v : vector<4xf32> -> f32 combine {
      ^bb1(%a: f32, %b: f32):
        %ten = arith.constant 10.0 : f32
        %m = arith.mulf %a, %ten : f32
        %r = arith.addf %m, %b : f32
        tile.yield %r : f32
      }
      tile.store %s, %y[%c0] map affine_map<(i) -> (i)> : f32, !tile.buffer<[sym(N)], f32>)"),
            {floats({4}, {1, 2, 3, 4}), y});
  EXPECT_EQ(y.get({0}), 10 * (10 * 1 + 3) + (10 * 2 + 4));
}

} // namespace
} // namespace fusec::reference
