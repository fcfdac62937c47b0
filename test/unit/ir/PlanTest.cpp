//===- PlanTest.cpp - programs, slots and variants --------------------------------===//
#include "test/unit/ir/IRFixture.h"

#include "ir/reference/PlanInterpreter.h"

namespace fusec::reference {
namespace {

using Values = std::vector<double>;

/// y = x + x, then z = y + x; `slot` is that of z.
std::string program(int slot) {
  const std::string kernel = R"(grid [#tile.axis<[ragged(T)] by 1>] {
    ^bb0(%a: !tile.buffer<[ragged(T)], f32>, %b: !tile.buffer<[ragged(T)], f32>, %c: !tile.buffer<[ragged(T)], f32>):
      %t = tile.origin 0
      %v = tile.load %a[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], f32> -> f32
      %w = tile.load %b[%t] map affine_map<(t) -> (t)> : !tile.buffer<[ragged(T)], f32> -> f32
      %s = arith.addf %v, %w : f32
      tile.store %s, %c[%t] map affine_map<(t) -> (t)> : f32, !tile.buffer<[ragged(T)], f32>
      tile.return
    }
  )";
  return "tile.kernel @one " + kernel + "tile.kernel @many " + kernel + R"(
    plan.kernel @add [#plan.variant<@one when T upto 1>, #plan.variant<@many>]
    plan.program @step page 4 {
      %x = plan.buffer input "x" : !tile.buffer<[ragged(T)], f32>
      %w = plan.buffer weight "w" parts ["w0", "w1"] : !tile.buffer<[2], f32, f32>
      %k = plan.buffer constant "k" value dense<[1.0, 2.0]> : tensor<2xf64> : !tile.buffer<[2], f64>
      %y = plan.buffer activation "y" slot 0 : !tile.buffer<[ragged(T)], f32>
      %z = plan.buffer output "z" slot )" +
         std::to_string(slot) + R"( : !tile.buffer<[ragged(T)], f32>
      plan.launch @add(%x, %x, %y) "first" : !tile.buffer<[ragged(T)], f32>, !tile.buffer<[ragged(T)], f32>, !tile.buffer<[ragged(T)], f32>
      plan.launch @add(%y, %x, %z) "second" : !tile.buffer<[ragged(T)], f32>, !tile.buffer<[ragged(T)], f32>, !tile.buffer<[ragged(T)], f32>
    })";
}

class PlanTest : public IRFixture {
protected:
  Result<PlanRun> tryPlan(const std::string &text, const PlanInputs &inputs) {
    mlir::ModuleOp parsed = parse(text);
    if (!parsed)
      return invalidArgument("does not parse");
    environment.weight = [](llvm::StringRef) -> Result<Tensor> { return Tensor::fromFloats({1}, {1}); };
    return interpretPlan(parsed, *parsed.getOps<plan::ProgramOp>().begin(), inputs, environment, Precision::Exact);
  }
};

TEST_F(PlanTest, RunsLaunchesAndPicksVariants) {
  PlanInputs inputs;
  inputs.buffers["x"] = floats({3}, {1, 2, 3});
  Result<PlanRun> run = tryPlan(program(1), inputs);
  ASSERT_TRUE(run) << run.status().message();
  EXPECT_EQ(run->outputs["z"].values(), (Values{3, 6, 9}));
  ASSERT_EQ(run->launches.size(), 2u);
  EXPECT_EQ(run->launches[0].name, "first");
  EXPECT_EQ(run->launches[0].variant, "many");
  EXPECT_EQ(run->launches[1].run.programs, 3);
  inputs.buffers["x"] = floats({1}, {5});
  run = tryPlan(program(1), inputs);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->launches[0].variant, "one");
  EXPECT_EQ(run->outputs["z"].values(), Values{15});
}

TEST_F(PlanTest, ALaunchWithoutAnApplicableVariantDoesNothing) {
  std::string text = program(1);
  // Only the first launch is limited: its copy of the kernel.
  text.replace(text.find("@add(%x"), 4, "@few");
  text = "plan.kernel @few [#plan.variant<@one when T upto 1>]\n" + text;
  PlanInputs inputs;
  inputs.buffers["x"] = floats({1}, {5});
  Result<PlanRun> run = tryPlan(text, inputs);
  ASSERT_TRUE(run) << run.status().message();
  EXPECT_EQ(run->launches.size(), 2u);
  EXPECT_EQ(run->outputs["z"].values(), Values{15});
  inputs.buffers["x"] = floats({2}, {1, 2});
  run = tryPlan(text, inputs);
  ASSERT_TRUE(run) << run.status().message();
  ASSERT_EQ(run->launches.size(), 1u);
  EXPECT_EQ(run->launches[0].name, "second");
  for (double v : run->outputs["z"].values()) // y was never written
    EXPECT_TRUE(std::isnan(v));
}

TEST_F(PlanTest, ASharedSlotPoisonsWhatStillLives) {
  PlanInputs inputs;
  inputs.buffers["x"] = floats({2}, {1, 2});
  Result<PlanRun> run = tryPlan(program(0), inputs);
  ASSERT_TRUE(run) << run.status().message();
  for (double v : run->outputs["z"].values())
    EXPECT_TRUE(std::isnan(v));
}

TEST_F(PlanTest, MissingInputsAreNamed) {
  Result<PlanRun> run = tryPlan(program(1), {});
  ASSERT_FALSE(run);
  EXPECT_NE(run.status().message().find("buffer 'x'"), std::string::npos) << run.status().message();
}

} // namespace
} // namespace fusec::reference
