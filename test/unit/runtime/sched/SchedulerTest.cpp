//===- SchedulerTest.cpp - steps, cancellation, forks, prompt logits -------------===//

#include "test/unit/runtime/sched/SchedulerHarness.h"

using namespace fusec;
using namespace fusec::runtime;
using test::itemOf;
using test::SchedulerHarness;

namespace {

TEST(Scheduler, DecodesFirstAndFillsTheBudgetWithPrompts) {
  SchedulerHarness h(100, {.tokenBudget = 16, .maxSequences = 8});
  ASSERT_TRUE(h.admit(1, 3, 20).ok());
  ASSERT_TRUE(h.admit(2, 40, 20).ok());
  Step first = h.step();
  ASSERT_EQ(first.items.size(), 2u);
  EXPECT_TRUE(first.items[0].sample) << "a short prompt is done in one step";
  EXPECT_EQ(itemOf(first, 2)->tokens.size(), 13u);
  EXPECT_FALSE(itemOf(first, 2)->sample);
  Step second = h.step();
  EXPECT_EQ(second.items[0].request, RequestId{1});
  EXPECT_EQ(second.items[0].begin, 3);
  EXPECT_EQ(second.items[0].tokens.size(), 1u);
  EXPECT_EQ(itemOf(second, 2)->begin, 13);
  EXPECT_EQ(second.tokens, 16);
  EXPECT_EQ(second.summary.decodeRows, 1);
  EXPECT_EQ(second.summary.prefillTokens, 15);
  EXPECT_EQ(std::vector<TokenId>(itemOf(second, 2)->tokens.begin(), itemOf(second, 2)->tokens.end()),
            test::prompt(15, 200013));
}

TEST(Scheduler, AnswersHaveExactlyTheirLength) {
  SchedulerHarness h(100, {.tokenBudget = 16});
  for (uint64_t id = 1; id <= 4; ++id)
    ASSERT_TRUE(h.admit(id, 5, static_cast<int64_t>(id)).ok());
  std::map<RequestId, int> samples;
  while (h.scheduler.hasWork())
    for (const Step::Item &item : h.step().items)
      samples[item.request] += item.sample;
  for (uint64_t id = 1; id <= 4; ++id)
    EXPECT_EQ(samples[RequestId{id}], static_cast<int>(id));
}

TEST(Scheduler, StaticBatchesWaitForTheirLast) {
  SchedulerHarness h(100, {.tokenBudget = 16, .maxSequences = 2, .staticBatches = true});
  for (uint64_t id = 1; id <= 3; ++id)
    ASSERT_TRUE(h.admit(id, 3, id == 1 ? 2 : 6).ok());
  std::vector<std::vector<RequestId>> steps;
  while (h.scheduler.hasWork()) {
    steps.emplace_back();
    for (const Step::Item &item : h.step().items)
      steps.back().push_back(item.request);
  }
  // The third comes when both before it have ended, though one place was free for four steps.
  ASSERT_EQ(steps.size(), 12u);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(steps[i].size(), i < 2 ? 2u : 1u) << "step " << i;
  for (size_t i = 6; i < 12; ++i)
    EXPECT_EQ(steps[i], std::vector<RequestId>{RequestId{3}}) << "step " << i;
}

TEST(Scheduler, AnIdleSchedulerGivesEmptySteps) {
  SchedulerHarness h(4, {});
  EXPECT_TRUE(h.step().empty());
  h.scheduler.finish(RequestId{77});
  EXPECT_FALSE(h.scheduler.hasWork());
}

// Report: a prompt that was cached as a whole left nothing to compute.
TEST(Scheduler, ACachedPromptStillComputesItsLastToken) {
  for (int64_t length : {1, 3, 4, 5, 8}) {
    SchedulerHarness h(20, {.tokenBudget = 64});
    for (uint64_t id = 1; id <= 3; ++id) {
      ASSERT_TRUE(h.admit(id, length, 1, 0, 7).ok());
      Step step = h.step();
      ASSERT_EQ(step.items.size(), 1u);
      EXPECT_TRUE(step.items[0].sample);
      EXPECT_EQ(step.items[0].begin, id == 1 ? 0 : length - 1);
    }
    EXPECT_EQ(h.scheduler.stats().cachedPromptTokens, 2 * (length - 1));
  }
}

// What a prompt is copied from is not in its way: it finishes in the pool that admission found large enough.
TEST(Scheduler, APromptStartsWithoutAPageForTheCopy) {
  for (int32_t pages : {2, 3}) {
    SchedulerHarness h(pages, {.tokenBudget = 64});
    ASSERT_TRUE(h.admit(1, 6, 1, 0, 7).ok());
    h.drain();
    ASSERT_TRUE(h.admit(2, 8, 1, 0, 7).ok());
    h.drain(1);
    EXPECT_EQ(h.scheduler.stats().cachedPromptTokens, pages == 2 ? 4 : 6);
  }
}

TEST(Scheduler, SequencesOfOneStepShareWhatAnEarlierStepComputed) {
  SchedulerHarness h(100, {.tokenBudget = 16});
  ASSERT_TRUE(h.admit(1, 60, 1, 0, 7).ok());
  ASSERT_TRUE(h.admit(2, 60, 1, 0, 7).ok());
  h.drain();
  EXPECT_EQ(h.scheduler.stats().computedTokens, 60 + 1 + 4) << "its last token, and a page both compute in one step";
  EXPECT_EQ(h.scheduler.stats().cachedPromptTokens, 60 - 5);
}

TEST(Scheduler, CancelledInAnyStateGivesItsPagesBack) {
  SchedulerHarness h(20, {.tokenBudget = 8, .maxSequences = 2});
  for (uint64_t id = 1; id <= 3; ++id)
    ASSERT_TRUE(h.admit(id, 20, 10).ok());
  h.step();
  EXPECT_EQ(h.stateOf(1), RequestState::Running);
  EXPECT_EQ(h.stateOf(3), RequestState::Waiting);
  h.scheduler.finish(RequestId{3}); // In the queue.
  Step step = h.scheduler.next();
  h.scheduler.finish(RequestId{1}); // While a step computes its prompt.
  EXPECT_GT(h.kv.ledger().parked, 0);
  h.commit(step);
  EXPECT_EQ(h.kv.ledger().parked, 0);
  while (h.scheduler.view(RequestId{2}).generated < 3)
    h.step();
  h.scheduler.finish(RequestId{2}); // While it decodes.
  EXPECT_FALSE(h.scheduler.hasWork());
  EXPECT_EQ(h.kv.availableBlocks(), 20);
}

TEST(Scheduler, AStepOfAFinishedRequestLeavesItsSuccessorAlone) {
  SchedulerHarness h(20, {.tokenBudget = 8});
  ASSERT_TRUE(h.admit(1, 4, 5).ok());
  Step late = h.scheduler.next();
  h.scheduler.finish(RequestId{1});
  ASSERT_TRUE(h.admit(1, 4, 5).ok());
  Step step = h.scheduler.next();
  h.commit(late);
  EXPECT_EQ(h.scheduler.view(RequestId{1}).generated, 0);
  h.commit(step);
  EXPECT_EQ(h.scheduler.view(RequestId{1}).generated, 1);
  h.drain();
}

TEST(Scheduler, AFailedStepCanBeTriedAgain) {
  SchedulerHarness h(20, {.tokenBudget = 8});
  ASSERT_TRUE(h.admit(1, 12, 3).ok());
  h.step();
  Step failed = h.scheduler.next();
  h.scheduler.abandon(failed);
  Step again = h.step();
  EXPECT_EQ(again.items[0].begin, failed.items[0].begin);
  EXPECT_TRUE(again.items[0].sample);
  h.drain();
}

TEST(Scheduler, PlansAheadWithRequestsWhoseTokenIsKnown) {
  SchedulerHarness h(40, {.tokenBudget = 8});
  ASSERT_TRUE(h.admit(1, 4, 3).ok());
  ASSERT_TRUE(h.admit(2, 24, 3).ok());
  Step first = h.scheduler.next(), second = h.scheduler.next();
  EXPECT_TRUE(itemOf(first, 1)->sample);
  EXPECT_EQ(itemOf(second, 1), nullptr) << "its next token is not known";
  EXPECT_EQ(itemOf(second, 2)->begin, itemOf(first, 2)->end());
  h.commit(first);
  h.commit(second);
  h.drain();
}

struct ForkTest : testing::Test {
  SchedulerHarness h{20, {.tokenBudget = 16, .maxSequences = 3}};
  void SetUp() override {
    ASSERT_TRUE(h.admit(1, 6, 3).ok());
    h.step();
  }
};

TEST_F(ForkTest, ChoicesShareThePagesOfThePrompt) {
  ASSERT_TRUE(h.scheduler.fork(RequestId{1}, RequestId{2}, 50).ok());
  ASSERT_TRUE(h.scheduler.fork(RequestId{1}, RequestId{3}, 51).ok());
  EXPECT_EQ(h.kv.ledger().live, 2);
  Step step = h.step();
  ASSERT_EQ(step.items.size(), 3u);
  EXPECT_EQ(step.copies.size(), 2u) << "of the partly filled page, for all but one";
  EXPECT_EQ(itemOf(step, 2)->tokens[0], 50);
  EXPECT_EQ(itemOf(step, 3)->tokens[0], 51);
  EXPECT_EQ(itemOf(step, 3)->begin, 6);
  EXPECT_EQ(h.kv.ledger().live, 4);
  h.scheduler.finish(RequestId{1});
  h.drain();
}

TEST_F(ForkTest, CopiesOfAFailedStepAreDoneWithTheNext) {
  ASSERT_TRUE(h.scheduler.fork(RequestId{1}, RequestId{2}, 50).ok());
  Step failed = h.scheduler.next();
  ASSERT_EQ(failed.copies.size(), 1u);
  h.scheduler.abandon(failed);
  EXPECT_EQ(h.step().copies, failed.copies);
  EXPECT_TRUE(h.step().copies.empty());
}

TEST_F(ForkTest, AChoiceWithoutASlotWaitsAndFindsThePromptCached) {
  for (uint64_t id = 2; id <= 4; ++id)
    ASSERT_TRUE(h.scheduler.fork(RequestId{1}, RequestId{id}, 50).ok());
  EXPECT_EQ(h.stateOf(4), RequestState::Waiting);
  ASSERT_TRUE(h.admit(5, 4, 2).ok());
  Step step = h.step();
  while (!itemOf(step, 4))
    step = h.step();
  EXPECT_EQ(itemOf(step, 4)->begin, 6) << "the prompt is cached";
  EXPECT_LT(itemOf(step, 4), itemOf(step, 5)) << "which came later";
  EXPECT_EQ(h.scheduler.stats().promptTokens, 6 + 4) << "a prompt counts once";
  h.drain();
}

TEST_F(ForkTest, RefusesWhatCannotBeForked) {
  EXPECT_EQ(h.scheduler.fork(RequestId{9}, RequestId{2}, 5).code(), ErrorCode::NotFound);
  EXPECT_EQ(h.scheduler.fork(RequestId{1}, RequestId{1}, 5).code(), ErrorCode::InvalidArgument);
  ASSERT_TRUE(h.admit(2, 6, 3).ok());
  EXPECT_EQ(h.scheduler.fork(RequestId{2}, RequestId{3}, 5).message(),
            "fork: expected a request with a token and in no step, found one with 0 tokens in 0 steps");
  Step step = h.scheduler.next();
  EXPECT_EQ(h.scheduler.fork(RequestId{1}, RequestId{3}, 5).code(), ErrorCode::InvalidArgument);
  h.commit(step);
  h.drain();
}

TEST(Scheduler, ChoicesOfOneTokenAreCompleteAtOnce) {
  SchedulerHarness h(20, {});
  ASSERT_TRUE(h.admit(1, 6, 1).ok());
  Step step = h.scheduler.next();
  TokenId token = 9;
  h.scheduler.commit(step, {&token, 1});
  EXPECT_EQ(h.stateOf(1), RequestState::Complete);
  ASSERT_TRUE(h.scheduler.fork(RequestId{1}, RequestId{2}, 5).ok());
  EXPECT_EQ(h.stateOf(2), RequestState::Complete);
  EXPECT_FALSE(h.scheduler.hasWork());
}

TEST(Scheduler, PromptLogitsComeOnceForEachRowUnderTheRowLimit) {
  SchedulerHarness h(40, {.tokenBudget = 16, .maxSequences = 4, .maxOutputRows = 6});
  ASSERT_TRUE(h.admit(1, 21, 1, 0, 7).ok());
  h.drain(); // Now the prompt is cached.
  ScheduledRequest request;
  request.id = RequestId{2};
  request.prompt = test::prompt(21, 7);
  request.maxTokens = 2;
  request.wantsPromptLogits = true;
  ASSERT_TRUE(h.scheduler.admit(request).ok());
  ASSERT_TRUE(h.admit(3, 5, 5).ok());
  int64_t rows = 0;
  while (h.scheduler.hasWork()) {
    Step step = h.step();
    EXPECT_LE(step.summary.outputRows, 6);
    if (const Step::Item *item = itemOf(step, 2); item && item->allRows) {
      EXPECT_EQ(item->begin, rows) << "computed although cached";
      rows = item->end();
    }
  }
  EXPECT_EQ(rows, 21);
}

TEST(Scheduler, APromptAloneCanBeComputed) {
  SchedulerHarness h(20, {.tokenBudget = 8});
  ASSERT_TRUE(h.admit(1, 12, 0).ok());
  h.step();
  Step last = h.step();
  EXPECT_FALSE(last.items[0].sample);
  EXPECT_FALSE(h.scheduler.hasWork());
}

} // namespace
