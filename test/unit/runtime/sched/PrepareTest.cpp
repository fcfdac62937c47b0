//===- PrepareTest.cpp - a step is prepared while the one before runs ------------===//

#include "test/unit/runtime/sched/SchedulerHarness.h"

#include <gmock/gmock.h>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

std::vector<TokenId> tokensOf(const Step &step, uint64_t id) {
  const Step::Item *item = itemOf(step, id);
  return item ? std::vector<TokenId>(item->tokens.begin(), item->tokens.end()) : std::vector<TokenId>();
}

std::vector<uint64_t> idsOf(const Step &step) {
  std::vector<uint64_t> ids;
  for (const Step::Item &item : step.items)
    ids.push_back(static_cast<uint64_t>(item.request));
  return ids;
}

} // namespace

TEST(Prepare, WhatRunsGoesOnWithTheTokenThatComes) {
  SchedulerHarness h(16, {.tokenBudget = 16, .maxSequences = 4, .contextTokens = 64});
  ASSERT_TRUE(h.admit(1, 4, 10).ok()); // Fills a page: the next token needs another.
  Step first = h.scheduler.next();
  EXPECT_EQ(h.kv.ledger().live, 1);
  h.scheduler.prepare();
  EXPECT_EQ(h.kv.ledger().live, 2) << "the page is taken while the step runs";
  EXPECT_EQ(h.scheduler.view(RequestId{1}).generated, 0) << "the token has not come";
  const TokenId token = 777;
  h.scheduler.commit(first, {&token, 1});
  Step second = h.scheduler.next();
  EXPECT_EQ(tokensOf(second, 1), std::vector<TokenId>{token});
  EXPECT_EQ(itemOf(second, 1)->begin, 4);
  EXPECT_TRUE(itemOf(second, 1)->sample);
  EXPECT_EQ(second.summary.decodeRows, 1);
  h.commit(second);
  h.drain();
}

TEST(Prepare, ItsLastTokenIsNotFollowedByAnother) {
  SchedulerHarness h(16, {.tokenBudget = 16, .maxSequences = 4, .contextTokens = 64});
  ASSERT_TRUE(h.admit(1, 4, 2).ok());
  h.step();
  Step last = h.scheduler.next();
  h.scheduler.prepare();
  EXPECT_EQ(h.kv.ledger().live, 2) << "pages of 4 + 1 tokens: the second token is never computed";
  h.commit(last);
  EXPECT_FALSE(h.scheduler.hasWork());
  EXPECT_TRUE(h.scheduler.next().empty());
}

TEST(Prepare, WhoEndsIsLeftOutAndItsPageComesBack) {
  SchedulerHarness h(16, {.tokenBudget = 4, .maxSequences = 2, .contextTokens = 64});
  for (uint64_t id : {1, 2, 3})
    ASSERT_TRUE(h.admit(id, 2, 10).ok());
  Step first = h.scheduler.next();
  EXPECT_EQ(idsOf(first), (std::vector<uint64_t>{1, 2}));
  h.scheduler.prepare();
  h.commit(first);
  h.scheduler.finish(RequestId{1}); // It met a stop string, say.
  EXPECT_EQ(h.kv.ledger().live, 1);
  EXPECT_EQ(h.kv.ledger().parked, 0) << "no step names the page";
  Step second = h.scheduler.next();
  EXPECT_EQ(idsOf(second), (std::vector<uint64_t>{2, 3})) << "the place and its token go to who waits";
  EXPECT_EQ(second.tokens, 3);
  h.commit(second);
  h.drain();
}

TEST(Prepare, CancelledWhileTheStepRuns) {
  SchedulerHarness h(16, {.tokenBudget = 8, .maxSequences = 2, .contextTokens = 64});
  ASSERT_TRUE(h.admit(1, 4, 10).ok() && h.admit(2, 2, 10).ok());
  Step first = h.scheduler.next();
  h.scheduler.prepare();
  h.scheduler.finish(RequestId{1});
  EXPECT_EQ(h.kv.ledger().parked, 2) << "the step that runs may still write to them";
  h.commit(first);
  EXPECT_EQ(h.kv.ledger().parked, 0);
  Step second = h.scheduler.next();
  EXPECT_EQ(idsOf(second), std::vector<uint64_t>{2});
  h.commit(second);
  h.drain();
}

TEST(Prepare, APreparedPromptCanBeCancelledToo) {
  SchedulerHarness h(16, {.tokenBudget = 8, .maxSequences = 2, .contextTokens = 64});
  ASSERT_TRUE(h.admit(1, 2, 10).ok());
  Step first = h.scheduler.next();
  ASSERT_TRUE(h.admit(2, 5, 10).ok());
  h.scheduler.prepare();
  EXPECT_EQ(h.stateOf(2), RequestState::Running);
  h.scheduler.finish(RequestId{2});
  h.commit(first);
  Step second = h.scheduler.next();
  EXPECT_EQ(idsOf(second), std::vector<uint64_t>{1});
  EXPECT_EQ(second.summary.prefillTokens, 0);
  h.commit(second);
  h.drain();
}

TEST(Prepare, WhoWaitsIsStartedAndPromptsAreCut) {
  SchedulerHarness h(32, {.tokenBudget = 8, .maxSequences = 4, .contextTokens = 64});
  ASSERT_TRUE(h.admit(1, 12, 5).ok());
  Step first = h.scheduler.next(); // 8 of its 12.
  ASSERT_TRUE(h.admit(2, 30, 5).ok());
  h.scheduler.prepare();
  EXPECT_EQ(h.stateOf(2), RequestState::Running);
  h.commit(first);
  const int32_t live = h.kv.ledger().live;
  Step second = h.scheduler.next();
  EXPECT_EQ(h.kv.ledger().live, live) << "nothing is left to plan";
  EXPECT_EQ(itemOf(second, 1)->begin, 8);
  EXPECT_EQ(itemOf(second, 1)->end(), 12);
  EXPECT_EQ(itemOf(second, 2)->end(), 4);
  h.commit(second);
  h.drain();
}

TEST(Prepare, WhoComesAfterwardsGetsWhatIsLeft) {
  SchedulerHarness h(32, {.tokenBudget = 8, .maxSequences = 4, .contextTokens = 64});
  ASSERT_TRUE(h.admit(1, 2, 5).ok());
  Step first = h.scheduler.next();
  h.scheduler.prepare();
  ASSERT_TRUE(h.admit(2, 30, 5).ok());
  h.commit(first);
  Step second = h.scheduler.next();
  EXPECT_EQ(idsOf(second), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(second.tokens, 8);
  h.commit(second);
  h.drain();
}

TEST(Prepare, PreemptsNobodyBeforeTheStepHasEnded) {
  for (int32_t pages : {3, 4}) { // With 3, request 2 has no part in the step that runs.
    SchedulerHarness h(pages, {.tokenBudget = 16, .maxSequences = 2, .contextTokens = 12});
    ASSERT_TRUE(h.admit(1, 2, 10).ok() && h.admit(2, 2, 8).ok());
    Step running = h.scheduler.next();
    while (itemOf(running, 1)->end() < 8) {
      h.commit(running);
      running = h.scheduler.next();
    }
    ASSERT_EQ(h.stateOf(2), RequestState::Running);
    ASSERT_EQ(itemOf(running, 2) != nullptr, pages == 4);
    ASSERT_EQ(h.kv.ledger().free, 0);
    h.scheduler.prepare(); // 1 needs a third page.
    EXPECT_EQ(h.stateOf(2), RequestState::Running);
    h.commit(running);
    Step next = h.scheduler.next();
    EXPECT_EQ(next.preempted, std::vector<RequestId>{RequestId{2}});
    EXPECT_EQ(idsOf(next), std::vector<uint64_t>{1});
    h.commit(next);
    h.drain();
  }
}

TEST(Prepare, ForkTakesBackWhatWasPreparedForTheFirst) {
  SchedulerHarness h(16, {.tokenBudget = 16, .maxSequences = 4, .contextTokens = 64});
  ASSERT_TRUE(h.admit(1, 6, 5).ok());
  Step first = h.scheduler.next();
  h.scheduler.prepare();
  const TokenId token = 500;
  h.scheduler.commit(first, {&token, 1});
  ASSERT_TRUE(h.scheduler.fork(RequestId{1}, RequestId{2}, 600).ok());
  Step second = h.scheduler.next();
  EXPECT_EQ(tokensOf(second, 1), std::vector<TokenId>{500});
  EXPECT_EQ(tokensOf(second, 2), std::vector<TokenId>{600});
  EXPECT_EQ(second.copies.size(), 1u) << "both write behind position 6 of the page they share";
  h.commit(second);
  h.drain();
}

TEST(Prepare, AFailedStepTakesThePreparedOneWithIt) {
  SchedulerHarness h(16, {.tokenBudget = 16, .maxSequences = 4, .contextTokens = 64});
  ASSERT_TRUE(h.admit(1, 4, 5).ok());
  h.step();
  Step failed = h.scheduler.next();
  ASSERT_TRUE(h.admit(2, 3, 5).ok());
  h.scheduler.prepare();
  EXPECT_EQ(h.stateOf(2), RequestState::Running);
  h.scheduler.abandon(failed);
  EXPECT_EQ(h.scheduler.view(RequestId{1}).generated, 1);
  Step again = h.scheduler.next();
  EXPECT_EQ(tokensOf(again, 1), tokensOf(failed, 1));
  EXPECT_EQ(itemOf(again, 1)->begin, itemOf(failed, 1)->begin);
  EXPECT_EQ(tokensOf(again, 2).size(), 3u);
  h.commit(again);
  h.drain();
}

TEST(Prepare, WithoutTheTokensTheNextStepGoesWithoutThem) {
  SchedulerHarness h(16, {.tokenBudget = 16, .maxSequences = 4, .contextTokens = 64});
  ASSERT_TRUE(h.admit(1, 4, 5).ok());
  Step first = h.scheduler.next();
  ASSERT_TRUE(h.admit(2, 3, 5).ok());
  h.scheduler.prepare();
  Step second = h.scheduler.next(); // The first is not committed.
  EXPECT_EQ(idsOf(second), std::vector<uint64_t>{2});
  h.commit(first);
  Step third = h.scheduler.next();
  EXPECT_EQ(idsOf(third), std::vector<uint64_t>{1});
  h.commit(second);
  h.commit(third);
  h.drain();
}

/// Preparing changes when pages are taken, not what is computed.
TEST(Prepare, StepsAreTheSameWhenNobodyEnds) {
  SchedulerHarness plain(64, {.tokenBudget = 12, .maxSequences = 4, .contextTokens = 64}),
      ahead(64, {.tokenBudget = 12, .maxSequences = 4, .contextTokens = 64});
  for (uint64_t id : {1, 2, 3, 4, 5}) {
    ASSERT_TRUE(plain.admit(id, static_cast<int64_t>(3 * id + 1), 20).ok());
    ASSERT_TRUE(ahead.admit(id, static_cast<int64_t>(3 * id + 1), 20).ok());
  }
  for (int i = 0; i < 18; ++i) {
    Step a = plain.scheduler.next(), b = ahead.scheduler.next();
    ahead.scheduler.prepare();
    EXPECT_EQ(idsOf(a), idsOf(b));
    EXPECT_EQ(a.packed, b.packed);
    EXPECT_EQ(a.summary.decodeRows, b.summary.decodeRows);
    EXPECT_EQ(a.summary.prefillTokens, b.summary.prefillTokens);
    EXPECT_EQ(a.summary.outputRows, b.summary.outputRows);
    plain.commit(a);
    ahead.commit(b);
  }
  plain.drain();
  ahead.drain();
}
