//===- TextTest.cpp - strings that remember their origin ---------------------===//
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/NumberParsing.h"
#include "runtime/text/jinja/Ops.h"
#include "runtime/text/jinja/StableSort.h"
#include "runtime/text/jinja/TextAlgorithms.h"

#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::text::jinja;

namespace {

/// "T:abc|U:def": the runs of a text, T for trusted.
std::string runs(const Text &text) {
  std::string out;
  size_t begin = 0;
  for (const Text::Run &run : text.runs()) {
    out +=
        (out.empty() ? "" : "|") + std::string(run.trusted ? "T:" : "U:") + text.bytes().substr(begin, run.end - begin);
    begin = run.end;
  }
  return out;
}

Text mixed() {
  Text text("<<", true);
  text.append("user", false);
  text.append(">>", true);
  return text;
}

} // namespace

TEST(Text, KeepsRuns) {
  EXPECT_EQ(runs(mixed()), "T:<<|U:user|T:>>");
  EXPECT_EQ(runs(mixed().slice(1, 4)), "T:<|U:us");
  EXPECT_EQ(runs(mixed().slice(3, 3)), "");
  Text joined = mixed();
  joined.append(mixed());
  EXPECT_EQ(runs(joined), "T:<<|U:user|T:>><<|U:user|T:>>");
  EXPECT_FALSE(joined.allTrusted());
  EXPECT_TRUE(joined.trustedAt(0));
  EXPECT_FALSE(joined.trustedAt(2));
}

TEST(Text, AlgorithmsKeepOrigins) {
  Text text = mixed();
  EXPECT_EQ(runs(replaceText(text, "se", Text("-", true), -1)), "T:<<|U:u|T:-|U:r|T:>>");
  EXPECT_EQ(runs(mapCase(text, CaseMap::Upper)), "T:<<|U:USER|T:>>");
  EXPECT_EQ(runs(stripText(text, Side::Both, "<>u")), "U:ser");
  EXPECT_EQ(runs(splitText(text, "s", -1)[1]), "U:er|T:>>");
  EXPECT_EQ(runs(padText(text, 10, Text(" ", true), Side::Left)), "T:<<|U:user|T:>>  ");
  EXPECT_EQ(runs(escapeHtml(text)), "T:&lt;&lt;|U:user|T:&gt;&gt;");
}

TEST(Text, PrintedContainersAreUntrustedAsAWhole) {
  Budget budget(Limits{});
  Value list = *makeSequence(budget, SequenceKind::List, {Value::trusted("a"), Value::text(Text("b", false))});
  EXPECT_EQ(runs(*toText(budget, list)), "U:['a', 'b']");
  EXPECT_EQ(runs(*toJson(budget, list, {})), "U:[\"a\", \"b\"]");
  Value own = *makeSequence(budget, SequenceKind::List, {Value::trusted("a"), Value::integer(1)});
  EXPECT_EQ(runs(*toJson(budget, own, {})), "T:[\"a\", 1]");
}

TEST(Unicode, SurvivesInvalidBytes) {
  std::string broken = "a\xC3\xA9\xFF\xE4\xBD\xF0\x9F\x91\x8D\xED\xA0\x80\xC0\x80";
  EXPECT_EQ(countCodePoints(broken), 11u); // Invalid bytes count one each.
  EXPECT_FALSE(isValidUtf8(broken));
  EXPECT_EQ(mapCase(Text(broken, false), CaseMap::Lower).bytes(), broken);
}

TEST(Numbers, FloatsPrintAsPython) {
  const std::pair<double, const char *> kCases[] = {{0.1, "0.1"},
                                                    {1e16, "1e+16"},
                                                    {123456789012345680.0, "1.2345678901234568e+17"},
                                                    {1e15, "1000000000000000.0"},
                                                    {0.0001, "0.0001"},
                                                    {0.00001, "1e-05"},
                                                    {-0.0, "-0.0"},
                                                    {5e-324, "5e-324"},
                                                    {100.0, "100.0"},
                                                    {1.5e-10, "1.5e-10"}};
  for (const auto &[value, text] : kCases)
    EXPECT_EQ(formatFloat(value), text);
}

TEST(Numbers, ParseAsPython) {
  EXPECT_EQ(parsePythonInt(" -1_000 ", 10), -1000);
  EXPECT_EQ(parsePythonInt("0x1F", 16), 31);
  EXPECT_EQ(parsePythonInt("1__0", 10), std::nullopt);
  EXPECT_EQ(parsePythonInt("99999999999999999999", 10), std::nullopt);
  EXPECT_EQ(parsePythonInt("--5", 10), std::nullopt);
  EXPECT_EQ(parsePythonFloat("+1e3"), 1000.0);
  EXPECT_EQ(parsePythonFloat("0x10"), std::nullopt);
  EXPECT_EQ(parsePythonFloat(""), std::nullopt);
}

TEST(StableSort, StopsAtTheFirstError) {
  std::vector<int> items = {3, 1, 2, 1};
  ASSERT_TRUE(stableSort(items, [](int a, int b) { return Result<bool>(a < b); }).ok());
  EXPECT_EQ(items, (std::vector<int>{1, 1, 2, 3}));
  EXPECT_EQ(stableSort(items, [](int, int) { return Result<bool>(invalidArgument("no order")); }).message(),
            "no order");
}
