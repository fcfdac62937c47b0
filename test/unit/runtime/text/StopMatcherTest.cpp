//===- StopMatcherTest.cpp -------------------------------------------------===//
#include "runtime/text/StopMatcher.h"

#include <gtest/gtest.h>

#include <random>

namespace fusec::text {
namespace {

struct Outcome {
  std::string text;
  bool stopped;
  bool operator==(const Outcome &) const = default;
};

Outcome run(const std::vector<std::string> &stops, const std::vector<std::string> &deltas) {
  Result<StopMatcher> matcher = StopMatcher::create(stops);
  EXPECT_TRUE(matcher.ok()) << matcher.status().message();
  Outcome outcome{{}, false};
  for (const std::string &delta : deltas) {
    outcome.text += matcher->push(delta);
    if (matcher->stopped())
      break;
  }
  outcome.text += matcher->finish();
  outcome.stopped = matcher->stopped();
  return outcome;
}

/// The meaning: cut at the leftmost match of any stop string.
Outcome expected(const std::vector<std::string> &stops, const std::string &text) {
  size_t cut = std::string::npos;
  for (const std::string &stop : stops)
    cut = std::min(cut, text.find(stop));
  return {text.substr(0, cut), cut != std::string::npos};
}

TEST(StopMatcher, storyStopsBeforeTheLittleGirl) {
  std::vector<std::string> deltas{"Once", " upon a time", ", there was a ", "l",    "itt",
                                  "le",   " gir",         "l named",        " Lily"};
  EXPECT_EQ(run({"little girl"}, deltas), (Outcome{"Once upon a time, there was a ", true}));
  EXPECT_EQ(run({"little girls"}, deltas), (Outcome{"Once upon a time, there was a little girl named Lily", false}));
}

TEST(StopMatcher, holdsBackOnlyAPossibleBeginning) {
  Result<StopMatcher> matcher = StopMatcher::create({"little girls"});
  ASSERT_TRUE(matcher.ok());
  EXPECT_EQ(matcher->push("a lit"), "a ");
  EXPECT_EQ(matcher->push("tle girl"), "");
  EXPECT_EQ(matcher->push(" n"), "little girl n");
  EXPECT_EQ(matcher->push("lit"), "");
  EXPECT_EQ(matcher->finish(), "lit");
  EXPECT_FALSE(matcher->stopped());
}

TEST(StopMatcher, stopInsideACharacter) {
  // The stop ends in the middle of a four-byte character: it never matches whole text, but bytes
  // are bytes.
  EXPECT_EQ(run({"\xF0\x9F\xA6\x99"}, {"a\xF0\x9F", "\xA6\x99"
                                                    "b"}),
            (Outcome{"a", true}));
}

TEST(StopMatcher, emptyStopIsRefused) {
  Result<StopMatcher> matcher = StopMatcher::create({"a", ""});
  ASSERT_FALSE(matcher.ok());
  EXPECT_EQ(matcher.status().code(), ErrorCode::InvalidArgument);
  EXPECT_NE(matcher.status().message().find("stop[1]"), std::string::npos);
}

TEST(StopMatcher, noStopsPassEverythingThrough) {
  Result<StopMatcher> matcher = StopMatcher::create({});
  ASSERT_TRUE(matcher.ok());
  EXPECT_EQ(matcher->push("abc"), "abc");
  EXPECT_EQ(matcher->finish(), "");
}

TEST(StopMatcher, tellsWhichStopMatched) {
  Result<StopMatcher> matcher = StopMatcher::create({"xyz", "b", "abc"});
  ASSERT_TRUE(matcher.ok());
  EXPECT_EQ(matcher->push("0ab"), "0");
  EXPECT_FALSE(matcher->stopped()) << "'abc' may still begin earlier than 'b'";
  EXPECT_EQ(matcher->push("c"), "");
  EXPECT_EQ(matcher->matchedStop(), 2);
  EXPECT_EQ(matcher->push("more"), "");
}

TEST(StopMatcher, cutsDoNotMatter) {
  std::mt19937 random(11);
  auto word = [&](size_t most) {
    std::string out(1 + random() % most, 'a');
    for (char &c : out)
      c = static_cast<char>('a' + random() % 3);
    return out;
  };
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> stops(1 + random() % 4);
    for (std::string &stop : stops)
      stop = word(4);
    std::string text = word(14);
    std::vector<std::string> deltas;
    for (size_t at = 0; at < text.size();) {
      size_t length = random() % 4;
      deltas.push_back(text.substr(at, length));
      at += length;
    }
    ASSERT_EQ(run(stops, deltas), expected(stops, text)) << text;
  }
}

} // namespace
} // namespace fusec::text
