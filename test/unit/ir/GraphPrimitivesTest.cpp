//===- GraphPrimitivesTest.cpp - fuse primitives on small values ----------------===//
#include "test/unit/ir/IRFixture.h"

namespace fusec::reference {
namespace {

class GraphPrimitivesTest : public IRFixture {};
using Values = std::vector<double>;

TEST_F(GraphPrimitivesTest, MapBroadcastsAndPermutes) {
  const char *text = R"(
    func.func @f(%x: !fuse.tensor<[2, 3], f32>, %r: !fuse.tensor<[3], f32>) -> !fuse.tensor<[3, 2], f32> {
      %y = fuse.map(%x, %r : !fuse.tensor<[2, 3], f32>, !fuse.tensor<[3], f32>)
          maps [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>] -> !fuse.tensor<[3, 2], f32> {
      ^bb0(%a: f32, %b: f32):
        %m = arith.mulf %a, %b : f32
        fuse.yield %m : f32
      }
      return %y : !fuse.tensor<[3, 2], f32>
    })";
  EXPECT_EQ(run(text, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({3}, {10, 100, 1000})}),
            (Values{10, 40, 200, 500, 3000, 6000}));
}

TEST_F(GraphPrimitivesTest, MapIndexAndQuotientMaps) {
  const char *text = R"(
    func.func @f(%x: !fuse.tensor<[2], f32>) -> !fuse.tensor<[sym(N)], f32> {
      %y = fuse.map(%x : !fuse.tensor<[2], f32>) maps [affine_map<(i) -> (i floordiv 3 mod 2)>] -> !fuse.tensor<[sym(N)], f32> {
      ^bb0(%a: f32):
        %i = fuse.index 0
        %f = arith.sitofp %i : i32 to f32
        %s = arith.addf %a, %f : f32
        fuse.yield %s : f32
      }
      return %y : !fuse.tensor<[sym(N)], f32>
    })";
  environment.symbols["N"] = 7;
  EXPECT_EQ(run(text, {floats({2}, {100, 200})}), (Values{100, 101, 102, 203, 204, 205, 106}));
  // More lanes than one run of the body takes.
  environment.symbols["N"] = 1000;
  Values many = run(text, {floats({2}, {100, 200})});
  ASSERT_EQ(many.size(), 1000u);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(many[i], (i / 3 % 2 ? 200 : 100) + i);
  environment.symbols["N"] = 0;
  EXPECT_EQ(run(text, {floats({2}, {100, 200})}), Values{});
}

TEST_F(GraphPrimitivesTest, MapWithoutInputsAndScalarMap) {
  EXPECT_EQ(run(R"(
    func.func @f() -> !fuse.tensor<[], f32> {
      %y = fuse.map() maps [] -> !fuse.tensor<[], f32> {
        %c = arith.constant 2.5 : f32
        fuse.yield %c : f32
      }
      return %y : !fuse.tensor<[], f32>
    })",
                {}),
            Values{2.5});
}

TEST_F(GraphPrimitivesTest, MapOutOfRangeIsAnError) {
  auto result = tryRun(R"(
    func.func @f(%x: !fuse.tensor<[4], f32>) -> !fuse.tensor<[4], f32> {
      %y = fuse.map(%x : !fuse.tensor<[4], f32>) maps [affine_map<(i) -> (i + 1)>] -> !fuse.tensor<[4], f32> {
      ^bb0(%a: f32):
        fuse.yield %a : f32
      }
      return %y : !fuse.tensor<[4], f32>
    })",
                       {floats({4}, {1, 2, 3, 4})});
  ASSERT_FALSE(result);
  EXPECT_NE(result.status().message().find("outside dimension 0 of [4]"), std::string::npos)
      << result.status().message();
  // floordiv hides the range from the up-front proof: the point check finds it.
  result = tryRun(R"(
    func.func @f(%x: !fuse.tensor<[2], f32>) -> !fuse.tensor<[9], f32> {
      %y = fuse.map(%x : !fuse.tensor<[2], f32>) maps [affine_map<(i) -> (i floordiv 3)>] -> !fuse.tensor<[9], f32> {
      ^bb0(%a: f32):
        fuse.yield %a : f32
      }
      return %y : !fuse.tensor<[9], f32>
    })",
                  {floats({2}, {1, 2})});
  ASSERT_FALSE(result);
  EXPECT_NE(result.status().message().find("is 2 at [6]"), std::string::npos) << result.status().message();
}

constexpr const char *sumRows = R"(
    func.func @f(%x: !fuse.tensor<[sym(N), sym(M)], f32>) -> !fuse.tensor<[sym(N)], f32> {
      %y = fuse.reduce(%x : !fuse.tensor<[sym(N), sym(M)], f32>) over [1] init [0.0 : f32]
          numerics <accumulate = f32, order = sequential, empty = identity> -> !fuse.tensor<[sym(N)], f32> combine {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        fuse.yield %s : f32
      } repair {}
      return %y : !fuse.tensor<[sym(N)], f32>
    })";

TEST_F(GraphPrimitivesTest, ReduceSums) {
  EXPECT_EQ(run(sumRows, {floats({2, 3}, {1, 2, 3, 4, 5, 6})}), (Values{6, 15}));
  environment.symbols.clear();
  EXPECT_EQ(run(sumRows, {floats({2, 0}, {})}), (Values{0, 0}));
  EXPECT_EQ(run(sumRows, {floats({0, 5}, {})}), Values{});
  for (int64_t n : {1, 7, 17, 300}) {
    Tensor x = randomFloats({n, 17}, static_cast<uint32_t>(n));
    Values exact = run(sumRows, {x}, Precision::Exact), real = run(sumRows, {x}, Precision::F64);
    ASSERT_EQ(exact.size(), static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      float chain = 0;
      double sum = 0;
      for (int64_t j = 0; j < 17; ++j) {
        chain += static_cast<float>(x.get({i, j}));
        sum += x.get({i, j});
      }
      EXPECT_EQ(exact[i], static_cast<double>(chain));
      EXPECT_DOUBLE_EQ(real[i], sum);
      EXPECT_NEAR(exact[i], real[i], 17 * 17 * f32Roundoff); // (n - 1) u sum |x|, |x| <= 1
    }
  }
}

TEST_F(GraphPrimitivesTest, ReduceOverOuterDimensionsInOrder) {
  // Order shows: acc * 10 + x.
  const char *text = R"(
    func.func @f(%x: !fuse.tensor<[2, 2, 3], f32>) -> !fuse.tensor<[2], f32> {
      %y = fuse.reduce(%x : !fuse.tensor<[2, 2, 3], f32>) over [0, 2] init [0.0 : f32]
          numerics <accumulate = f32, order = sequential, empty = identity> -> !fuse.tensor<[2], f32> combine {
      ^bb0(%a: f32, %b: f32):
        %ten = arith.constant 10.0 : f32
        %s = arith.mulf %a, %ten : f32
        %t = arith.addf %s, %b : f32
        fuse.yield %t : f32
      } repair {}
      return %y : !fuse.tensor<[2], f32>
    })";
  EXPECT_EQ(run(text, {floats({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2})}), (Values{123789, 456012}));
}

/// A carrier of two: the largest value and its index.
std::string argmaxText(const std::string &empty) {
  return R"(
    func.func @f(%x: !fuse.tensor<[sym(N), sym(M)], f32>, %i: !fuse.tensor<[sym(N), sym(M)], i32>)
        -> (!fuse.tensor<[sym(N)], f32>, !fuse.tensor<[sym(N)], i32>) {
      %m:2 = fuse.reduce(%x, %i : !fuse.tensor<[sym(N), sym(M)], f32>, !fuse.tensor<[sym(N), sym(M)], i32>) over [1]
          init [0xFF800000 : f32, -1 : i32] numerics <accumulate = f32, order = any, empty = )" +
         empty + R"(>
          -> !fuse.tensor<[sym(N)], f32>, !fuse.tensor<[sym(N)], i32> combine {
      ^bb0(%a: f32, %ai: i32, %b: f32, %bi: i32):
        %g = arith.cmpf ogt, %b, %a : f32
        %v = arith.select %g, %b, %a : f32
        %k = arith.select %g, %bi, %ai : i32
        fuse.yield %v, %k : f32, i32
      } repair {}
      return %m#0, %m#1 : !fuse.tensor<[sym(N)], f32>, !fuse.tensor<[sym(N)], i32>
    })";
}

TEST_F(GraphPrimitivesTest, ReduceWithATupleCarrier) {
  Tensor x = floats({2, 3}, {1, 9, 3, -INFINITY, -INFINITY, -INFINITY});
  Tensor i = Tensor::fromValues(Element::I32, {2, 3}, {0, 1, 2, 0, 1, 2});
  auto identity = tryRun(argmaxText("identity"), {x, i});
  ASSERT_TRUE(identity) << identity.status().message();
  EXPECT_EQ((*identity)[0].values(), (Values{9, -INFINITY}));
  EXPECT_EQ((*identity)[1].values(), (Values{1, -1}));
  auto zero = tryRun(argmaxText("zero"), {x, i});
  ASSERT_TRUE(zero);
  EXPECT_EQ((*zero)[0].values(), (Values{9, 0})) << "a row that leaves the carrier at its identity gives zero";
  EXPECT_EQ((*zero)[1].values(), (Values{1, 0}));
}

TEST_F(GraphPrimitivesTest, ReduceAccumulatesInTheStatedType) {
  const char *text = R"(
    func.func @f(%x: !fuse.tensor<[3], f32>) -> !fuse.tensor<[], f32> {
      %y = fuse.reduce(%x : !fuse.tensor<[3], f32>) over [0] init [0.0 : f32]
          numerics <accumulate = f64, order = sequential, empty = identity> -> !fuse.tensor<[], f32> combine {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        fuse.yield %s : f32
      } repair {}
      return %y : !fuse.tensor<[], f32>
    })";
  EXPECT_EQ(run(text, {floats({3}, {1, 0x1p-30, -1})}, Precision::Exact), Values{0x1p-30});
}

TEST_F(GraphPrimitivesTest, GatherReadsRowsInOrder) {
  const char *text = R"(
    func.func @f(%x: !fuse.tensor<[3, 2], f32>, %i: !fuse.tensor<[ragged(T)], i32>) -> !fuse.tensor<[ragged(T), 2], f32> {
      %y = fuse.gather %x[%i] : !fuse.tensor<[3, 2], f32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 2], f32>
      return %y : !fuse.tensor<[ragged(T), 2], f32>
    })";
  Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run(text, {x, integers({2, 0, 2})}), (Values{5, 6, 1, 2, 5, 6}));
  environment.symbols.clear();
  EXPECT_EQ(run(text, {x, integers({})}), Values{});
  auto wrong = tryRun(text, {x, integers({3})});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.status().message().find("expected 0 to 2"), std::string::npos) << wrong.status().message();
}

TEST_F(GraphPrimitivesTest, ScatterHighestIndexWins) {
  const char *text = R"(
    func.func @f(%u: !fuse.tensor<[sym(N), 2], f32>, %x: !fuse.tensor<[3, 2], f32>, %i: !fuse.tensor<[sym(N)], i32>) -> !fuse.tensor<[3, 2], f32> {
      %y = fuse.scatter %u into %x[%i] : !fuse.tensor<[sym(N), 2], f32>, !fuse.tensor<[3, 2], f32>, !fuse.tensor<[sym(N)], i32>
      return %y : !fuse.tensor<[3, 2], f32>
    })";
  Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run(text, {floats({3, 2}, {10, 20, 30, 40, 50, 60}), x, integers({1, 2, 1})}),
            (Values{1, 2, 50, 60, 30, 40}));
  EXPECT_EQ(x.values(), (Values{1, 2, 3, 4, 5, 6})) << "the target is not touched";
}

TEST_F(GraphPrimitivesTest, KVAppendWritesIntoTheCallersCache) {
  const char *text = R"(
    func.func @f(%v: !fuse.tensor<[ragged(T), 2], f32>, %c: !fuse.tensor<[sym(S), paged(C), 2], f32>,
                 %s: !fuse.tensor<[ragged(T)], i32>, %p: !fuse.tensor<[ragged(T)], i32>) -> !fuse.tensor<[sym(S), paged(C), 2], f32> {
      %y = fuse.kv_append %v into %c[%s, %p] : !fuse.tensor<[ragged(T), 2], f32>, !fuse.tensor<[sym(S), paged(C), 2], f32>,
          !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32>
      return %y : !fuse.tensor<[sym(S), paged(C), 2], f32>
    })";
  Tensor capacity = Tensor::filled(Element::F32, {2, 5, 2}, 0);
  Tensor cache = capacity.prefix(1, 3); // a view of a longer cache
  EXPECT_EQ(run(text, {floats({2, 2}, {1, 2, 3, 4}), cache, integers({1, 0}), integers({2, 0})}),
            (Values{3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(capacity.get({1, 2, 1}), 2);
  EXPECT_EQ(capacity.get({0, 0, 0}), 3);
  environment.symbols.clear();
  EXPECT_FALSE(tryRun(text, {floats({1, 2}, {1, 2}), cache, integers({0}), integers({3})})) << "position outside C";
}

/// In both precisions: what a cache stores is part of the op, not of how it is computed.
TEST_F(GraphPrimitivesTest, KVAppendRoundsToTheCachesStorage) {
  auto text = [](const std::string &storage) {
    const std::string cache = "!fuse.tensor<[sym(S), paged(C), 2], f32, " + storage + ">";
    const std::string values = "!fuse.tensor<[ragged(T), 2], f32>", ids = "!fuse.tensor<[ragged(T)], i32>";
    return "func.func @f(%v: " + values + ", %c: " + cache + ", %s: " + ids + ") -> " + cache + " {\n" +
           "%y = fuse.kv_append %v into %c[%s, %s] : " + values + ", " + cache + ", " + ids + ", " + ids +
           "\n return %y : " + cache + "\n}";
  };
  for (Precision precision : {Precision::F64, Precision::Exact}) {
    auto rounded = [&](const std::string &storage, double a, double b) {
      environment.symbols.clear();
      return run(text(storage), {floats({1, 2}, {a, b}), floats({1, 1, 2}, {0, 0}), integers({0})}, precision);
    };
    EXPECT_EQ(rounded("f16", 1 + 0x1p-11, 1 + 3 * 0x1p-11), (Values{1, 1 + 0x1p-9})); // ties to even
    EXPECT_EQ(rounded("f16", 65519, -65520), (Values{65504, -INFINITY}));
    EXPECT_EQ(rounded("f16", 0x1p-25, 0x1.8p-25), (Values{0, 0x1p-24})); // around the smallest subnormal
    EXPECT_EQ(rounded("bf16", 1 + 0x1p-8, 1 + 3 * 0x1p-8), (Values{1, 1 + 0x1p-6}));
    EXPECT_EQ(rounded("bf16", 65520, 0x1.ffp127), (Values{65536, INFINITY}));
  }
  // The values that were passed in stay as they are.
  environment.symbols.clear();
  Tensor given = floats({1, 2}, {1 + 0x1p-11, 2});
  run(text("f16"), {given, floats({1, 1, 2}, {0, 0}), integers({0})});
  EXPECT_EQ(given.get({0, 0}), 1 + 0x1p-11);
}

TEST_F(GraphPrimitivesTest, ViewsSliceTransposeAndRepeat) {
  auto text = [](const std::string &map, const std::string &result) {
    return "func.func @f(%x: !fuse.tensor<[2, 6], f32>) -> !fuse.tensor<" + result + ", f32> {\n" +
           "%y = fuse.view %x map affine_map<" + map + "> : !fuse.tensor<[2, 6], f32> -> !fuse.tensor<" + result +
           ", f32>\n return %y : !fuse.tensor<" + result + ", f32>\n}";
  };
  Tensor x = floats({2, 6}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  EXPECT_EQ(run(text("(t, h, d) -> (t, h * 2 + d + 2)", "[2, 2, 2]"), {x}), (Values{2, 3, 4, 5, 12, 13, 14, 15}));
  EXPECT_EQ(run(text("(i, j) -> (j, i)", "[6, 2]"), {x}), (Values{0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15}));
  EXPECT_EQ(run(text("(h, d) -> (1, h floordiv 2 + d)", "[4, 2]"), {x}), (Values{10, 11, 10, 11, 11, 12, 11, 12}));
  EXPECT_EQ(run(text("(i) -> (0, 5 - i)", "[3]"), {x}), (Values{5, 4, 3}));
}

TEST_F(GraphPrimitivesTest, ReshapeOfAViewAndOfARow) {
  const char *text = R"(
    func.func @f(%x: !fuse.tensor<[2, 6], f32>) -> !fuse.tensor<[12], f32> {
      %t = fuse.view %x map affine_map<(i, j) -> (j, i)> : !fuse.tensor<[2, 6], f32> -> !fuse.tensor<[6, 2], f32>
      %y = fuse.reshape %t : !fuse.tensor<[6, 2], f32> -> !fuse.tensor<[12], f32>
      return %y : !fuse.tensor<[12], f32>
    })";
  Tensor x = floats({2, 6}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  EXPECT_EQ(run(text, {x}), (Values{0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15}));
}

TEST_F(GraphPrimitivesTest, WeightsStackInOrderAndConstantsExpand) {
  environment.weight = [](llvm::StringRef name) -> Result<Tensor> {
    if (name == "a")
      return Tensor::fromFloats({1, 2}, {1, 2});
    if (name == "b")
      return Tensor::fromFloats({2, 2}, {3, 4, 5, 6});
    return notFound("no tensor '" + name.str() + "'");
  };
  EXPECT_EQ(run(R"(
    func.func @f() -> !fuse.tensor<[3, 2], f32, f32> {
      %w = fuse.weight ["b", "a"] : !fuse.tensor<[3, 2], f32, f32>
      return %w : !fuse.tensor<[3, 2], f32, f32>
    })",
                {}),
            (Values{3, 4, 5, 6, 1, 2}));
  EXPECT_EQ(run(R"(
    func.func @f() -> !fuse.tensor<[2], f64> {
      %w = fuse.constant "c" dense<0.1> : tensor<2xf64> -> !fuse.tensor<[2], f64>
      return %w : !fuse.tensor<[2], f64>
    })",
                {}),
            (Values{0.1, 0.1}));
  auto missing = tryRun(R"(
    func.func @f() -> !fuse.tensor<[3, 2], f32, f32> {
      %w = fuse.weight ["x"] : !fuse.tensor<[3, 2], f32, f32>
      return %w : !fuse.tensor<[3, 2], f32, f32>
    })",
                        {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.status().code(), ErrorCode::NotFound);
  EXPECT_NE(missing.status().message().find("'x'"), std::string::npos);
}

TEST_F(GraphPrimitivesTest, InputsMustFit) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_FALSE(tryRun(sumRows, {}));
  EXPECT_FALSE(tryRun(sumRows, {floats({2}, {1, 2})}));
  EXPECT_FALSE(tryRun(sumRows, {x.withElement(Element::F16)}));
  environment.symbols["M"] = 4;
  auto wrong = tryRun(sumRows, {x});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.status().message().find("expected 4 for sym(M)"), std::string::npos) << wrong.status().message();
}

} // namespace
} // namespace fusec::reference
