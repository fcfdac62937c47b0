//===- GraphSugarTest.cpp - rms_norm, rope, swiglu, softmax, attention ----------===//
#include "test/unit/ir/IRFixture.h"

namespace fusec::reference {
namespace {

class GraphSugarTest : public IRFixture {};
using Values = std::vector<double>;

constexpr const char *softmaxText = R"(
    func.func @f(%x: !fuse.tensor<[sym(N), sym(M)], f32>) -> !fuse.tensor<[sym(N), sym(M)], f32> {
      %y = fuse.softmax %x : !fuse.tensor<[sym(N), sym(M)], f32> -> !fuse.tensor<[sym(N), sym(M)], f32>
      return %y : !fuse.tensor<[sym(N), sym(M)], f32>
    })";

TEST_F(GraphSugarTest, SoftmaxSumsToOneAndMaskedRowsAreZero) {
  // exp(1..3) normalised, as any reference gives it.
  Values y = run(softmaxText, {floats({2, 3}, {1, 2, 3, -INFINITY, -INFINITY, -INFINITY})});
  expectNear(y, {0.09003057317038046, 0.24472847105479764, 0.6652409557748218, 0, 0, 0}, 1e-15);
  for (int64_t m : {0, 1, 7, 17}) {
    environment.symbols.clear();
    Tensor x = randomFloats({4, m}, static_cast<uint32_t>(m));
    for (Precision p : {Precision::Exact, Precision::F64}) {
      y = run(softmaxText, {x}, p);
      ASSERT_EQ(y.size(), static_cast<size_t>(4 * m));
      for (int64_t i = 0; i < 4 && m > 0; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < m; ++j)
          sum += y[i * m + j];
        EXPECT_NEAR(sum, 1.0, p == Precision::Exact ? 2 * (m + 3) * f32Roundoff : 1e-14);
      }
    }
  }
  environment.symbols.clear();
  // Shifting a row changes nothing; large values do not overflow.
  expectNear(run(softmaxText, {floats({1, 2}, {1000, 1001})}), {0.2689414213699951, 0.7310585786300049}, 1e-15);
}

TEST_F(GraphSugarTest, RMSNorm) {
  const char *text = R"(
    func.func @f(%x: !fuse.tensor<[ragged(T), 4], f32>, %w: !fuse.tensor<[4], f32>) -> !fuse.tensor<[ragged(T), 4], f32> {
      %y = fuse.rms_norm %x, %w epsilon 0.5 : !fuse.tensor<[ragged(T), 4], f32>, !fuse.tensor<[4], f32> -> !fuse.tensor<[ragged(T), 4], f32>
      return %y : !fuse.tensor<[ragged(T), 4], f32>
    })";
  // mean of squares 7.5, plus 0.5: the root is 2 sqrt 2.
  const double r = 1 / std::sqrt(8.0);
  Tensor x = floats({2, 4}, {1, 2, 3, 4, 0, 0, 0, 0}), w = floats({4}, {1, 2, 3, -1});
  expectNear(run(text, {x, w}), {r, 4 * r, 9 * r, -4 * r, 0, 0, 0, 0}, 1e-15);
  // 4 + 1 roundings of the mean, sqrt, divide, two products.
  expectNear(run(text, {x, w}, Precision::Exact), {r, 4 * r, 9 * r, -4 * r, 0, 0, 0, 0}, 9 * r * 10 * f32Roundoff);
}

std::string ropeText(const std::string &pairing) {
  return R"(
    func.func @f(%x: !fuse.tensor<[ragged(T), 1, 5], f32>, %p: !fuse.tensor<[ragged(T)], i32>) -> !fuse.tensor<[ragged(T), 1, 5], f32> {
      %f = fuse.constant "f" dense<[1.0, 0.5]> : tensor<2xf64> -> !fuse.tensor<[2], f64>
      %y = fuse.rope %x, %p, %f )" +
         pairing +
         R"( : !fuse.tensor<[ragged(T), 1, 5], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[2], f64> -> !fuse.tensor<[ragged(T), 1, 5], f32>
      return %y : !fuse.tensor<[ragged(T), 1, 5], f32>
    })";
}

TEST_F(GraphSugarTest, RopeTurnsPairsAndPassesTheRest) {
  Tensor x = floats({2, 1, 5}, {1, 2, 3, 4, 5, 1, 2, 3, 4, 5});
  const double c1 = std::cos(3.0), s1 = std::sin(3.0), c2 = std::cos(1.5), s2 = std::sin(1.5);
  expectNear(run(ropeText("half"), {x, integers({0, 3})}),
             {1, 2, 3, 4, 5, 1 * c1 - 3 * s1, 2 * c2 - 4 * s2, 1 * s1 + 3 * c1, 2 * s2 + 4 * c2, 5}, 1e-15);
  expectNear(run(ropeText("interleaved"), {x, integers({0, 3})}),
             {1, 2, 3, 4, 5, 1 * c1 - 2 * s1, 1 * s1 + 2 * c1, 3 * c2 - 4 * s2, 3 * s2 + 4 * c2, 5}, 1e-15);
}

TEST_F(GraphSugarTest, Swiglu) {
  const char *text = R"(
    func.func @f(%g: !fuse.tensor<[3], f32>, %u: !fuse.tensor<[3], f32>) -> !fuse.tensor<[3], f32> {
      %y = fuse.swiglu %g, %u : !fuse.tensor<[3], f32>
      return %y : !fuse.tensor<[3], f32>
    })";
  // silu(1) = 0.7310585786300049, silu(-2) = -0.2384058440442351
  expectNear(run(text, {floats({3}, {1, -2, 0}), floats({3}, {2, 3, 4})}), {1.4621171572600098, -0.7152175321327053, 0},
             1e-15);
  EXPECT_EQ(run(text, {floats({3}, {-1000, 1000, 0}), floats({3}, {1, 1, 1})}, Precision::Exact), (Values{0, 1000, 0}));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

struct AttentionCase {
  int64_t tokens, heads, kvHeads, head, valueHead, context, window; // window 0: none
};

std::string attentionText(const AttentionCase &c) {
  auto tensor = [](const std::string &dims, const char *element = "f32") {
    return "!fuse.tensor<[" + dims + "], " + element + ">";
  };
  const std::string q = tensor("ragged(T), " + std::to_string(c.heads) + ", " + std::to_string(c.head));
  const std::string k = tensor("sym(S), paged(C), " + std::to_string(c.kvHeads) + ", " + std::to_string(c.head));
  const std::string v = tensor("sym(S), paged(C), " + std::to_string(c.kvHeads) + ", " + std::to_string(c.valueHead));
  const std::string i = tensor("ragged(T)", "i32");
  const std::string o = tensor("ragged(T), " + std::to_string(c.heads * c.valueHead));
  const std::string window = c.window ? " window " + std::to_string(c.window) : "";
  return "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + ", %p: " + i + ", %s: " + i + ") -> " + o +
         " {\n%o = fuse.attention %q, %k, %v, %p, %s scale 0.5" + window + " : " + q + ", " + k + ", " + v + ", " + i +
         ", " + i + " -> " + o + "\nreturn %o : " + o + "\n}";
}

/// The formula, one number at a time, masked scores at -inf.
Values naiveAttention(const AttentionCase &c, const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &p,
                      const Tensor &s) {
  Values out;
  for (int64_t t = 0; t < c.tokens; ++t)
    for (int64_t h = 0; h < c.heads; ++h) {
      const int64_t sequence = static_cast<int64_t>(s.get({t})), position = static_cast<int64_t>(p.get({t}));
      const int64_t kvHead = h / (c.heads / c.kvHeads);
      Values weight(c.context, 0.0);
      double sum = 0;
      for (int64_t j = 0; j < c.context; ++j) {
        if (j > position || (c.window && j <= position - c.window))
          continue;
        double score = 0;
        for (int64_t d = 0; d < c.head; ++d)
          score += q.get({t, h, d}) * k.get({sequence, j, kvHead, d});
        sum += weight[j] = std::exp(0.5 * score);
      }
      for (int64_t d = 0; d < c.valueHead; ++d) {
        double value = 0;
        for (int64_t j = 0; j < c.context; ++j)
          value += weight[j] * v.get({sequence, j, kvHead, d});
        out.push_back(sum == 0 ? 0 : value / sum);
      }
    }
  return out;
}

class AttentionTest : public IRFixture, public ::testing::WithParamInterface<AttentionCase> {};

TEST_P(AttentionTest, AgreesWithTheFormula) {
  const AttentionCase c = GetParam();
  Tensor q = randomFloats({c.tokens, c.heads, c.head}, 1), k = randomFloats({2, c.context, c.kvHeads, c.head}, 2);
  Tensor v = randomFloats({2, c.context, c.kvHeads, c.valueHead}, 3);
  Values positions, sequences;
  for (int64_t t = 0; t < c.tokens; ++t) {
    positions.push_back(static_cast<double>((t * 5 + 3) % c.context));
    sequences.push_back(static_cast<double>(t % 2));
  }
  Tensor p = integers(positions), s = integers(sequences);
  Values expected = naiveAttention(c, q, k, v, p, s);
  expectNear(run(attentionText(c), {q, k, v, p, s}), expected, 1e-13);
  // Scores: head + 2 roundings of magnitude <= head; weights and sums: a few per key; |v| <= 1.
  const double bound = (2 * (c.head + 4) * c.head + 2 * (c.context + 4)) * f32Roundoff;
  expectNear(run(attentionText(c), {q, k, v, p, s}, Precision::Exact), expected, bound);
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTest,
                         ::testing::Values(AttentionCase{1, 1, 1, 1, 1, 1, 0}, AttentionCase{0, 2, 1, 4, 4, 3, 0},
                                           AttentionCase{7, 9, 3, 8, 8, 17, 0}, AttentionCase{5, 4, 4, 7, 3, 9, 0},
                                           AttentionCase{5, 4, 1, 4, 4, 12, 4}, AttentionCase{6, 2, 2, 4, 4, 12, 1}));

TEST_F(GraphSugarTest, AWindowOfFourSeesExactlyFourKeys) {
  // Equal scores: the output is the mean of the visible values; values are powers of two, so the sum names them.
  const AttentionCase c{3, 1, 1, 1, 1, 8, 4};
  Tensor zeros = Tensor::filled(Element::F32, {1, 8, 1, 1}, 0.0);
  Tensor v = floats({1, 8, 1, 1}, {1, 2, 4, 8, 16, 32, 64, 128});
  EXPECT_EQ(run(attentionText(c), {floats({3, 1, 1}, {1, 1, 1}), zeros, v, integers({7, 3, 2}), integers({0, 0, 0})}),
            (Values{(128 + 64 + 32 + 16) / 4.0, (8 + 4 + 2 + 1) / 4.0, (4 + 2 + 1) / 3.0}));
}

TEST_F(GraphSugarTest, HiddenKeysAreNeverReadAndEmptyRowsAreZero) {
  const AttentionCase c{2, 1, 1, 1, 1, 3, 0};
  Tensor k = floats({1, 3, 1, 1}, {0, 0, NAN}), v = floats({1, 3, 1, 1}, {2, 4, NAN});
  EXPECT_EQ(run(attentionText(c), {floats({2, 1, 1}, {1, 1}), k, v, integers({1, -1}), integers({0, 0})}),
            (Values{3, 0}));
}

/// Attention written with primitives gives the sugar's values.
TEST_F(GraphSugarTest, AttentionEqualsItsPrimitives) {
  const char *text = R"(
    #q = affine_map<(t, h, j, d) -> (t, h, d)>
    #k = affine_map<(t, h, j, d) -> (t, j, h floordiv 3, d)>
    #s = affine_map<(t, h, j, d) -> (t, h, j)>
    #row = affine_map<(t, h, j) -> (t, h)>
    #all = affine_map<(t, h, j) -> (t, h, j)>
    func.func @f(%q: !fuse.tensor<[ragged(T), 6, 4], f32>, %kc: !fuse.tensor<[sym(S), paged(C), 2, 4], f32>,
                 %vc: !fuse.tensor<[sym(S), paged(C), 2, 4], f32>, %p: !fuse.tensor<[ragged(T)], i32>,
                 %sq: !fuse.tensor<[ragged(T)], i32>) -> !fuse.tensor<[ragged(T), 24], f32> {
      %k = fuse.gather %kc[%sq] : !fuse.tensor<[sym(S), paged(C), 2, 4], f32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), paged(C), 2, 4], f32>
      %v = fuse.gather %vc[%sq] : !fuse.tensor<[sym(S), paged(C), 2, 4], f32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), paged(C), 2, 4], f32>
      %s = fuse.contract %q, %k maps [#q, #k, #s] numerics <accumulate = f32, order = sequential, empty = identity>
          : !fuse.tensor<[ragged(T), 6, 4], f32>, !fuse.tensor<[ragged(T), paged(C), 2, 4], f32> -> !fuse.tensor<[ragged(T), 6, paged(C)], f32>
      %m = fuse.map(%s, %p : !fuse.tensor<[ragged(T), 6, paged(C)], f32>, !fuse.tensor<[ragged(T)], i32>)
          maps [#all, affine_map<(t, h, j) -> (t)>] -> !fuse.tensor<[ragged(T), 6, paged(C)], f32> {
      ^bb0(%x: f32, %pos: i32):
        %half = arith.constant 0.5 : f32
        %inf = arith.constant 0xFF800000 : f32
        %w = arith.constant 4 : i32
        %y = arith.mulf %x, %half : f32
        %j = fuse.index 2
        %past = arith.cmpi sle, %j, %pos : i32
        %first = arith.subi %pos, %w : i32
        %near = arith.cmpi sgt, %j, %first : i32
        %see = arith.andi %past, %near : i1
        %z = arith.select %see, %y, %inf : f32
        fuse.yield %z : f32
      }
      %max = fuse.reduce(%m : !fuse.tensor<[ragged(T), 6, paged(C)], f32>) over [2] init [0xFF800000 : f32]
          numerics <accumulate = f32, order = lanes, empty = zero> -> !fuse.tensor<[ragged(T), 6], f32> combine {
      ^bb0(%a: f32, %x: f32):
        %r = arith.maximumf %a, %x : f32
        fuse.yield %r : f32
      } repair {}
      %e = fuse.map(%m, %max : !fuse.tensor<[ragged(T), 6, paged(C)], f32>, !fuse.tensor<[ragged(T), 6], f32>)
          maps [#all, #row] -> !fuse.tensor<[ragged(T), 6, paged(C)], f32> {
      ^bb0(%x: f32, %a: f32):
        %d = arith.subf %x, %a : f32
        %r = math.exp %d : f32
        fuse.yield %r : f32
      }
      %l = fuse.reduce(%e : !fuse.tensor<[ragged(T), 6, paged(C)], f32>) over [2] init [0.0 : f32]
          numerics <accumulate = f32, order = lanes, empty = identity> -> !fuse.tensor<[ragged(T), 6], f32> combine {
      ^bb0(%a: f32, %x: f32):
        %r = arith.addf %a, %x : f32
        fuse.yield %r : f32
      } repair {}
      %o = fuse.contract %e, %v maps [affine_map<(t, h, d, j) -> (t, h, j)>, affine_map<(t, h, d, j) -> (t, j, h floordiv 3, d)>,
          affine_map<(t, h, d, j) -> (t, h, d)>] numerics <accumulate = f32, order = sequential, empty = identity>
          : !fuse.tensor<[ragged(T), 6, paged(C)], f32>, !fuse.tensor<[ragged(T), paged(C), 2, 4], f32> -> !fuse.tensor<[ragged(T), 6, 4], f32>
      %y = fuse.map(%o, %l : !fuse.tensor<[ragged(T), 6, 4], f32>, !fuse.tensor<[ragged(T), 6], f32>)
          maps [#all, #row] -> !fuse.tensor<[ragged(T), 6, 4], f32> {
      ^bb0(%x: f32, %a: f32):
        %zero = arith.constant 0.0 : f32
        %none = arith.cmpf oeq, %a, %zero : f32
        %d = arith.divf %x, %a : f32
        %r = arith.select %none, %zero, %d : f32
        fuse.yield %r : f32
      }
      %f = fuse.reshape %y : !fuse.tensor<[ragged(T), 6, 4], f32> -> !fuse.tensor<[ragged(T), 24], f32>
      return %f : !fuse.tensor<[ragged(T), 24], f32>
    })";
  const AttentionCase c{4, 6, 2, 4, 4, 11, 4};
  std::vector<Tensor> inputs = {randomFloats({4, 6, 4}, 1), randomFloats({2, 11, 2, 4}, 2),
                                randomFloats({2, 11, 2, 4}, 3), integers({0, 10, 5, -1}), integers({0, 1, 1, 0})};
  for (Precision p : {Precision::Exact, Precision::F64}) {
    Values primitives = run(text, inputs, p);
    expectNear(run(attentionText(c), inputs, p), primitives, p == Precision::Exact ? 200 * f32Roundoff : 1e-14);
    ASSERT_EQ(primitives.size(), 96u);
    for (size_t i = 72; i < 96; ++i)
      EXPECT_EQ(primitives[i], 0) << "a row with no visible key";
  }
}

} // namespace
} // namespace fusec::reference
