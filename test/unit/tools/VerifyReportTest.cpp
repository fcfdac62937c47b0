//===- VerifyReportTest.cpp - the table and its JSON -------------------------===//
#include "tools/fusec/VerifyReport.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>

namespace fusec {
namespace {

VerifyReport sample() {
  VerifyReport report;
  report.model = "toy";
  report.level = "avx2";
  report.threads = 2;
  report.noise = 1e-6;
  VerifyRow same;
  same.id = "repeat";
  same.what = "the same again";
  same.logits.compared = 640;
  same.tokens.compared = 8;
  VerifyRow skipped;
  skipped.id = "level-amx";
  skipped.what = "amx / avx2";
  skipped.skipped = "this CPU does not run it";
  VerifyRow bad;
  bad.id = "fused";
  bad.what = "fused / unfused";
  bad.demand = VerifyDemand::Bound;
  bad.bound = 8e-6;
  bad.logits = {.compared = 640, .differing = 600, .maxAbsolute = 3, .maxRelative = 0.25, .worstRow = 2};
  report.rows = {same, skipped};
  report.rows.push_back(bad);
  return report;
}

TEST(VerifyReport, TextNamesEveryRowAndWhyOneFails) {
  const std::string text = verifyText(sample());
  for (const char *part : {"the same again", "same bits", "8 same", "skipped: this CPU does not run it", "FAIL",
                           "fused / unfused: an error of 2.50e-01", "allowed 8.00e-06", "FAILED: 1 of 2"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  VerifyReport good = sample();
  good.rows.pop_back();
  EXPECT_TRUE(good.passed());
  EXPECT_NE(verifyText(good).find("passed: 1 of 1"), std::string::npos) << verifyText(good);
}

TEST(VerifyReport, TheCulpritIsNamedWithItsCommand) {
  VerifyReport report = sample();
  report.culprit = VerifyCulprit{.number = 3,
                                 .total = 40,
                                 .fusion = {"derive", "blk.0.max", "blk.0.sum", "a homomorphism"},
                                 .before = {1e-6, false},
                                 .after = {0.25, true},
                                 .bound = 8e-6,
                                 .command = "fusec verify m --fusion-limit 3",
                                 .previous = "fusec verify m --fusion-limit 2"};
  const std::string text = verifyText(report);
  for (const char *part : {"number 3 of 40", "derive  blk.0.max -> blk.0.sum", "a homomorphism",
                           "1.00e-06 without it, 2.50e-01 with it", "fusec verify m --fusion-limit 3"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  const nlohmann::json json = nlohmann::json::parse(verifyJson(report));
  EXPECT_EQ(json["culprit"]["producer"], "blk.0.max");
  EXPECT_EQ(json["culprit"]["number"], 3);
}

TEST(VerifyReport, WhatCouldNotBeMadeFails) {
  VerifyReport report = sample();
  report.rows.pop_back();
  VerifyRow broken;
  broken.id = "unfused";
  broken.what = "the unfused model";
  broken.error = "scatter has no kernel form";
  report.rows.push_back(broken);
  EXPECT_FALSE(report.passed());
  EXPECT_NE(verifyText(report).find("the unfused model: could not be made: scatter has no kernel form"),
            std::string::npos)
      << verifyText(report);
  EXPECT_EQ(nlohmann::json::parse(verifyJson(report))["rows"][2]["error"], "scatter has no kernel form");
}

TEST(VerifyReport, JsonHasAllRowsAndNoInfinity) {
  VerifyReport report = sample();
  report.rows.back().logits.maxAbsolute = std::numeric_limits<double>::infinity();
  const nlohmann::json json = nlohmann::json::parse(verifyJson(report));
  ASSERT_EQ(json["rows"].size(), 3u);
  EXPECT_EQ(json["rows"][0]["passed"], true);
  EXPECT_EQ(json["rows"][0]["first_differing_token"], nullptr);
  EXPECT_EQ(json["rows"][1]["skipped"], "this CPU does not run it");
  EXPECT_EQ(json["rows"][2]["max_absolute_error"], "infinite");
  EXPECT_EQ(json["rows"][2]["passed"], false);
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["culprit"], nullptr);
}

} // namespace
} // namespace fusec
