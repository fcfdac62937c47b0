//===- ReferenceModelTest.cpp - steps, caches and sequences ----------------------===//
#include "test/unit/ir/IRFixture.h"

#include "ir/reference/ReferenceModel.h"

namespace fusec::reference {
namespace {

/// One attention layer with rotary positions over an embedding of 5 tokens, logits by the same table.
constexpr const char *tinyModel = R"(
    func.func @step(%tokens: !fuse.tensor<[ragged(T)], i32> {fuse.name = "tokens"},
                    %positions: !fuse.tensor<[ragged(T)], i32> {fuse.name = "positions"},
                    %sequences: !fuse.tensor<[ragged(T)], i32> {fuse.name = "sequences"},
                    %rows: !fuse.tensor<[sym(R)], i32> {fuse.name = "output_rows"},
                    %k0: !fuse.tensor<[sym(S), paged(C), 1, 4], f32> {fuse.name = "k.0"},
                    %v0: !fuse.tensor<[sym(S), paged(C), 1, 4], f32> {fuse.name = "v.0"}) -> !fuse.tensor<[sym(R), 5], f32> {
      %w = fuse.weight ["embd"] : !fuse.tensor<[5, 4], f32, f32>
      %f = fuse.constant "f" dense<[1.0, 0.1]> : tensor<2xf64> -> !fuse.tensor<[2], f64>
      %x = fuse.gather %w[%tokens] : !fuse.tensor<[5, 4], f32, f32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 4], f32>
      %h = fuse.reshape %x : !fuse.tensor<[ragged(T), 4], f32> -> !fuse.tensor<[ragged(T), 1, 4], f32>
      %q = fuse.rope %h, %positions, %f half : !fuse.tensor<[ragged(T), 1, 4], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[2], f64> -> !fuse.tensor<[ragged(T), 1, 4], f32>
      %k = fuse.kv_append %q into %k0[%sequences, %positions] : !fuse.tensor<[ragged(T), 1, 4], f32>, !fuse.tensor<[sym(S), paged(C), 1, 4], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32>
      %v = fuse.kv_append %h into %v0[%sequences, %positions] : !fuse.tensor<[ragged(T), 1, 4], f32>, !fuse.tensor<[sym(S), paged(C), 1, 4], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32>
      %o = fuse.attention %q, %k, %v, %positions, %sequences scale 0.5 : !fuse.tensor<[ragged(T), 1, 4], f32>, !fuse.tensor<[sym(S), paged(C), 1, 4], f32>, !fuse.tensor<[sym(S), paged(C), 1, 4], f32>, !fuse.tensor<[ragged(T)], i32>, !fuse.tensor<[ragged(T)], i32> -> !fuse.tensor<[ragged(T), 4], f32>
      %r = fuse.gather %o[%rows] : !fuse.tensor<[ragged(T), 4], f32>, !fuse.tensor<[sym(R)], i32> -> !fuse.tensor<[sym(R), 4], f32>
      %l = fuse.linear %r, %w : !fuse.tensor<[sym(R), 4], f32>, !fuse.tensor<[5, 4], f32, f32> -> !fuse.tensor<[sym(R), 5], f32>
      return %l : !fuse.tensor<[sym(R), 5], f32>
    })";

class ReferenceModelTest : public IRFixture {
protected:
  ReferenceModel make(Precision precision, int64_t sequences = 1, int64_t page = 0) {
    if (!module)
      parse(tinyModel);
    environment.page = page;
    environment.weight = [](llvm::StringRef) -> Result<Tensor> {
      Tensor::Floats values;
      for (double v : randomFloats({5, 4}, 11).values())
        values.push_back(static_cast<float>(v));
      return Tensor::fromFloats({5, 4}, values);
    };
    return *ReferenceModel::create(*module->getOps<mlir::func::FuncOp>().begin(), environment, precision, sequences);
  }
  static std::vector<double> valuesOf(Result<Tensor> result) {
    EXPECT_TRUE(result) << result.status().message();
    return result ? result->values() : std::vector<double>();
  }
};
using Values = std::vector<double>;

TEST_F(ReferenceModelTest, AnySplitIntoStepsGivesTheSameBits) {
  const std::vector<int32_t> tokens = {1, 4, 0, 2, 2, 3, 1};
  for (Precision p : {Precision::Exact, Precision::F64}) {
    Values whole = valuesOf(make(p).logits(tokens));
    ASSERT_EQ(whole.size(), 35u);
    ReferenceModel single = make(p, 1, 4), chunks = make(p);
    Values one, chunked = valuesOf(chunks.logits({1, 4, 0}));
    for (int32_t t : tokens)
      llvm::append_range(one, valuesOf(single.logits({t})));
    llvm::append_range(chunked, valuesOf(chunks.logits({2, 2, 3, 1})));
    EXPECT_EQ(one, whole);
    EXPECT_EQ(chunked, whole);
  }
}

TEST_F(ReferenceModelTest, SequencesDoNotSeeEachOther) {
  ReferenceModel alone = make(Precision::Exact), both = make(Precision::Exact, 2);
  Values expected = valuesOf(alone.logits({1, 4, 0}));
  Values packed = valuesOf(both.step({Chunk{1, {3, 3}}, Chunk{0, {1, 4, 0}}}));
  ASSERT_EQ(packed.size(), 25u);
  EXPECT_EQ(Values(packed.begin() + 10, packed.end()), expected);
  Values last = valuesOf(both.step({Chunk{0, {2, 2}}, Chunk{1, {0}}}, LogitRows::LastOfChunk));
  ASSERT_EQ(last.size(), 10u);
  Values next = valuesOf(alone.logits({2, 2}));
  EXPECT_EQ(Values(last.begin(), last.begin() + 5), Values(next.begin() + 5, next.end()));
}

TEST_F(ReferenceModelTest, TruncateForgets) {
  ReferenceModel model = make(Precision::Exact), fresh = make(Precision::Exact);
  (void)model.logits({1, 4, 0, 3});
  model.truncate(0, 2);
  EXPECT_EQ(model.length(0), 2);
  Values again = valuesOf(model.logits({2}));
  Values expected = valuesOf(fresh.logits({1, 4, 2}));
  EXPECT_EQ(again, Values(expected.begin() + 10, expected.end()));
}

TEST_F(ReferenceModelTest, BadRequestsAreErrors) {
  ReferenceModel model = make(Precision::F64);
  EXPECT_FALSE(model.logits({5})) << "a token outside the table";
  EXPECT_FALSE(model.step({Chunk{1, {0}}})) << "a sequence that does not exist";
  EXPECT_EQ(valuesOf(make(Precision::F64).logits({})), Values{});
}

} // namespace
} // namespace fusec::reference
