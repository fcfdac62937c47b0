//===- FusionPlanTest.cpp - plans as text: reading, matching, writing back ---------===//
#include "passes/fusion/FusionPlan.h"
#include "passes/report/PrintReport.h"

#include "gtest/gtest.h"

namespace fusec {
namespace {

PlanLine onlyLine(const std::string &text) {
  Result<FusionPlan> plan = FusionPlan::parse(text);
  EXPECT_TRUE(plan) << plan.status().message();
  if (!plan || plan->lines().size() != 1)
    return {};
  return plan->lines().front();
}

std::string errorOf(const std::string &text) {
  Result<FusionPlan> plan = FusionPlan::parse(text);
  EXPECT_FALSE(plan) << text;
  return plan ? "" : plan.status().message();
}

TEST(FusionPlan, ReadsVerbKindNamesAndNote) {
  PlanLine line = onlyLine("# head\n\n  fuse  epilogue  a.0.w:contract -> b:map#2   # 30x, saves\n");
  EXPECT_EQ(line.number, 3);
  EXPECT_TRUE(line.fuse);
  EXPECT_EQ(line.kind, "epilogue");
  EXPECT_EQ(line.producer, "a.0.w:contract");
  EXPECT_EQ(line.consumer, "b:map#2");
}

TEST(FusionPlan, NamesTheLineAndWhatWasExpected) {
  EXPECT_EQ(errorOf("\njoin row a -> b"), "line 2: expected 'fuse' or 'keep', found 'join'");
  EXPECT_NE(errorOf("fuse sideways a -> b").find("line 1: unknown kind 'sideways', expected derive, "),
            std::string::npos);
  EXPECT_NE(errorOf("fuse").find("expected a kind"), std::string::npos);
  EXPECT_EQ(errorOf("fuse row"), "line 1: expected a name, found the end of the line");
  EXPECT_EQ(errorOf("fuse row a"), "line 1: expected '->' after the first name, found the end of the line");
  EXPECT_EQ(errorOf("fuse row a b"), "line 1: expected '->' after the first name, found 'b'");
  EXPECT_EQ(errorOf("fuse row a ->"), "line 1: expected a name, found the end of the line");
  EXPECT_EQ(errorOf("fuse row a -> b c"), "line 1: expected the end of the line or a note after #, found 'c'");
  EXPECT_EQ(errorOf("fuse row \"a -> b"), "line 1: a quoted name has no closing quote");
  EXPECT_EQ(errorOf("fuse row \"\\xzz\" -> b"), "line 1: expected two hexadecimal digits after \\x");
}

TEST(FusionPlan, PatternsMatchWholeNames) {
  EXPECT_TRUE(matchesPattern("blk.*.ffn_gate.weight:contract", "blk.17.ffn_gate.weight:contract"));
  EXPECT_FALSE(matchesPattern("blk.*.ffn_gate.weight:contract", "blk.17.ffn_up.weight:contract"));
  EXPECT_FALSE(matchesPattern("blk.*.x", "blk.1.xy"));
  EXPECT_TRUE(matchesPattern("*", ""));
  EXPECT_TRUE(matchesPattern("a*b*c", "aXbYbc"));
  EXPECT_FALSE(matchesPattern("a*b*c", "acb"));
  EXPECT_TRUE(matchesPattern("a\\*b", "a*b"));
  EXPECT_FALSE(matchesPattern("a\\*b", "aXb"));
  EXPECT_TRUE(matchesPattern("**", "anything"));
  EXPECT_FALSE(matchesPattern("", "a"));
}

/// Long names against patterns with many wildcards take no exponential time.
TEST(FusionPlan, MatchingIsNotExponential) {
  std::string pattern, name(4000, 'a');
  for (int i = 0; i < 200; ++i)
    pattern += "a*";
  EXPECT_FALSE(matchesPattern(pattern + "b", name));
}

TEST(FusionPlan, EveryNameCanBeSpelledAndReadBack) {
  std::string controls = "tab\there\nand newline";
  const std::string names[] = {"plain", "",       "two words", "->",       "a\"b",  "back\\slash", "star*", "#hash",
                               "x#2",   controls, "</script>", "\x01\x7f", "ä:map", "*",           "a -> b"};
  for (const std::string &name : names) {
    SCOPED_TRACE(name);
    PlanLine line =
        onlyLine("keep row " + spelledInPlan(name, false) + " -> " + spelledInPlan(name, false) + " # note");
    EXPECT_TRUE(line.matches({"row", name, name}));
    EXPECT_FALSE(line.matches({"row", name + "x", name}));
    EXPECT_FALSE(line.matches({"epilogue", name, name}));
  }
}

TEST(FusionPlan, TheLastMatchingLineDecides) {
  Result<FusionPlan> plan = FusionPlan::parse("fuse * a.*:map -> *\nkeep row a.3:map -> b\n");
  ASSERT_TRUE(plan);
  ASSERT_NE(plan->find({"row", "a.3:map", "b"}), nullptr);
  EXPECT_FALSE(plan->find({"row", "a.3:map", "b"})->fuse);
  EXPECT_TRUE(plan->find({"row", "a.4:map", "b"})->fuse);
  EXPECT_EQ(plan->find({"row", "c", "b"}), nullptr);
}

TEST(FusionPlan, FindsTheNearestCandidate) {
  const FusionEdge edges[] = {{"row", "alpha:map", "beta:map"}, {"epilogue", "blk.0.w:contract", "blk.0.y:map"}};
  EXPECT_EQ(nearestEdge("epilogue blk.0.v:contract -> blk.0.y:map", edges), &edges[1]);
  EXPECT_EQ(nearestEdge("x", {}), nullptr);
}

/// A written plan decides every candidate as it was decided, whatever disagrees among the layers.
TEST(FusionPlan, AWrittenPlanReplaysItself) {
  report::Report report;
  for (int layer = 0; layer < 12; ++layer) {
    std::string at = "blk." + std::to_string(layer) + ".";
    report.candidates.push_back({"epilogue", at + "w:contract", at + "y:map", "saves", true, true, "cost"});
    report.candidates.push_back({"inline", at + "y:map", at + "z:map", "costs", layer == 7, false, "cost"});
    report.candidates.push_back(
        {"row", at + "z:map", at + "r:reduce" + (layer == 0 ? "#2" : ""), "", layer != 3, true, "plan"});
  }
  report.candidates.push_back({"row", "a \"strange\" *\n:map", "</script>:map", "", false, true, "plan"});
  std::string text = report::printFusionPlan(report);
  Result<FusionPlan> plan = FusionPlan::parse(text);
  ASSERT_TRUE(plan) << plan.status().message() << "\n" << text;
  for (const report::Candidate &c : report.candidates) {
    const PlanLine *line = plan->find({c.kind, c.producer, c.consumer});
    ASSERT_NE(line, nullptr) << c.producer;
    EXPECT_EQ(line->fuse, c.taken) << text;
  }
  EXPECT_NE(text.find("fuse  epilogue      blk.*.w:contract -> blk.*.y:map   # 12x, saves\n"), std::string::npos)
      << text;
  EXPECT_EQ(report::printFusionPlan(report), text);
}

} // namespace
} // namespace fusec
