//===- SimulatorTest.cpp -----------------------------------------------------===//

#include "tools/load/Simulator.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace fusec;
using namespace fusec::load;

namespace {

/// Steps of one second each, whatever they hold.
SimulationOptions secondsPerStep() {
  SimulationOptions options;
  options.cost = {1, 0, 0};
  options.pages = 100;
  options.pageTokens = 4;
  options.scheduler = {.tokenBudget = 16, .maxSequences = 4, .contextTokens = 1000};
  return options;
}

TraceRequest request(double arrival, int64_t prompt, int64_t output) { return {arrival, prompt, output, {}}; }

TEST(Simulator, TimesFollowFromTheCostOfSteps) {
  Trace trace{"t", {request(0, 40, 3), request(10, 4, 2)}};
  SimulationReport report = simulate(trace, secondsPerStep());
  EXPECT_EQ(report.requests, 2);
  // The first prompt takes steps 1 to 3, its answer 3 to 5; the second starts after idling, at 10.
  EXPECT_DOUBLE_EQ(report.firstToken.p99, 3);
  EXPECT_DOUBLE_EQ(report.firstToken.p50, 1);
  EXPECT_DOUBLE_EQ(report.perToken.mean, 1);
  EXPECT_DOUBLE_EQ(report.endToEnd.p99, 5);
  EXPECT_DOUBLE_EQ(report.seconds, 12);
  EXPECT_DOUBLE_EQ(report.busy, 7.0 / 12);
  EXPECT_DOUBLE_EQ(report.outputPerSecond, 5.0 / 12);
  EXPECT_EQ(report.steps, 7);
}

TEST(Simulator, RefusesWhatCannotFitAndServesTheRest) {
  Trace trace{"t", {request(0, 800, 3), request(0, 4, 2), request(0, 4, 0)}};
  SimulationReport report = simulate(trace, secondsPerStep());
  EXPECT_EQ(report.refused, 1);
  EXPECT_EQ(report.requests, 2);
}

TEST(Simulator, FasterArrivalsQueue) {
  Trace trace{"t", {}};
  for (int i = 0; i < 40; ++i)
    trace.requests.push_back(request(i * 8.0, 16, 8));
  SimulationOptions options = secondsPerStep();
  SimulationReport slow = simulate(trace, options);
  options.speed = 8;
  SimulationReport fast = simulate(trace, options);
  EXPECT_EQ(fast.requests, 40);
  EXPECT_GT(fast.firstToken.p99, 2 * slow.firstToken.p99);
  EXPECT_GT(fast.outputPerSecond, slow.outputPerSecond);
  EXPECT_GT(fast.mostWaiting, slow.mostWaiting);
}

TEST(Simulator, FindsPrefixesThatTheTraceShares) {
  Trace trace{"t", {}};
  for (int i = 0; i < 10; ++i)
    trace.requests.push_back({i * 100.0, 1024, 2, {1, 2}});
  SimulationOptions options = secondsPerStep();
  options.pages = 400;
  options.scheduler.contextTokens = 2000;
  SimulationReport report = simulate(trace, options);
  EXPECT_DOUBLE_EQ(report.prefixHits, prefixBound(trace, options.pageTokens, options.pages).unlimited);
  options.prefixCache = false;
  EXPECT_EQ(simulate(trace, options).prefixHits, 0);
}

TEST(Simulator, ReportsBothForms) {
  Trace trace{"t.csv", {request(0, 40, 3)}};
  SimulationOptions options = secondsPerStep();
  std::vector<SimulationReport> reports{simulate(trace, options)};
  std::string table = reportTable(trace, options, {}, reports);
  EXPECT_NE(table.find("t.csv: 1 requests"), std::string::npos);
  EXPECT_NE(table.find("TTFT p50, ms                  3000.0"), std::string::npos) << table;
  nlohmann::json json = nlohmann::json::parse(reportJson(trace, options, {}, reports));
  EXPECT_EQ(json["policies"]["fcfs"]["ttft_p50"], 3.0);
  EXPECT_EQ(json["pages"], 100);
}

TEST(Percentiles, AreValuesThatOccur) {
  Percentiles p = Percentiles::of({4, 1, 3, 2});
  EXPECT_EQ(p.p50, 2);
  EXPECT_EQ(p.p90, 4);
  EXPECT_EQ(p.mean, 2.5);
  EXPECT_EQ(Percentiles::of({}).p99, 0);
}

} // namespace
