//===- KernelBudgetTest.cpp - what kernels may use -------------------------===//
#include "codegen/cuda/KernelBudget.h"
#include "test/unit/cuda/CudaTestSupport.h"

#include <gmock/gmock.h>
#include <set>

using namespace fusec;
using namespace fusec::codegen;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

const CudaTarget &sm80 = **cudaTargetByName("sm_80");
constexpr KernelBudget budget{.family = "gemv", .registers = 128};

TEST(KernelBudget, EveryFamilyForbidsSpillsAndAllButAnglesAndAttentionStack) {
  std::set<std::string_view> names;
  for (const KernelBudget &row : kernelBudgets()) {
    EXPECT_TRUE(names.insert(row.family).second) << row.family;
    EXPECT_EQ(*kernelBudgetOf(row.family), &row);
    EXPECT_EQ(row.spillBytes, 0);
    EXPECT_EQ(row.stackBytes, row.family == "angles" || row.family == "attention" ? 40 : 0);
    EXPECT_GT(row.registers, 0);
    EXPECT_LE(row.registers, CudaTarget::registersPerThread);
  }
  EXPECT_THAT(kernelBudgetOf("polka").status().message(), HasSubstr("'polka'"));
}

TEST(KernelBudget, NamesEachExcessWithFoundAndAllowed) {
  EXPECT_THAT(excessOf({.registers = 128}, budget, {128, 0}, sm80), IsEmpty());
  EXPECT_THAT(excessOf({.registers = 129}, budget, {128, 0}, sm80), ElementsAre("registers 129 (allowed 128)"));
  EXPECT_THAT(excessOf({.registers = 64, .spillStores = 8, .spillLoads = 16, .stackBytes = 32}, budget, {128, 0}, sm80),
              ElementsAre("spill bytes 24 (allowed 0)", "stack bytes 32 (allowed 0)"));
  EXPECT_THAT(excessOf({.registers = 64, .sharedBytes = 1}, budget, {128, sm80.sharedPerBlock}, sm80),
              ElementsAre("shared bytes 166913 (allowed 166912)"));
  EXPECT_THAT(excessOf({.registers = 64}, budget, {1056, 0}, sm80), ElementsAre("threads 1056 (allowed 1024)"));
}

TEST(KernelBudget, RefusesABlockWhoseRegistersDoNotFit) {
  EXPECT_THAT(excessOf({.registers = 96}, budget, {1024, 0}, sm80),
              ElementsAre("96 registers times 1024 threads (allowed 65536 in all)"));
}

TEST(KernelBudget, SerialWgmmaIsAnError) {
  auto found = parseCompileLog(test::readFixture("logs/serial-wgmma.log"), "w");
  ASSERT_TRUE(found);
  EXPECT_THAT(excessOf(*found, budget, {128, 0}, sm80), ElementsAre(HasSubstr("serialized")));
}

} // namespace
