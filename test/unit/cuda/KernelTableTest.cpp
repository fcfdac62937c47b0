//===- KernelTableTest.cpp - the static table of kernels -------------------===//
#include "codegen/cuda/KernelTable.h"

#include "codegen/cuda/KernelCompiler.h"
#include "test/unit/tools/TemporaryDirectory.h"

#include <gmock/gmock.h>

using namespace fusec;
using namespace fusec::codegen;
using testing::HasSubstr;

namespace {

KernelTable exampleTable() {
  const CudaTarget &sm80 = **cudaTargetByName("sm_80");
  CudaKernel kernel;
  kernel.source = {.text = "", .entry = "k0_v1", .threads = 128, .sharedBytes = 4096, .family = "gemv"};
  kernel.rung = 1;
  kernel.code.cubin = "12345";
  kernel.resources = {.registers = 96, .sharedBytes = 64, .barriers = 1};
  kernel.occupancy = occupancyOf(sm80, {128, 96, 4160, 1});
  KernelTable table{"sm_80", "NVRTC 13.0", {kernelTableRow(kernel), kernelTableRow(kernel)}};
  table.rows[1].entry = "k1";
  table.rows[1].tokens = 8;
  table.rows[1].conflictFactor = 1.25;
  table.rows[1].predictedBytes = 1000;
  table.rows[1].countedBytes = 1024;
  table.rows[1].requestedBytes = 2048;
  return table;
}

TEST(KernelTable, ReadsWhatItWrote) {
  test::TemporaryDirectory directory;
  const KernelTable table = exampleTable();
  EXPECT_EQ(table.rows[0].blocks, 5); // 128 threads of 96 registers: 5 warps per partition.
  EXPECT_EQ(table.rows[0].limit, "registers");
  auto read = readKernelTable(directory.write("resources.json", kernelTableJson(table)));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(*read, table);
}

TEST(KernelTable, UnknownFiguresAreNullInJsonAndADashForPeople) {
  const KernelTable table = exampleTable();
  EXPECT_THAT(kernelTableJson(table), HasSubstr("\"conflict_factor\": null"));
  const std::string text = kernelTableText(table);
  EXPECT_THAT(text, testing::StartsWith("sm_80, compiled by NVRTC 13.0\n"));
  EXPECT_THAT(text, testing::ContainsRegex("tokens +predicted B +counted B +ratio +requested B +conflicts\n"));
  EXPECT_THAT(text, testing::ContainsRegex("k0_v1 +gemv +96 +0 +0 +4160 +128 +5 +31 % +registers +- +- +- +- +- +-\n"));
  EXPECT_THAT(text, testing::ContainsRegex("k1 .* 8 +1000 +1024 +1.024 +2048 +1.25\n"));
}

TEST(KernelTable, AWrongFileIsNamedWithKernelAndKey) {
  test::TemporaryDirectory directory;
  std::string text = kernelTableJson(exampleTable());
  text.replace(text.find("\"threads\": 128"), 14, "\"threads\": \"x\"");
  auto read = readKernelTable(directory.write("wrong.json", text));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.status().message(), HasSubstr("wrong.json': kernel 'k0_v1': "));
  EXPECT_THAT(read.status().message(), HasSubstr("threads"));
  EXPECT_FALSE(readKernelTable(directory.path() / "missing.json"));
}

} // namespace
