//===- ReportTest.cpp - the forms of a report --------------------------------------===//
#include "passes/report/KernelTimings.h"
#include "passes/report/PrintReport.h"
#include "passes/report/ReportDiff.h"
#include "passes/report/ReportJson.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fusec::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char *hostileName = "</script><b onmouseover=alert(1)>&amp;\"'`";

Op op(const std::string &name, int64_t layer, std::vector<std::string> inputs) {
  Op row;
  row.name = row.launchName = name;
  row.kind = "map";
  row.type = "<[ragged(T), 64], f32>";
  row.layer = layer;
  row.group = layer + 1;
  row.kernel = layer < 0 ? "k0" : "k1";
  row.inputs = std::move(inputs);
  return row;
}

/// A chain through `layers` layers that are alike, but the last.
Report chain(int64_t layers) {
  Report report;
  report.model = "a model";
  report.level = "avx2";
  report.layers = layers;
  std::string before = "embedding:map";
  report.after.ops.push_back(op(before, -1, {"tokens"}));
  for (int64_t i = 0; i < layers; ++i) {
    std::string name = "blk." + std::to_string(i) + ".x:map";
    std::string number = std::to_string(i);
    report.after.ops.push_back(op(name, i, {before, "blk." + number + ".q + blk." + number + ".k", "k." + number}));
    before = name;
  }
  report.after.ops.back().type = "<[sym(R), 64], f32>";
  report.before = report.after;
  Kernel k0{.name = "k0",
            .kind = "rows",
            .members = {"embedding:map"},
            .launches = 1,
            .read = 100,
            .written = 50,
            .minimum = 100};
  Kernel k1{.name = "k1",
            .kind = "cascade",
            .members = {"blk.*.x:map"},
            .launches = layers,
            .launchesPerLayer = 1,
            .read = 1000,
            .written = 10,
            .minimum = 900,
            .unfused = 4000};
  report.kernels = {k0, k1};
  report.launches = layers + 1;
  report.read = 1100;
  report.written = 60;
  report.minimum = 1000;
  report.unfused = 4000;
  DecisionRow yes{.kind = "derive",
                  .producer = "blk.*.a:reduce",
                  .consumer = "blk.*.x:map",
                  .fused = true,
                  .asked = true,
                  .decidedBy = "cost",
                  .reason = "one loop",
                  .count = layers,
                  .proof = {{"separable", "exp of a difference"}}};
  DecisionRow no{.kind = "row",
                 .producer = "embedding:map",
                 .consumer = "blk.*.x:map",
                 .decidedBy = "legality",
                 .reason = "other rows",
                 .obligation = "aligned",
                 .count = 1};
  report.decisions = {yes, no};
  return report;
}

TEST(Report, TextShowsKernelsDecisionsAndProof) {
  std::string text = printText(chain(30));
  EXPECT_THAT(text, HasSubstr("Kernels (level avx2; bytes of one step of 1 token with 512 positions, KiB)"));
  EXPECT_THAT(text, HasSubstr("moved / minimum = 1.160"));
  EXPECT_THAT(text, HasSubstr("  30x derive       blk.*.a:reduce -> blk.*.x:map: one loop\n"));
  EXPECT_THAT(text, HasSubstr("separable: exp of a difference\n"));
  EXPECT_THAT(text, HasSubstr("other rows [aligned]\n"));
  EXPECT_THAT(text, Not(HasSubstr("Compile time")));
}

TEST(Report, JsonReadsBack) {
  Report report = chain(30);
  report.fusionPlan = "keep row a -> b\n";
  Result<Report> back = readJson(printJson(report));
  ASSERT_TRUE(back) << back.status().message();
  EXPECT_EQ(back->fusionPlan, report.fusionPlan);
  EXPECT_EQ(back->launches, 31);
  EXPECT_TRUE(compareReports(report, *back, {}).empty());
}

TEST(Report, JsonOfAnotherFormIsRefused) {
  for (const char *text : {"", "{", "[]", "{}", "{\"kernels\": 3, \"decisions\": []}", "null"})
    EXPECT_FALSE(readJson(text)) << text;
  Result<Report> odd = readJson(R"({"kernels": [3, {"launches": "x", "ops": [1]}], "decisions": [null]})");
  EXPECT_TRUE(odd) << "fields of other types count as missing";
}

TEST(Report, NamesThatAreNotUtf8StillPrint) {
  Report report = chain(1);
  report.kernels[0].members = {"\xff\xfe:map"};
  EXPECT_THAT(printJson(report), HasSubstr("\xEF\xBF\xBD"));
  EXPECT_THAT(printHtml(report), HasSubstr("\xEF\xBF\xBD"));
}

/// A name must not be able to end the script element or open another.
TEST(Report, HostileNamesStayInsideTheData) {
  Report report = chain(2);
  report.model = hostileName;
  report.kernels[0].members = {hostileName};
  report.after.ops[0].name = hostileName;
  report.decisions[0].producer = std::string(hostileName) + "/*SCRIPT*/ /*STYLE*/ <!--";
  std::string page = printHtml(report);
  EXPECT_THAT(page, Not(HasSubstr("<b onmouseover")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  size_t scripts = 0;
  for (size_t at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1))
    ++scripts;
  EXPECT_EQ(scripts, 2u); // the data and the code
  EXPECT_THAT(page, HasSubstr("\\u003c/script\\u003e\\u003cb onmouseover"));
}

/// Nothing on the page points elsewhere.
TEST(Report, ThePageNeedsNoNetwork) {
  std::string page = printHtml(chain(3));
  for (const char *word : {"src=", "@import", "url(", "fetch(", "XMLHttpRequest", "<link"})
    EXPECT_THAT(page, Not(HasSubstr(word)));
}

TEST(Report, EqualLayersAreWrittenOnce) {
  std::string thirty = printHtml(chain(30)), hundred = printHtml(chain(100));
  EXPECT_LT(hundred.size(), thirty.size() + 500); // 70 more numbers in a list
  EXPECT_THAT(hundred, HasSubstr("\"layers\":[1,2,3,"));
  EXPECT_THAT(hundred, HasSubstr("\"layers\":[99]")); // differs in its type
}

TEST(Report, DifferencesAreNamed) {
  Report a = chain(30), b = chain(30);
  EXPECT_EQ(printDifferences(compareReports(a, b, {})), "");
  b.decisions[0].fused = false;
  b.kernels[1].read += 7;
  b.read += 7;
  b.kernels[0].name = "k9"; // numbers shift; not a difference
  std::string text = printDifferences(compareReports(a, b, {}));
  EXPECT_THAT(text, HasSubstr("~ derive blk.*.a:reduce -> blk.*.x:map: fused 30x -> refused 30x\n"));
  EXPECT_THAT(text, HasSubstr("~ blk.*.x:map: 30 launches, cascade, reads 1000, writes 10 bytes -> "));
  EXPECT_THAT(text, HasSubstr("~ bytes moved: 1160 -> 1167\n"));
  EXPECT_THAT(text, Not(HasSubstr("k9")));
  EXPECT_EQ(compareReports(a, b, {.kernels = false}).size(), 1u);
  EXPECT_THAT(printDifferencesJson(compareReports(a, b, {})), HasSubstr("\"same\": false"));
}

TEST(Report, TimingsGiveTheShareOfTheRoof) {
  Report report = chain(30);
  report.kernels[1].operations = 100;
  Status status = addTimings(report, R"({"machine": {"bytes_per_second": 1010000, "flops_per_second": 1e12},
                                        "kernels": {"k1": {"seconds": 0.004}}})");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(printText(report), HasSubstr(" 25%")); // 1,010 bytes take 1 ms of the 4
  EXPECT_THAT(addTimings(report, R"({"kernels": {"k7": {"seconds": 1}}})").message(), HasSubstr("no kernel 'k7'"));
  EXPECT_THAT(addTimings(report, R"({"kernels": {"k1": {"seconds": -1}}})").message(),
              HasSubstr("kernel 'k1': expected"));
  EXPECT_FALSE(addTimings(report, "[]").ok());
  EXPECT_FALSE(addTimings(report, R"({"machine": {"bytes_per_second": 0}, "kernels": {}})").ok());
}

} // namespace
} // namespace fusec::report
