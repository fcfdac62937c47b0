//===- FusionControlTest.cpp - plans, limits and switches on a small graph ----------===//
#include "passes/fusion/FusionControl.h"
#include "ir/InitAllDialects.h"
#include "passes/report/OpName.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fusec {
namespace {

using ::testing::HasSubstr;

/// a -> b -> c, all maps; a and b are called alike.
constexpr const char *graphText = R"(
#id = affine_map<(t) -> (t)>
func.func @main(%x: !fuse.tensor<[ragged(T)], f32>) -> !fuse.tensor<[ragged(T)], f32> {
  %a = fuse.map(%x : !fuse.tensor<[ragged(T)], f32>) maps [#id] -> !fuse.tensor<[ragged(T)], f32> {
  ^bb0(%v: f32):
    fuse.yield %v : f32
  } loc("blk.0.w")
  %b = fuse.map(%a : !fuse.tensor<[ragged(T)], f32>) maps [#id] -> !fuse.tensor<[ragged(T)], f32> {
  ^bb0(%v: f32):
    fuse.yield %v : f32
  } loc("blk.0.w")
  %c = fuse.map(%b : !fuse.tensor<[ragged(T)], f32>) maps [#id] -> !fuse.tensor<[ragged(T)], f32> {
  ^bb0(%v: f32):
    fuse.yield %v : f32
  } loc("blk.0.y")
  return %c : !fuse.tensor<[ragged(T)], f32>
})";

class FusionControlTest : public ::testing::Test {
protected:
  FusionControlTest() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(graphText, &context);
    mlir::Block &block = (*module->getOps<mlir::func::FuncOp>().begin()).getBody().front();
    for (mlir::Operation &op : block)
      ops.push_back(&op);
  }

  FusionControl withPlan(const std::string &plan) {
    FusionOptions options;
    options.plan = plan;
    options.planName = "p.txt";
    FusionControl control(options);
    control.enter(*ops.front()->getBlock());
    return control;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<mlir::Operation *> ops; ///< a, b, c, return
};

TEST_F(FusionControlTest, OpsOfOneNameAreNumberedInGraphOrder) {
  EXPECT_EQ(uniqueOpName(ops[0]), "blk.0.w:map");
  EXPECT_EQ(uniqueOpName(ops[1]), "blk.0.w:map#2");
  EXPECT_EQ(uniqueOpName(ops[2]), "blk.0.y:map");
  EXPECT_EQ(withoutLayer("blk.17.w:map#2"), "blk.*.w:map#2");
  EXPECT_EQ(withoutLayer("x.1a.b:map"), "x.1a.b:map");
  EXPECT_EQ(layerOf("blk.17.w:map"), 17);
  EXPECT_EQ(layerOf("17.w"), -1);
  EXPECT_EQ(layerOf("blk.99999999999999999999.w"), -1);
}

TEST_F(FusionControlTest, WithoutAPlanTheCostModelDecides) {
  FusionControl control{FusionOptions()};
  EXPECT_TRUE(control.take({"inline", ops[0], ops[1]}, true));
  EXPECT_FALSE(control.take({"inline", ops[1], ops[2]}, false));
  EXPECT_EQ(control.taken(), 1);
  EXPECT_TRUE(control.finish().ok());
}

TEST_F(FusionControlTest, ALineTakesTheUnprofitableAndRefusesTheProfitable) {
  FusionControl control = withPlan("keep inline blk.0.w:map -> *\nfuse inline blk.*.w:map#2 -> blk.*.y:map\n");
  EXPECT_FALSE(control.take({"inline", ops[0], ops[1]}, true));
  EXPECT_TRUE(control.take({"inline", ops[1], ops[2]}, false));
  EXPECT_EQ(control.asked()[0].by, DecidedBy::Plan);
  EXPECT_TRUE(control.finish().ok()) << control.finish().message();
  EXPECT_TRUE(control.idleLines().empty());
}

TEST_F(FusionControlTest, SwitchesAndLimitsStandAboveThePlan) {
  FusionOptions off;
  off.enabled = false;
  off.plan = "fuse * * -> *";
  FusionControl none(off);
  EXPECT_FALSE(none.take({"inline", ops[0], ops[1]}, true));
  FusionOptions one;
  one.limit = 1;
  one.plan = off.plan;
  FusionControl first(one);
  EXPECT_TRUE(first.take({"inline", ops[0], ops[1]}, false));
  EXPECT_FALSE(first.take({"inline", ops[1], ops[2]}, true));
  EXPECT_EQ(first.asked()[1].by, DecidedBy::Limit);
}

TEST_F(FusionControlTest, AnIllegalFuseIsReportedWithTheReason) {
  FusionControl control = withPlan("# head\nfuse row blk.0.w:map -> blk.0.w:map#2\n");
  control.record({ops[0], ops[1], "row", false, "the rows differ"});
  EXPECT_EQ(control.finish().message(),
            "p.txt, line 2, 'fuse row blk.0.w:map -> blk.0.w:map#2': not legal: the rows differ");
}

TEST_F(FusionControlTest, KeepingApartWhatIsIllegalAnywayIsFine) {
  FusionControl control = withPlan("keep row blk.0.w:map -> blk.0.w:map#2\n");
  control.record({ops[0], ops[1], "row", false, "the rows differ"});
  EXPECT_TRUE(control.finish().ok());
}

TEST_F(FusionControlTest, ANameThatIsNotThereIsReportedWithTheNearest) {
  FusionControl control = withPlan("keep inline blk.0.v:map -> blk.0.y:map\n");
  control.take({"inline", ops[1], ops[2]}, true);
  EXPECT_THAT(control.finish().message(),
              HasSubstr("no op of this graph is called 'blk.0.v:map'; the nearest candidate "
                        "is 'inline blk.0.w:map#2 -> blk.0.y:map'"));
}

/// Nobody asked: fine when other choices can be the cause, an error when nothing connects the two.
TEST_F(FusionControlTest, AFuseThatWasNeverAskedFor) {
  EXPECT_TRUE(withPlan("fuse row blk.0.w:map -> blk.0.y:map\n").finish().ok());
  EXPECT_EQ(withPlan("fuse row blk.0.w:map -> blk.0.y:map\n").idleLines().size(), 1u);
  EXPECT_THAT(withPlan("fuse row blk.0.y:map -> blk.0.w:map\n").finish().message(),
              HasSubstr("not legal: the second op does not use what the first one computes"));
}

TEST_F(FusionControlTest, APlanThatCannotBeReadIsReportedAtTheEnd) {
  FusionControl control = withPlan("fuse\n");
  EXPECT_TRUE(control.take({"inline", ops[0], ops[1]}, true));
  EXPECT_THAT(control.finish().message(), HasSubstr("p.txt: line 1: expected a kind"));
}

} // namespace
} // namespace fusec
