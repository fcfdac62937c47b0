//===- AcceptanceTest.cpp - the acceptance runner reports what fails ----------------===//
//
// That it passes on the virtual device is the ctest entry GpuAcceptance; here is
// that it would not pass otherwise.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/AtomicFile.h"
#include "tools/gpu_acceptance/ProbeTable.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <set>

namespace fusec::acceptance {
namespace {

const Probe exact{"k", "", "sm_80", 80, 999, 32, 1, 2, nullptr};
const Probe relative{"k", "", "sm_80", 80, 999, 32, 1, 2, nullptr, {0x1p-20, 0x1p-10}};
const Probe absolute{"k", "", "sm_80", 80, 999, 32, 1, 2, nullptr, {0.5}, true};

uint32_t word(float x) { return std::bit_cast<uint32_t>(x); }

std::string compare(const Probe &probe, std::vector<uint32_t> found, std::vector<uint32_t> expected) {
  std::string summary;
  return compareProbe(probe, found, expected, summary);
}

TEST(ProbeTable, SameBitsOrTheFirstOtherWord) {
  EXPECT_EQ(compare(exact, {1, 2}, {1, 2}), "");
  EXPECT_EQ(compare(exact, {1, 3}, {1, 2}), "word 1: expected 0x00000002, found 0x00000003 (1 of 2 words)");
  EXPECT_NE(compare(exact, {word(0.0f), 0}, {word(-0.0f), 0}), "") << "bits, not values";
}

TEST(ProbeTable, TolerancesGoByColumn) {
  EXPECT_EQ(compare(relative, {word(1 + 0x1p-20f), word(1 + 0x1p-11f)}, {word(1), word(1)}), "");
  EXPECT_NE(compare(relative, {word(1 + 0x1p-18f), word(1)}, {word(1), word(1)}), "");
  EXPECT_NE(compare(relative, {word(1), word(1 + 0x1p-9f)}, {word(1), word(1)}), "");
  EXPECT_EQ(compare(absolute, {word(100.5f), word(0.4f)}, {word(100), word(0)}), "");
  EXPECT_NE(compare(absolute, {word(101), word(0)}, {word(100), word(0)}), "");
}

TEST(ProbeTable, NanIsNeverNear) {
  const uint32_t nan = word(std::nanf(""));
  EXPECT_NE(compare(relative, {nan, word(1)}, {word(1), word(1)}), "");
  EXPECT_NE(compare(absolute, {word(1), word(1)}, {nan, word(1)}), "");
}

TEST(ProbeTable, InputsDiffer) {
  for (const Probe &probe : probes()) {
    const std::vector<uint32_t> words = probeInput(probe);
    ASSERT_EQ(words.size(), probe.inWords) << probe.kernel;
    EXPECT_GT(std::set<uint32_t>(words.begin(), words.end()).size(), 8u) << probe.kernel << ": swapped words must show";
  }
}

/// Exit code and acceptance.json of a run.
std::pair<int, nlohmann::json> runRunner(const std::string &arguments, const std::string &name) {
  const std::string out = testing::TempDir() + "/" + name;
  const int status = std::system((FUSEC_ACCEPTANCE_RUNNER " --out '" + out + "' " + arguments + " >/dev/null").c_str());
  Result<std::string> text = readWholeFile(out + "/acceptance.json");
  return {WEXITSTATUS(status), text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json()};
}

TEST(AcceptanceRunner, FailuresOfOneSectionDoNotEndTheRun) {
  auto [code, result] = runRunner("--device virtual --quick --data /nonexistent", "no-data");
  EXPECT_EQ(code, 1);
  ASSERT_TRUE(result.is_object());
  EXPECT_FALSE(result["passed"]);
  std::map<std::string, std::string> status;
  for (const auto &section : result["sections"])
    status[section["section"]] = section["status"];
  EXPECT_EQ(status["device"], "passed");
  EXPECT_EQ(status["conformance"], "failed");
  EXPECT_EQ(status["probes"], "failed");
  EXPECT_EQ(status["rates"], "passed") << "times never fail";
  EXPECT_THAT(result["sections"][2]["checks"][0]["detail"], testing::HasSubstr("Probes.sm_80.ptx"));
}

TEST(AcceptanceRunner, ADeviceThatDoesNotExistFails) {
  auto [code, result] = runRunner("--device virtual:sm_12 --quick --only device", "no-device");
  EXPECT_EQ(code, 1);
  EXPECT_FALSE(result["passed"]);
  EXPECT_NE(runRunner("--only nothing", "no-section").first, 0) << "no section is no success";
}

} // namespace
} // namespace fusec::acceptance
