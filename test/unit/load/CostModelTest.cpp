//===- CostModelTest.cpp -----------------------------------------------------===//

#include "tools/load/CostModel.h"

#include "test/unit/tools/TemporaryDirectory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <vector>

using namespace fusec;
using namespace fusec::load;

namespace {

std::vector<StepSample> samplesOf(const CostModel &model, double noise) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<StepSample> samples;
  for (int i = 0; i < 200; ++i) {
    double tokens = 1 + std::floor(unit(random) * 256), context = tokens * (1 + unit(random) * 2000);
    samples.push_back({tokens, context, model.seconds(tokens, context) * (1 + noise * (unit(random) - 0.5))});
  }
  return samples;
}

TEST(CostModel, FitFindsTheCoefficients) {
  CostModel truth{5e-3, 2e-5, 3e-8};
  Result<CostModel> fitted = CostModel::fit(samplesOf(truth, 0.1));
  ASSERT_TRUE(fitted);
  EXPECT_NEAR(fitted->fixed / truth.fixed, 1, 0.05);
  EXPECT_NEAR(fitted->perToken / truth.perToken, 1, 0.15);
  EXPECT_NEAR(fitted->perContextToken / truth.perContextToken, 1, 0.05);
}

TEST(CostModel, FitGivesNoNegativeCoefficient) {
  std::vector<StepSample> samples = samplesOf({5e-3, 2e-5, 0}, 0);
  for (StepSample &sample : samples)
    sample.seconds -= sample.context * 1e-9;
  Result<CostModel> fitted = CostModel::fit(samples);
  ASSERT_TRUE(fitted);
  EXPECT_EQ(fitted->perContextToken, 0);
  EXPECT_GT(fitted->fixed, 4e-3);
}

TEST(CostModel, FitRefusesWhatSaysNothing) {
  EXPECT_EQ(CostModel::fit({}).status().message(), "cost model: expected at least 3 measured steps, found 0");
  std::vector<StepSample> same(5, StepSample{4, 100, 0.01});
  Result<CostModel> fitted = CostModel::fit(same);
  ASSERT_TRUE(fitted) << "only their sum is known";
  EXPECT_NEAR(fitted->seconds(4, 100), 0.01, 1e-6);
  same[2].seconds = 0;
  EXPECT_FALSE(CostModel::fit(same));
}

TEST(CostModel, IsReadBackFromItsJson) {
  test::TemporaryDirectory directory;
  std::filesystem::path path = directory.path() / "cost.json";
  std::ofstream(path) << CostModel{0.5, 0.25, 0.125}.json();
  Result<CostModel> model = CostModel::read(path);
  ASSERT_TRUE(model) << model.status().message();
  EXPECT_EQ(model->fixed, 0.5);
  EXPECT_EQ(model->perToken, 0.25);
  EXPECT_EQ(model->perContextToken, 0.125);
  std::ofstream(path) << R"({"fixed_seconds": -1, "seconds_per_token": 0, "seconds_per_context_token": 0})";
  EXPECT_NE(CostModel::read(path).status().message().find("fixed_seconds: expected 0 or more seconds, found -1"),
            std::string::npos);
}

} // namespace
