//===- FairnessTest.cpp - admission, order, bounded waiting, preemption ----------===//

#include "test/unit/runtime/sched/SchedulerHarness.h"

#include <chrono>

using namespace fusec;
using namespace fusec::runtime;
using test::itemOf;
using test::SchedulerHarness;

namespace {

TEST(Admission, RefusesWithTheArithmeticWhatCouldNeverFinish) {
  SchedulerHarness h(10, {.contextTokens = 60}); // 10 pages of 4.
  EXPECT_TRUE(h.admit(1, 20, 21).ok()) << "the last token needs no page";
  Status pool = h.admit(2, 20, 22);
  EXPECT_EQ(pool.code(), ErrorCode::ResourceExhausted);
  EXPECT_EQ(pool.message(), "20 prompt + 22 new tokens need 11 KV pages of 4 tokens, the pool has 10: it could never "
                            "finish");
  Status context = h.admit(3, 50, 11);
  EXPECT_EQ(context.code(), ErrorCode::ResourceExhausted);
  EXPECT_EQ(context.message(), "50 prompt + 11 new tokens exceed the context of 60 tokens");
  EXPECT_EQ(h.admit(4, 5, INT64_MAX).code(), ErrorCode::ResourceExhausted);
  EXPECT_EQ(h.admit(5, 0, 1).message(), "prompt: expected at least 1 token, found 0");
  EXPECT_EQ(h.admit(6, 1, -1).message(), "max tokens: expected 0 or more, found -1");
  EXPECT_EQ(h.admit(1, 1, 1).message(), "request 1 is known already");
  h.drain();
}

TEST(Admission, WhatFillsThePoolFinishesBesideOthers) {
  SchedulerHarness h(10, {.tokenBudget = 8, .maxSequences = 4, .contextTokens = 100});
  for (uint64_t id = 1; id <= 6; ++id)
    ASSERT_TRUE(h.admit(id, 10, 31).ok()) << "each needs all ten pages at its end";
  h.drain(2000);
}

// Report: a long prompt stopped all decoding.
TEST(Fairness, DecodingGoesOnBesideALongPrompt) {
  SchedulerHarness h(400, {.tokenBudget = 32, .maxSequences = 16});
  for (uint64_t id = 1; id <= 10; ++id)
    ASSERT_TRUE(h.admit(id, 2, 100).ok());
  h.step();
  ASSERT_TRUE(h.admit(11, 400, 5).ok());
  int steps = 0;
  for (; h.scheduler.view(RequestId{11}).generated == 0; ++steps)
    for (uint64_t id = 1; const Step::Item &item : h.step().items)
      if (id <= 10) {
        EXPECT_EQ(item.request, RequestId{id++}) << "every stream gets a token in every step";
      }
  EXPECT_EQ(steps, (400 + 21) / 22);
}

TEST(Fairness, AShortPromptDoesNotWaitForALongOne) {
  SchedulerHarness h(400, {.tokenBudget = 32, .maxSequences = 16});
  ASSERT_TRUE(h.admit(1, 1000, 5).ok());
  h.step();
  ASSERT_TRUE(h.admit(2, 16, 5).ok());
  Step step = h.step();
  ASSERT_NE(itemOf(step, 2), nullptr);
  EXPECT_TRUE(itemOf(step, 2)->sample);
  EXPECT_EQ(itemOf(step, 1)->tokens.size(), 16u) << "half is the long one's";
}

// Report: one request that could not get pages stopped all behind it; the other way round, it must not starve.
TEST(Fairness, SmallRequestsPassABlockedLargeOneButNotForever) {
  SchedulerHarness h(20, {.tokenBudget = 32, .maxSequences = 8, .maxPassed = 10});
  uint64_t next = 100;
  auto arrive = [&] { ASSERT_TRUE(h.admit(next++, 4, 12).ok()); };
  for (int i = 0; i < 4; ++i)
    arrive();
  h.step();
  ASSERT_TRUE(h.admit(1, 70, 3).ok()); // 18 of 20 pages.
  int passed = 0;
  for (int i = 0; h.stateOf(1) == RequestState::Waiting; ++i) {
    ASSERT_LT(i, 200) << "the large one starves";
    arrive();
    int64_t before = h.scheduler.stats().running;
    passed += static_cast<int>(h.scheduler.stats().waiting > 1 && h.step().summary.running > before);
  }
  EXPECT_GT(passed, 3) << "small ones pass";
  h.drain();
}

TEST(Fairness, LowPriorityIsServedInTheEnd) {
  SchedulerHarness h(100, {.tokenBudget = 32, .maxSequences = 2, .policy = Policy::Priority, .maxPassed = 8});
  ASSERT_TRUE(h.admit(1, 4, 4, /*priority=*/5).ok());
  ASSERT_TRUE(h.admit(2, 4, 4, 0).ok());
  ASSERT_TRUE(h.admit(3, 4, 4, 0).ok());
  h.step();
  EXPECT_EQ(h.stateOf(1), RequestState::Waiting) << "the others go first";
  for (uint64_t id = 10; h.stateOf(1) == RequestState::Waiting; ++id) {
    ASSERT_LT(id, 100u) << "starves";
    ASSERT_TRUE(h.admit(id, 4, 4, 0).ok());
    h.step();
  }
}

TEST(Fairness, PrefixAwareTakesTheLongestCachedPrefixFirst) {
  SchedulerHarness h(100, {.tokenBudget = 64, .maxSequences = 1, .policy = Policy::PrefixAware});
  ASSERT_TRUE(h.admit(1, 40, 1, 0, 7).ok());
  h.step();
  ASSERT_TRUE(h.admit(2, 40, 1).ok());
  ASSERT_TRUE(h.admit(3, 20, 1, 0, 7).ok());
  ASSERT_TRUE(h.admit(4, 36, 1, 0, 7).ok());
  EXPECT_EQ(h.step().items[0].request, RequestId{4});
  EXPECT_EQ(h.step().items[0].request, RequestId{3});
  EXPECT_EQ(h.step().items[0].request, RequestId{2});
}

// Report: preempted requests came back incomplete, and thrashed.
TEST(Preemption, TakesTheYoungestAndLosesNothing) {
  SchedulerHarness h(8, {.tokenBudget = 32, .maxSequences = 2, .contextTokens = 100});
  ASSERT_TRUE(h.admit(1, 8, 20).ok());
  ASSERT_TRUE(h.admit(2, 8, 20).ok());
  std::map<RequestId, int> samples;
  std::vector<RequestId> preempted;
  while (h.scheduler.hasWork()) {
    Step step = h.step();
    preempted.insert(preempted.end(), step.preempted.begin(), step.preempted.end());
    for (const Step::Item &item : step.items)
      samples[item.request] += item.sample;
  }
  EXPECT_EQ(preempted, std::vector{RequestId{2}}) << "once: it does not come back before there is room";
  EXPECT_EQ(samples[RequestId{1}], 20);
  EXPECT_EQ(samples[RequestId{2}], 20);
  SchedulerStats stats = h.scheduler.stats();
  EXPECT_EQ(stats.promptTokens, 16) << "what is computed again is no new prompt";
  EXPECT_EQ(stats.cachedPromptTokens, 0);
  EXPECT_EQ(stats.computedTokens - stats.recomputedTokens, 2 * (8 + 19));
}

TEST(Preemption, SparesTheHigherPriority) {
  SchedulerHarness h(8, {.tokenBudget = 32, .maxSequences = 2, .contextTokens = 100, .policy = Policy::Priority});
  ASSERT_TRUE(h.admit(1, 8, 20, 3).ok());
  h.step();
  ASSERT_TRUE(h.admit(2, 8, 20, 1).ok());
  std::vector<RequestId> preempted;
  while (h.scheduler.hasWork()) {
    Step step = h.step();
    preempted.insert(preempted.end(), step.preempted.begin(), step.preempted.end());
  }
  EXPECT_EQ(preempted, std::vector{RequestId{1}});
}

// With a sanitizer or without optimisation only that it ends; the figure is in docs/serving/scheduler.md.
TEST(Scheduler, PlansAStepOf64SequencesQuickly) {
  SchedulerHarness h(64 * 40, {.tokenBudget = 256, .maxSequences = 64, .contextTokens = 4096}, 64);
  for (uint64_t id = 1; id <= 200; ++id)
    ASSERT_TRUE(h.admit(id, 1024, 512).ok());
  while (h.scheduler.stats().running < 64)
    h.step();
  while (h.step().summary.decodeRows < 60) {
  }
  double seconds = 0;
  constexpr int steps = 300;
  for (int i = 0; i < steps; ++i) {
    auto start = std::chrono::steady_clock::now();
    Step step = h.scheduler.next();
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    h.commit(step);
  }
  double microseconds = seconds / steps * 1e6;
  std::printf("%.1f us for a step of 64 sequences\n", microseconds);
  RecordProperty("microseconds", std::to_string(microseconds));
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(microseconds, 500) << "ten times what was measured: this machine may be busy";
#endif
}

} // namespace
