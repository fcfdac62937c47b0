//===- RulesTest.cpp - what rules write computes what it should -------------------===//
//
// Graphs are interpreted before and after the rules of a file in examples/.
//
//===----------------------------------------------------------------------===//
#include "ir/InitAllDialects.h"
#include "ir/reference/Interpreter.h"
#include "passes/extend/ApplyRules.h"
#include "passes/extend/ScalarBody.h"
#include "test/unit/passes/Comparison.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <fstream>
#include <sstream>

namespace fusec::differential {
namespace {

using namespace mlir;
using namespace reference;

constexpr int64_t rows = 3, columns = 4;

DialectRegistry allDialects() {
  DialectRegistry all;
  registerAllDialects(all);
  return all;
}

class Rules : public ::testing::Test {
protected:
  Rules() : context(allDialects()) { context.loadAllAvailableDialects(); }

  /// A function of x and u, both [3, 4], whose body is `text`.
  OwningOpRef<ModuleOp> parse(const std::string &text) {
    const std::string type = "!fuse.tensor<[3, 4], f32>";
    return parseSourceString<ModuleOp>("#row = affine_map<(t, c) -> (t, c)>\n!x = " + type +
                                           "\nfunc.func @f(%x: !x, %u: !x) -> !x {\n" + text + "}\n",
                                       &context);
  }

  /// Applies a file of examples/; counts the first rule's matches.
  void apply(ModuleOp module, const std::string &rules) {
    Result<std::unique_ptr<RuleFile>> file = RuleFile::load(context, FUSEC_SOURCE_DIR "/examples/" + rules);
    ASSERT_TRUE(file) << file.status().message();
    ASSERT_TRUE(succeeded(applyRewritingRules(module, {file->get()})));
    ASSERT_TRUE(succeeded(verify(module)));
    matches = (*file)->rules().front().matches;
  }

  static Tensor run(ModuleOp module, Precision precision) {
    std::vector<Tensor> inputs = {randomTensor({rows, columns}, 1), randomTensor({rows, columns}, 2)};
    auto results = interpretGraph(*module.getOps<func::FuncOp>().begin(), inputs, Environment(), precision);
    EXPECT_TRUE(results) << results.status().message();
    return results ? results->front() : Tensor();
  }

  static int64_t maps(ModuleOp module) {
    int64_t count = 0;
    module.walk([&](fuse::MapOp) { ++count; });
    return count;
  }

  MLIRContext context;
  int64_t matches = 0;
};

TEST_F(Rules, MergedMapsRoundAsTheTwoDid) {
  OwningOpRef<ModuleOp> module = parse(R"(
  %a = fuse.map(%x : !x) maps [#row] -> !x {
  ^bb0(%v: f32):
    %k = arith.constant 1.702 : f32
    %r = arith.mulf %v, %k : f32
    fuse.yield %r : f32
  }
  %b = fuse.map(%a : !x) maps [#row] -> !x {
  ^bb0(%v: f32):
    %j = fuse.index 1
    %f = arith.sitofp %j : i32 to f32
    %e = math.exp %v : f32
    %r = arith.addf %e, %f : f32
    fuse.yield %r : f32
  }
  return %b : !x
)");
  ASSERT_TRUE(module);
  Tensor before = run(*module, Precision::Exact);
  apply(*module, "rules/merge_maps.pdl");
  EXPECT_EQ(matches, 1);
  EXPECT_EQ(maps(*module), 1);
  EXPECT_TRUE(sameBits(run(*module, Precision::Exact), before));
}

TEST_F(Rules, CoordinatesComeFromWhereTheInnerMapIsRead) {
  // The outer map reads one row of the inner one for all of its own; merge_maps asks for an elementwise
  // read, so the rewrite is called from here.
  OwningOpRef<ModuleOp> module = parse(R"(
  %a = fuse.map(%x : !x) maps [#row] -> !x {
  ^bb0(%v: f32):
    %i = fuse.index 0
    %f = arith.sitofp %i : i32 to f32
    %r = arith.addf %v, %f : f32
    fuse.yield %r : f32
  }
  %b = fuse.map(%a, %u : !x, !x) maps [affine_map<(t, c) -> (2, c)>, #row] -> !x {
  ^bb0(%v: f32, %w: f32):
    %r = arith.mulf %v, %w : f32
    fuse.yield %r : f32
  }
  return %b : !x
)");
  ASSERT_TRUE(module);
  Tensor before = run(*module, Precision::Exact);
  auto found = (*module->getOps<func::FuncOp>().begin()).getOps<fuse::MapOp>();
  SmallVector<fuse::MapOp> ops(found.begin(), found.end());
  IRRewriter rewriter(ops[1]);
  std::string error;
  fuse::MapOp merged = inlineInto(rewriter, ops[1], ops[0], error);
  ASSERT_TRUE(merged) << error;
  rewriter.replaceOp(ops[1], merged);
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_TRUE(sameBits(run(*module, Precision::Exact), before));
}

TEST_F(Rules, TheGateByTanhIsTheSameFunction) {
  OwningOpRef<ModuleOp> module = parse(R"(
  %y = fuse.map(%x, %u : !x, !x) maps [#row, #row] -> !x {
  ^bb0(%g: f32, %w: f32):
    %one = arith.constant 1.0 : f32
    %n = arith.negf %g : f32
    %e = math.exp %n : f32
    %d = arith.addf %e, %one : f32
    %s = arith.divf %g, %d : f32
    %r = arith.mulf %s, %w : f32
    fuse.yield %r : f32
  }
  return %y : !x
)");
  ASSERT_TRUE(module);
  Tensor before = run(*module, Precision::F64);
  apply(*module, "rules/silu_by_tanh.pdl");
  EXPECT_EQ(matches, 1);
  EXPECT_EQ(maps(*module), 1);
  // In double both round a handful of times, on numbers below 1.
  EXPECT_TRUE(within(run(*module, Precision::F64), before, [](int64_t) { return 16 * 0x1p-53; }));
}

TEST(RuleVocabulary, IsDocumented) {
  std::ifstream file(FUSEC_SOURCE_DIR "/docs/extending/rules.md");
  std::ostringstream page;
  page << file.rdbuf();
  for (const NativeFunction &function : ruleVocabulary())
    EXPECT_NE(page.str().find("| `" + signatureOf(function) + "` |"), std::string::npos) << signatureOf(function);
}

} // namespace
} // namespace fusec::differential
