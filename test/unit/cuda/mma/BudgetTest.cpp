//===- BudgetTest.cpp - registers and bank conflicts of the device library --------===//
#include "test/unit/cuda/mma/PagedAttentionCase.h"
#include "test/unit/cuda/mma/WeightProductCase.h"

#include <gmock/gmock.h>

using namespace fusec;
using namespace fusec::test;

namespace {

TEST(Budget, SharedMemoryWithoutBankConflicts) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const WeightType type = {"PanelWeight<Q4_1", StorageType::Q4_1, OperandType::Bfloat, 544, 128, true};
  WeightProductCase product(*nvrtc, "sm_80", type);
  PagedAttentionCase attention(*nvrtc, "sm_80", {OperandType::Bfloat, "Bfloat", 64, 64, 3, 4});
  if (HasFailure())
    return;
  product.run(spreadForm, 9);
  product.run(tiledForm, 65);
  product.run(streamedForm(type.type), 9);
  attention.run();
  EXPECT_EQ(product.device().bankConflictFactor("spread"), 1);
  EXPECT_EQ(product.device().bankConflictFactor("tiled"), 1);
  EXPECT_EQ(attention.device().bankConflictFactor("attention"), 1);
  // Words q and q + 2 of a panel share banks: two of six loads take twice as long. The bytes behind them take longer.
  EXPECT_LT(product.device().bankConflictFactor("streamed"), 1.25);
}

/// No spills, no local memory, no wgmma that ptxas makes wait for the one before.
TEST(Budget, EverythingStaysInRegisters) {
  if (!runsAll())
    GTEST_SKIP() << "runs under FUSEC_FULL";
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const std::vector<std::string> product = {"-DWEIGHT=PanelWeight<Q6_K,Bfloat,4096>",
                                            "-DOPERAND=Bfloat",
                                            "-DCOLUMNS=4096",
                                            "-DSLICE=512",
                                            "-DSPREAD_TOKENS=8",
                                            "-DSPREAD_ROWS=16",
                                            "-DSTREAMED"};
  const std::vector<std::string> attention = {"-DOPERAND=Bfloat", "-DCACHE=Bfloat", "-DHEAD=128",
                                              "-DPAGE=64",        "-DGROUP=4",      "-DWARPS=4"};
  std::vector<std::string> attention90 = attention;
  attention90.push_back("-DWGMMA");
  struct Row {
    const char *target, *text;
    const std::vector<std::string> &definitions;
  };
  const Row rows[] = {{"sm_80", "attention.cu", attention},
                      {"sm_90a", "attention.cu", attention90},
                      {"sm_80", "weight_product.cu", product},
                      {"sm_90a", "weight_product.cu", product}};
  for (const Row &row : rows) {
    SCOPED_TRACE(std::string(row.text) + " for " + row.target);
    const std::string text = readFixture(std::string("mma/kernels/") + row.text);
    auto code = nvrtc->compile({.name = row.text,
                                .text = text,
                                .target = *codegen::cudaTargetByName(row.target),
                                .headers = codegen::deviceLibrary(),
                                .options = row.definitions});
    ASSERT_TRUE(code) << code.status().message();
    EXPECT_THAT(code->log, testing::HasSubstr("0 bytes spill stores"));
    EXPECT_THAT(code->log, testing::Not(testing::ContainsRegex("[1-9][0-9]* bytes (stack frame|spill)"))) << code->log;
    EXPECT_THAT(code->log, testing::Not(testing::HasSubstr("wgmma.mma_async instructions are serialized")));
  }
}

} // namespace
