//===- CompileLogTest.cpp - logs of NVRTC 13.0, read back ------------------===//
#include "codegen/cuda/CompileLog.h"
#include "test/unit/cuda/CudaTestSupport.h"

#include <gmock/gmock.h>

using namespace fusec;
using namespace fusec::codegen;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

namespace {

std::string logText(const std::string &name) { return test::readFixture("logs/" + name + ".log"); }

KernelResources parsed(const std::string &name, const std::string &entry) {
  Result<KernelResources> found = parseCompileLog(logText(name), entry);
  EXPECT_TRUE(found) << found.status().message();
  return found ? *found : KernelResources();
}

TEST(CompileLog, ReadsRegistersSharedMemoryAndBarriers) {
  const KernelResources found = parsed("plain", "plain");
  EXPECT_EQ(found, (KernelResources{.registers = 10, .sharedBytes = 256, .barriers = 1}));
}

TEST(CompileLog, ReadsSpillsAndStack) {
  const KernelResources found = parsed("spill", "spill");
  EXPECT_EQ(found.registers, 64);
  EXPECT_EQ(found.spillStores, 588);
  EXPECT_EQ(found.spillLoads, 620);
  EXPECT_EQ(found.stackBytes, 304);
}

TEST(CompileLog, CountsTheFunctionsAKernelCalls) {
  const KernelResources found = parsed("called-function", "caller");
  EXPECT_EQ(found.registers, 18);
  EXPECT_EQ(found.stackBytes, 32);
  EXPECT_EQ(found.sharedBytes, 256);
  EXPECT_THAT(found.warnings, ElementsAre(HasSubstr("warning #177-D: variable \"unused\"")));
}

TEST(CompileLog, TellsSerialWgmmaFromOtherRemarks) {
  const KernelResources found = parsed("serial-wgmma", "w");
  EXPECT_THAT(found.losses, ElementsAre(HasSubstr("wgmma.mma_async instructions are serialized")));
  EXPECT_THAT(found.warnings, SizeIs(7)); // Arrives and waits that ptxas had to add.
  EXPECT_EQ(found.registers, 30);
}

TEST(CompileLog, RefusesALogThatSaysNothingOfTheKernel) {
  for (const std::string &log : {std::string(), logText("errors"), logText("plain")}) {
    Result<KernelResources> found = parseCompileLog(log, "other");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.status().code(), ErrorCode::CorruptData);
    EXPECT_THAT(found.status().message(), HasSubstr("'other'"));
  }
}

TEST(CompileLog, EveryPrefixOfALogIsReadOrRefused) {
  for (const char *name : {"plain", "spill", "serial-wgmma", "called-function"}) {
    const std::string log = logText(name);
    for (size_t length = 0; length < log.size(); ++length)
      (void)parseCompileLog(std::string_view(log).substr(0, length), name).ok();
  }
}

TEST(CompileLog, NamesTheFirstError) {
  EXPECT_EQ(firstError(logText("errors")), "k.cu(1): error: identifier \"foo\" is undefined (and 1 more)");
  EXPECT_THAT(firstError(logText("ptxas-error")), StartsWith("ptxas application ptx input, line 40; error"));
  EXPECT_EQ(firstError(""), "no message");
  EXPECT_EQ(firstError("\nsomething else\n"), "something else");
}

} // namespace
