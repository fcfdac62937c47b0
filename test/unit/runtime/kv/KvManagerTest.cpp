//===- KvManagerTest.cpp -----------------------------------------------------===//

#include "runtime/kv/KvManager.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

using namespace fusec;
using namespace fusec::runtime;

namespace {

constexpr CacheScope scope{1}, tenant{2};
constexpr int64_t P = 4;

std::vector<TokenId> prompt(int64_t length, TokenId first = 100) {
  std::vector<TokenId> tokens(length);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

struct KvTest : testing::Test {
  KvManager kv{{.totalBlocks = 17, .pageTokens = P}};

  SequenceId run(CacheScope where, const std::vector<TokenId> &tokens) {
    auto [id, cached] = kv.open(where, tokens);
    EXPECT_TRUE(kv.reserve(id, static_cast<int64_t>(tokens.size())).ok());
    kv.append(id, std::span(tokens).subspan(cached));
    return id;
  }
  void runAndClose(CacheScope where, const std::vector<TokenId> &tokens) { kv.close(run(where, tokens)); }
  void TearDown() override { EXPECT_TRUE(kv.check().ok()) << kv.check().message(); }
};

// Report: a prompt that was cached as a whole left nothing to compute.
TEST_F(KvTest, AtLeastTheLastTokenOfACachedPromptIsComputed) {
  for (int64_t length : {int64_t(1), P - 1, P, P + 1, 2 * P}) {
    kv.flush();
    for (int time = 0; time < 3; ++time) {
      std::vector<TokenId> tokens = prompt(length);
      int64_t cached = kv.cachedPrefix(scope, tokens);
      EXPECT_EQ(cached, time == 0 ? 0 : length - 1) << length;
      runAndClose(scope, tokens);
    }
  }
}

TEST_F(KvTest, SharesACommonPrefixToTheToken) {
  std::vector<TokenId> first = prompt(2 * P + 3);
  runAndClose(scope, first);
  for (int64_t common = 0; common < 2 * P + 3; ++common) {
    std::vector<TokenId> tokens = prompt(3 * P);
    tokens[common] = 1;
    EXPECT_EQ(kv.cachedPrefix(scope, tokens), common);
  }
  EXPECT_EQ(kv.cachedPrefix(scope, prompt(3 * P)), 2 * P + 3) << "with the partly filled page";
}

// A chat's second turn computes nothing of the first.
TEST_F(KvTest, AClosedSequenceLeavesItsPartlyFilledPage) {
  std::vector<TokenId> turn = prompt(P + 2);
  runAndClose(scope, turn);
  EXPECT_EQ(kv.ledger().cached, 2);
  EXPECT_EQ(kv.cachedTokens(), P + 2);
  turn = prompt(P + 3);
  auto [id, cached] = kv.open(scope, turn);
  EXPECT_EQ(cached, P + 2);
  std::vector<PageCopy> copies = kv.takeCopies();
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].to, kv.blocks(id)[1]);
  ASSERT_TRUE(kv.reserve(id, P + 3).ok());
  EXPECT_TRUE(kv.takeCopies().empty()) << "the page is its own";
  kv.append(id, std::span(turn).subspan(cached));
  kv.close(id);
  EXPECT_EQ(kv.ledger().cached, 2) << "the longer run has taken the place of the shorter one";
  EXPECT_EQ(kv.stats().extended, 1);
  runAndClose(scope, turn);
  EXPECT_EQ(kv.ledger().cached, 2) << "nothing new";
}

TEST_F(KvTest, APageStaysAsItIsUntilItIsCopied) {
  runAndClose(scope, prompt(2));
  auto [id, cached] = kv.open(scope, prompt(3));
  ASSERT_EQ(cached, 2);
  SequenceId other = kv.open(tenant, prompt(1, 7)).id;
  EXPECT_EQ(kv.availableBlocks(), 14) << "neither the copy nor what is copied";
  ASSERT_TRUE(kv.reserve(other, 14 * P).ok());
  std::vector<PageCopy> copies = kv.takeCopies();
  ASSERT_EQ(copies.size(), 1u);
  StepEpoch step = kv.beginStep({});
  kv.close(id);
  kv.close(other);
  EXPECT_EQ(kv.ledger().parked, 2);
  EXPECT_EQ(kv.map()[toIndex(copies[0].from)], PageClass::Parked) << "the step copies it";
  kv.finishStep(step);
  EXPECT_EQ(kv.ledger().parked, 0);
  EXPECT_EQ(kv.ledger().cached, 1);
}

TEST_F(KvTest, ACopyOfAFailedStepIsMadeWithTheNextFromTheSamePage) {
  runAndClose(scope, prompt(2));
  SequenceId id = kv.open(scope, prompt(3)).id;
  std::vector<PageCopy> copies = kv.takeCopies();
  StepEpoch failed = kv.beginStep({&id, 1});
  kv.returnCopies(copies);
  kv.finishStep(failed);
  EXPECT_EQ(kv.map()[toIndex(copies[0].from)], PageClass::Parked);
  EXPECT_EQ(kv.takeCopies(), copies);
}

// A copy is of no use to a sequence that has moved on or ended: it is not made, and what it needed is given back.
TEST_F(KvTest, ACopyIsForgottenWithThePageItWasFor) {
  runAndClose(scope, prompt(2));
  std::vector<TokenId> tokens = prompt(3 * P);
  auto [late, cached] = kv.open(scope, tokens);
  EXPECT_EQ(cached, 2);
  kv.takeCopies();
  StepEpoch step = kv.beginStep({}); // Copies, but computes nothing of it yet.
  runAndClose(scope, prompt(P + 2));
  kv.takeCopies();
  EXPECT_EQ(kv.extendFromCache(late, tokens), P + 2);
  EXPECT_EQ(kv.waitingCopies().size(), 1u);
  kv.finishStep(step);
  EXPECT_EQ(kv.ledger().parked, 1) << "what the second copy needs";
  step = kv.beginStep({&late, 1}); // Begun without the copy, which comes with the next.
  kv.close(late);
  EXPECT_TRUE(kv.waitingCopies().empty());
  kv.finishStep(step);
  EXPECT_EQ(kv.ledger().parked, 0);
}

// Otherwise a prompt could wait for ever for the page that it is copied from.
TEST_F(KvTest, WithoutAPageForTheCopyOnlyWholePagesAreShared) {
  runAndClose(scope, prompt(P + 2));
  SequenceId other = kv.open(tenant, prompt(1, 7)).id;
  ASSERT_TRUE(kv.reserve(other, 14 * P).ok());
  EXPECT_EQ(kv.cachedPrefix(scope, prompt(P + 3)), P);
  SequenceId id = kv.open(scope, prompt(P + 3)).id;
  EXPECT_EQ(kv.length(id), P);
  EXPECT_TRUE(kv.reserve(id, P + 3).ok()) << "on the page that was not copied";
}

TEST_F(KvTest, AForkedTailIsLeftByTheLastThatHasIt) {
  SequenceId parent = run(scope, prompt(P + 2)), child = kv.fork(parent);
  kv.close(parent);
  EXPECT_EQ(kv.cachedTokens(), P) << "the child goes on in the page";
  ASSERT_TRUE(kv.reserve(child, P + 3).ok());
  EXPECT_TRUE(kv.takeCopies().empty());
  kv.append(child, prompt(1, 7));
  kv.close(child);
  EXPECT_EQ(kv.cachedTokens(), P + 3);
}

TEST(KvManager, CopiesNoPageForAFewTokens) {
  KvManager kv({.totalBlocks = 20, .pageTokens = 64});
  EXPECT_EQ(kv.leastCopied(), 4);
  SequenceId id = kv.open(scope, prompt(70)).id;
  ASSERT_TRUE(kv.reserve(id, 70).ok());
  kv.append(id, prompt(70));
  kv.close(id);
  EXPECT_EQ(kv.cachedPrefix(scope, prompt(68)), 64) << "3 tokens of the next page";
  EXPECT_EQ(kv.cachedPrefix(scope, prompt(69)), 64 + 4);
  EXPECT_EQ(kv.cachedPrefix(scope, prompt(100)), 64 + 6);
}

TEST_F(KvTest, ScopesNeverShare) {
  runAndClose(scope, prompt(3 * P));
  EXPECT_EQ(kv.cachedPrefix(tenant, prompt(3 * P)), 0);
  runAndClose(tenant, prompt(3 * P));
  EXPECT_EQ(kv.ledger().cached, 6);
}

TEST_F(KvTest, SequencesWithoutPrefixNeitherReadNorFeedTheTree) {
  runAndClose(scope, prompt(2 * P));
  KvManager::Opened opened = kv.open(scope, prompt(2 * P), false);
  EXPECT_EQ(opened.cached, 0);
  ASSERT_TRUE(kv.reserve(opened.id, 2 * P).ok());
  kv.append(opened.id, prompt(2 * P));
  EXPECT_EQ(kv.ledger().live, 2);
  kv.close(opened.id);
  EXPECT_EQ(kv.ledger().cached, 2);
}

TEST_F(KvTest, TheSameRunComputedTwiceIsKeptOnce) {
  SequenceId a = run(scope, prompt(P - 1)), b = run(scope, prompt(P - 1));
  for (SequenceId id : {a, b}) {
    ASSERT_TRUE(kv.reserve(id, P).ok());
    kv.append(id, prompt(1, 100 + P - 1));
  }
  EXPECT_EQ(kv.blocks(a)[0], kv.blocks(b)[0]);
  EXPECT_EQ(kv.ledger().live, 1);
}

TEST_F(KvTest, MovesOnToPagesThatOthersPublish) {
  std::vector<TokenId> tokens = prompt(4 * P);
  auto [late, cached] = kv.open(scope, tokens);
  EXPECT_EQ(cached, 0);
  SequenceId early = run(scope, tokens);
  EXPECT_EQ(kv.extendFromCache(late, tokens), 4 * P - 1) << "the last token is left";
  EXPECT_EQ(kv.blocks(late)[2], kv.blocks(early)[2]);
}

TEST_F(KvTest, AForkCopiesThePartlyFilledPageOnFirstWrite) {
  SequenceId parent = run(scope, prompt(P + 2));
  SequenceId child = kv.fork(parent);
  EXPECT_EQ(kv.ledger().live, 2);
  BlockId shared = kv.blocks(parent)[1];
  ASSERT_TRUE(kv.reserve(child, P + 3).ok());
  ASSERT_TRUE(kv.reserve(parent, P + 3).ok());
  std::vector<PageCopy> copies = kv.takeCopies();
  ASSERT_EQ(copies.size(), 1u) << "the second writer is alone on the page";
  EXPECT_EQ(copies[0], (PageCopy{shared, kv.blocks(child)[1]}));
  EXPECT_EQ(kv.blocks(parent)[1], shared);
  EXPECT_EQ(kv.blocks(parent)[0], kv.blocks(child)[0]);
  EXPECT_TRUE(kv.takeCopies().empty());
}

TEST_F(KvTest, AForkAtAPageEndCopiesNothing) {
  SequenceId parent = run(scope, prompt(2 * P));
  SequenceId child = kv.fork(parent);
  ASSERT_TRUE(kv.reserve(child, 2 * P + 1).ok());
  EXPECT_TRUE(kv.takeCopies().empty());
  EXPECT_NE(kv.blocks(child).size(), kv.blocks(parent).size());
}

TEST_F(KvTest, ACopyForASequenceThatIsGoneIsNotMade) {
  SequenceId parent = run(scope, prompt(2)), child = kv.fork(parent);
  ASSERT_TRUE(kv.reserve(child, 3).ok());
  kv.close(child);
  EXPECT_TRUE(kv.takeCopies().empty());
}

TEST_F(KvTest, ReserveEvictsTheLeastRecentlyUsedAndFailsWithoutEffect) {
  runAndClose(scope, prompt(8 * P, 0));
  runAndClose(tenant, prompt(8 * P, 1000));
  EXPECT_EQ(kv.ledger().cached, 16);
  SequenceId id = kv.open(CacheScope{3}, prompt(1)).id;
  ASSERT_TRUE(kv.reserve(id, 8 * P).ok());
  EXPECT_EQ(kv.cachedPrefix(scope, prompt(8 * P + 1, 0)), 0) << "older";
  EXPECT_EQ(kv.cachedPrefix(tenant, prompt(8 * P + 1, 1000)), 8 * P);
  Status status = kv.reserve(id, 17 * P);
  EXPECT_EQ(status.code(), ErrorCode::ResourceExhausted);
  EXPECT_EQ(status.message(), "kv cache: 9 more pages are needed, 8 of 16 are available");
  EXPECT_EQ(kv.ledger().cached, 8);
}

TEST_F(KvTest, PagesOfAClosedSequenceWaitForTheStepThatNamesThem) {
  auto [id, cached] = kv.open(scope, prompt(P), false);
  ASSERT_TRUE(kv.reserve(id, 16 * P).ok());
  StepEpoch first = kv.beginStep({&id, 1}), second = kv.beginStep({&id, 1});
  kv.close(id);
  EXPECT_EQ(kv.ledger().parked, 16);
  EXPECT_EQ(kv.availableBlocks(), 0);
  kv.finishStep(first);
  EXPECT_EQ(kv.availableBlocks(), 0) << "the second names them too";
  kv.finishStep(second);
  EXPECT_EQ(kv.availableBlocks(), 16);
}

TEST_F(KvTest, LedgerTellsTailFromReserved) {
  SequenceId id = run(scope, prompt(P + 1));
  ASSERT_TRUE(kv.reserve(id, 3 * P).ok());
  SequenceId child = kv.fork(id);
  Ledger ledger = kv.ledger();
  EXPECT_EQ(ledger.live, 3);
  EXPECT_EQ(ledger.held, P + 1);
  EXPECT_EQ(ledger.tail, P - 1) << "shared, counted once";
  EXPECT_EQ(ledger.reserved, P);
  EXPECT_DOUBLE_EQ(ledger.waste(), (2.0 * P - 1) / (3 * P));
  kv.close(child);
  EXPECT_EQ(kv.ledger().held, P + 1);
}

TEST_F(KvTest, ReportsALedgerThatDoesNotBalance) {
  Ledger ledger = kv.ledger();
  ledger.free -= 1;
  EXPECT_EQ(ledger.balance().message(),
            "kv ledger: 0 live + 0 cached + 0 parked + 15 free + 1 sink pages are not the total of 17");
  ledger = kv.ledger();
  ledger.held = 1;
  EXPECT_EQ(ledger.balance().code(), ErrorCode::Internal);
}

// A long prompt's lookup is a few comparisons per page.
TEST(KvManager, LooksUpLongPromptsQuickly) {
  KvManager kv({.totalBlocks = 2100, .pageTokens = 64});
  std::vector<TokenId> tokens = prompt(2000 * 64 + 1);
  SequenceId id = kv.open(scope, tokens).id;
  ASSERT_TRUE(kv.reserve(id, static_cast<int64_t>(tokens.size())).ok());
  kv.append(id, tokens);
  auto start = std::chrono::steady_clock::now();
  int64_t found = 0;
  for (int i = 0; i < 100; ++i)
    found += kv.cachedPrefix(scope, tokens);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(found, 100 * 2000 * 64);
  RecordProperty("microseconds_per_2000_pages", std::to_string(seconds * 1e4));
  EXPECT_LT(seconds, 1.0);
}

} // namespace
