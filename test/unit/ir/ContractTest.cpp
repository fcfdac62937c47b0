//===- ContractTest.cpp - fuse.contract and fuse.linear -------------------------===//
#include "test/unit/ir/IRFixture.h"

namespace fusec::reference {
namespace {

class ContractTest : public IRFixture {
protected:
  static std::string text(const std::string &lhs, const std::string &rhs, const std::string &out,
                          const std::string &maps, const std::string &accumulate = "f32") {
    const std::string l = "!fuse.tensor<" + lhs + ">", r = "!fuse.tensor<" + rhs + ">", o = "!fuse.tensor<" + out + ">";
    return "func.func @f(%a: " + l + ", %b: " + r + ") -> " + o + " {\n%c = fuse.contract %a, %b maps [" + maps +
           "] numerics <accumulate = " + accumulate + ", order = sequential, empty = identity> : " + l + ", " + r +
           " -> " + o + "\nreturn %c : " + o + "\n}";
  }
  static std::string matmul() {
    return text("[sym(M), sym(K)], f32", "[sym(N), sym(K)], f32", "[sym(M), sym(N)], f32",
                "affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>");
  }
};
using Values = std::vector<double>;

TEST_F(ContractTest, Matmul) {
  EXPECT_EQ(run(matmul(), {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({2, 3}, {1, 0, -1, 2, 2, 2})}),
            (Values{-2, 12, -2, 30}));
}

/// Exact is one chain of f32 fused multiply-adds per element; F64 is within the bound of it.
TEST_F(ContractTest, ExactIsAChainOfFma) {
  for (int64_t m : {0, 1, 7})
    for (int64_t n : {0, 1, 7, 17})
      for (int64_t k : {0, 1, 7, 17, 64}) {
        environment.symbols.clear();
        Tensor a = randomFloats({m, k}, 1), b = randomFloats({n, k}, 2);
        Values exact = run(matmul(), {a, b}, Precision::Exact);
        environment.symbols.clear();
        Values real = run(matmul(), {a, b}, Precision::F64);
        ASSERT_EQ(exact.size(), static_cast<size_t>(m * n));
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            float chain = 0;
            double sum = 0, magnitude = 0;
            for (int64_t l = 0; l < k; ++l) {
              chain = std::fma(static_cast<float>(a.get({i, l})), static_cast<float>(b.get({j, l})), chain);
              sum += a.get({i, l}) * b.get({j, l});
              magnitude += std::abs(a.get({i, l}) * b.get({j, l}));
            }
            EXPECT_EQ(exact[i * n + j], static_cast<double>(chain)) << m << " " << n << " " << k;
            EXPECT_NEAR(real[i * n + j], sum, 1e-15 * (1 + k) * (1 + magnitude));
            EXPECT_LE(std::abs(exact[i * n + j] - sum), k * f32Roundoff * magnitude * 1.01);
          }
      }
}

TEST_F(ContractTest, FloatStorageOfWeightsGivesTheSame) {
  Tensor a = randomFloats({3, 33}, 1), b = randomFloats({19, 33}, 2);
  Tensor::Floats single;
  for (double v : b.values())
    single.push_back(static_cast<float>(v));
  for (Precision p : {Precision::Exact, Precision::F64})
    EXPECT_EQ(run(matmul(), {a, b}, p), run(matmul(), {a, Tensor::fromFloats({19, 33}, single)}, p));
}

TEST_F(ContractTest, ColumnOrderGivesTheSame) {
  // The same product with the right operand transposed takes the column path.
  const std::string transposed =
      text("[sym(M), sym(K)], f32", "[sym(K), sym(N)], f32", "[sym(M), sym(N)], f32",
           "affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>");
  Tensor a = randomFloats({3, 33}, 1), b = randomFloats({19, 33}, 2);
  Tensor bt = b.restrided({33, 19}, {1, 33}, 0).clone();
  EXPECT_EQ(run(matmul(), {a, b}, Precision::Exact), run(transposed, {a, bt}, Precision::Exact));
  expectNear(run(matmul(), {a, b}), run(transposed, {a, bt}), 1e-13);
}

TEST_F(ContractTest, SumsSeveralDimensionsAndSwapsOperands) {
  // out[n] = sum_{i, k} a[i, k] * b[k, n, i]; n is the lhs's nothing and the rhs's middle.
  const std::string forward =
      text("[2, 3], f32", "[3, 4, 2], f32", "[4], f32",
           "affine_map<(n, i, k) -> (i, k)>, affine_map<(n, i, k) -> (k, n, i)>, affine_map<(n, i, k) -> (n)>");
  const std::string swapped =
      text("[3, 4, 2], f32", "[2, 3], f32", "[4], f32",
           "affine_map<(n, i, k) -> (k, n, i)>, affine_map<(n, i, k) -> (i, k)>, affine_map<(n, i, k) -> (n)>");
  Tensor a = randomFloats({2, 3}, 1), b = randomFloats({3, 4, 2}, 2);
  Values expected;
  for (int64_t n = 0; n < 4; ++n) {
    float sum = 0;
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t k = 0; k < 3; ++k)
        sum = std::fma(static_cast<float>(a.get({i, k})), static_cast<float>(b.get({k, n, i})), sum);
    expected.push_back(sum);
  }
  EXPECT_EQ(run(forward, {a, b}, Precision::Exact), expected);
  EXPECT_EQ(run(swapped, {b, a}, Precision::Exact), expected);
}

TEST_F(ContractTest, GroupedHeadsAndFullSums) {
  // s[t, h, j] = sum_d q[t, h, d] * k[t, j, h floordiv 3, d]
  const std::string scores =
      text("[ragged(T), 6, 4], f32", "[ragged(T), paged(C), 2, 4], f32", "[ragged(T), 6, paged(C)], f32",
           "affine_map<(t, h, j, d) -> (t, h, d)>, affine_map<(t, h, j, d) -> (t, j, h floordiv 3, d)>, "
           "affine_map<(t, h, j, d) -> (t, h, j)>");
  Tensor q = randomFloats({2, 6, 4}, 1), k = randomFloats({2, 5, 2, 4}, 2);
  Values s = run(scores, {q, k});
  ASSERT_EQ(shape, (std::vector<int64_t>{2, 6, 5}));
  for (int64_t t = 0; t < 2; ++t)
    for (int64_t h = 0; h < 6; ++h)
      for (int64_t j = 0; j < 5; ++j) {
        double sum = 0;
        for (int64_t d = 0; d < 4; ++d)
          sum += q.get({t, h, d}) * k.get({t, j, h / 3, d});
        EXPECT_NEAR(s[(t * 6 + h) * 5 + j], sum, 1e-14);
      }
  // A sum over everything, and one whose inner dimension is not linear.
  EXPECT_EQ(run(text("[2, 2], f32", "[2, 2], f32", "[], f32",
                     "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> ()>"),
                {floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {1, 10, 100, 1000})}),
            Values{1 + 200 + 30 + 4000});
  EXPECT_EQ(run(text("[6], f32", "[3], f32", "[1], f32",
                     "affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (k floordiv 2)>, affine_map<(n, k) -> (n)>"),
                {floats({6}, {1, 2, 3, 4, 5, 6}), floats({3}, {1, 10, 100})}),
            Values{3 + 70 + 1100});
}

TEST_F(ContractTest, GatheredCacheIsReadThroughItsRows) {
  const char *text = R"(
    func.func @f(%q: !fuse.tensor<[ragged(T), 2, 3], f32>, %c: !fuse.tensor<[sym(S), paged(C), 2, 3], f32>,
                 %s: !fuse.tensor<[ragged(T)], i32>) -> !fuse.tensor<[ragged(T), 2, paged(C)], f32> {
      %k = fuse.gather %c[%s] : !fuse.tensor<[sym(S), paged(C), 2, 3], f32>, !fuse.tensor<[ragged(T)], i32>
          -> !fuse.tensor<[ragged(T), paged(C), 2, 3], f32>
      %r = fuse.contract %q, %k maps [affine_map<(t, h, j, d) -> (t, h, d)>, affine_map<(t, h, j, d) -> (t, j, h, d)>,
          affine_map<(t, h, j, d) -> (t, h, j)>] numerics <accumulate = f32, order = sequential, empty = identity>
          : !fuse.tensor<[ragged(T), 2, 3], f32>, !fuse.tensor<[ragged(T), paged(C), 2, 3], f32>
          -> !fuse.tensor<[ragged(T), 2, paged(C)], f32>
      return %r : !fuse.tensor<[ragged(T), 2, paged(C)], f32>
    })";
  Tensor q = randomFloats({3, 2, 3}, 1), cache = randomFloats({2, 4, 2, 3}, 2);
  Values s = run(text, {q, cache, integers({1, 0, 1})});
  ASSERT_EQ(s.size(), 24u);
  const int64_t sequences[] = {1, 0, 1};
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t j = 0; j < 4; ++j) {
        double sum = 0;
        for (int64_t d = 0; d < 3; ++d)
          sum += q.get({t, h, d}) * cache.get({sequences[t], j, h, d});
        EXPECT_NEAR(s[(t * 2 + h) * 4 + j], sum, 1e-14);
      }
}

TEST_F(ContractTest, NarrowAccumulatorRoundsEachStep) {
  // In bf16: 256 + 1 = 256 (8 bits), twice; in f32 the sum is 258.
  const std::string maps = "affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (n)>";
  Tensor a = floats({3}, {256, 1, 1}), ones = floats({3}, {1, 1, 1});
  EXPECT_EQ(run(text("[3], f32", "[3], f32", "[1], f32", maps, "bf16"), {a, ones}, Precision::Exact), Values{256});
  EXPECT_EQ(run(text("[3], f32", "[3], f32", "[1], f32", maps, "f32"), {a, ones}, Precision::Exact), Values{258});
  Tensor tiny = floats({2}, {1, 0x1p-30});
  EXPECT_EQ(run(text("[2], f32", "[2], f32", "[1], f64", maps, "f64"), {tiny, floats({2}, {1, 1})}, Precision::Exact),
            Values{1 + 0x1p-30});
}

TEST_F(ContractTest, LinearWithBias) {
  const char *text = R"(
    func.func @f(%x: !fuse.tensor<[ragged(T), 3], f32>, %w: !fuse.tensor<[2, 3], f32>, %b: !fuse.tensor<[2], f32>) -> !fuse.tensor<[ragged(T), 2], f32> {
      %y = fuse.linear %x, %w bias %b : !fuse.tensor<[2], f32> : !fuse.tensor<[ragged(T), 3], f32>, !fuse.tensor<[2, 3], f32> -> !fuse.tensor<[ragged(T), 2], f32>
      return %y : !fuse.tensor<[ragged(T), 2], f32>
    })";
  Tensor w = floats({2, 3}, {1, 0, -1, 2, 2, 2}), b = floats({2}, {0.5, -1});
  EXPECT_EQ(run(text, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), w, b}), (Values{-1.5, 11, -1.5, 29}));
  environment.symbols.clear();
  EXPECT_EQ(run(text, {floats({0, 3}, {}), w, b}), Values{});
}

TEST_F(ContractTest, LinearEqualsContractBitForBit) {
  const char *linear = R"(
    func.func @f(%x: !fuse.tensor<[sym(M), sym(K)], f32>, %w: !fuse.tensor<[sym(N), sym(K)], f32>) -> !fuse.tensor<[sym(M), sym(N)], f32> {
      %y = fuse.linear %x, %w : !fuse.tensor<[sym(M), sym(K)], f32>, !fuse.tensor<[sym(N), sym(K)], f32> -> !fuse.tensor<[sym(M), sym(N)], f32>
      return %y : !fuse.tensor<[sym(M), sym(N)], f32>
    })";
  environment.symbols["N"] = 17;
  Tensor x = randomFloats({5, 31}, 1), w = randomFloats({17, 31}, 2);
  for (Precision p : {Precision::Exact, Precision::F64})
    EXPECT_EQ(run(linear, {x, w}, p), run(matmul(), {x, w}, p));
}

} // namespace
} // namespace fusec::reference
