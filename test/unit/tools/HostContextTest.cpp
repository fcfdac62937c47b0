//===- HostContextTest.cpp - the machine behind a measurement --------------===//
#include "tools/fusec/HostContext.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(HostContext, CountsCoresAcrossPackages) {
  HostContext context;
  std::string text;
  for (int package = 0; package < 2; ++package)
    for (int core = 0; core < 2; ++core)
      for (int thread = 0; thread < 2; ++thread)
        text += "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\nphysical id\t: " + std::to_string(package) +
                "\ncore id\t\t: " + std::to_string(core) + "\n\n";
  parseCpuInfo(text, context);
  EXPECT_EQ(context.cpu, "Some CPU @ 3 GHz");
  EXPECT_EQ(context.logicalCores, 8);
  EXPECT_EQ(context.physicalCores, 4);
}

TEST(HostContext, SaysWhatItCouldNotFind) {
  HostContext context;
  parseCpuInfo("", context);
  context.memoryBytes = 1;
  context.system = "s";
  context.loadAverage = 0;
  EXPECT_THAT(context.missing(), ElementsAre("cpu", "physical_cores", "logical_cores", "allowed_cores"));
}

TEST(HostContext, KnowsThisMachine) {
  const HostContext context = readHostContext();
  EXPECT_GT(context.allowedCores, 0);
  EXPECT_GT(context.memoryBytes, 1 << 20);
  EXPECT_THAT(context.date, testing::MatchesRegex("....-..-..T..:..:..Z"));
}
