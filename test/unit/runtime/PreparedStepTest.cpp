//===- PreparedStepTest.cpp - what happens to requests of a prepared step --------===//
//
// Everything here happens while a step runs and the one behind it is prepared.
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/LoopHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

TEST(PreparedStep, CancelledRequestsAreNotInTheNext) {
  LoopHarness engine;
  ASSERT_TRUE(engine.open().ok());
  auto stays = engine.add(0, 6);
  auto leaves = engine.add(4, 6);
  const RequestId id = engine.lastId;
  engine.loop->step();
  engine.executor->whileRunning = [&] { engine.loop->cancel(id); };
  engine.loop->step();
  engine.executor->whileRunning = {};
  EXPECT_EQ(engine.scheduler.stats().running, 1);
  engine.loop->step();
  EXPECT_EQ(engine.monitor.snapshot().recent.back().sequences, 1);
  engine.runToEnd();
  EXPECT_EQ(leaves->outcome->choices[0].reason, FinishReason::Cancelled);
  EXPECT_EQ(leaves->outcome->choices[0].text, "f");
  EXPECT_EQ(stays->outcome->choices[0].text, "bcdefg");
  engine.expectEmptyPool();
}

TEST(PreparedStep, AStopStringEndsTheText) {
  LoopHarness engine;
  ASSERT_TRUE(engine.open().ok());
  Request request = greedyRequest({0}, 10);
  request.stopStrings = {"de"};
  auto stopped = engine.add(request);
  auto other = engine.add(1, 8);
  for (int i = 0; i < 4; ++i)
    engine.loop->step(); // b c d e
  EXPECT_EQ(engine.scheduler.stats().running, 1);
  const int32_t live = engine.kv.ledger().live;
  engine.loop->step();
  EXPECT_EQ(engine.monitor.snapshot().recent.back().sequences, 1);
  EXPECT_EQ(engine.monitor.snapshot().recent.back().pool.live, live);
  engine.runToEnd();
  EXPECT_EQ(stopped->outcome->choices[0].text, "bc");
  EXPECT_EQ(stopped->outcome->choices[0].ids, (std::vector<TokenId>{1, 2, 3, 4}));
  EXPECT_EQ(other->outcome->choices[0].text, "cdefghij");
  engine.expectEmptyPool();
}

TEST(PreparedStep, TextsPart) {
  LoopHarness engine;
  ASSERT_TRUE(engine.open().ok());
  Request request = greedyRequest({0, 1, 2}, 6);
  request.n = 3;
  auto texts = engine.add(request);
  auto other = engine.add(1, 8);
  engine.runToEnd();
  ASSERT_EQ(texts->outcome->choices.size(), 3u);
  for (const Generation &text : texts->outcome->choices)
    EXPECT_EQ(text.text, "defghi");
  EXPECT_EQ(other->outcome->choices[0].text, "cdefghij");
  engine.expectEmptyPool();
}

TEST(PreparedStep, APoolThatIsTooSmallPreempts) {
  LoopHarness engine(1 + 5);
  ASSERT_TRUE(engine.open().ok());
  std::vector<std::shared_ptr<RequestRecorder>> all;
  for (TokenId first : {0, 1, 2})
    all.push_back(engine.add(greedyRequest({first}, 14, true)));
  engine.runToEnd();
  EXPECT_GT(engine.scheduler.stats().preemptions, 0);
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i]->outcome->status.ok());
    for (size_t k = 0; k < 14; ++k)
      EXPECT_EQ(all[i]->outcome->choices[0].ids[k], static_cast<TokenId>((i + k + 1) % 16));
  }
  engine.expectEmptyPool();
}

TEST(PreparedStep, AStepThatFailsTakesNobodyElseWithIt) {
  LoopHarness engine;
  ASSERT_TRUE(engine.open().ok());
  auto victim = engine.add(0, 6);
  engine.loop->step();
  std::shared_ptr<RequestRecorder> arrives;
  victim->onEvent = [&](const TokenEvent &) { // Told while the step runs that fails; then the next is prepared.
    if (!arrives)
      arrives = engine.add(4, 5);
  };
  engine.executor->failsAtEnd = true;
  engine.executor->whileRunning = [&] { EXPECT_EQ(engine.scheduler.stats().running, 2) << "both are in the next"; };
  engine.loop->step();
  engine.executor->failsAtEnd = false;
  engine.executor->whileRunning = {};
  EXPECT_EQ(engine.scheduler.stats().running, 1);
  engine.runToEnd();
  ASSERT_TRUE(victim->outcome && arrives && arrives->outcome);
  EXPECT_THAT(victim->outcome->status.message(), testing::HasSubstr("step 2: out of luck"));
  EXPECT_EQ(victim->outcome->choices[0].text, "b") << "what there was until then";
  EXPECT_TRUE(arrives->outcome->status.ok());
  EXPECT_EQ(arrives->outcome->choices[0].text, "fghij");
  engine.expectEmptyPool();
}

TEST(PreparedStep, TheGapIsTheHostsTimeBetweenSteps) {
  LoopHarness engine;
  ASSERT_TRUE(engine.open().ok());
  (void)engine.add(0, 3);
  const std::chrono::milliseconds pause(2);
  for (int i = 0; i < 3; ++i) {
    engine.loop->step();
    std::this_thread::sleep_for(pause);
  }
  (void)engine.add(0, 1);
  engine.runToEnd();
  const EngineStats stats = engine.monitor.snapshot();
  ASSERT_EQ(stats.recent.size(), 4u);
  EXPECT_EQ(stats.recent[0].gapSeconds, 0) << "there was no step before";
  for (size_t i : {1, 2})
    EXPECT_GE(stats.recent[i].gapSeconds, std::chrono::duration<double>(pause).count());
  EXPECT_EQ(stats.recent[3].gapSeconds, 0) << "the engine had no work";
  EXPECT_DOUBLE_EQ(stats.gapSeconds, stats.recent[1].gapSeconds + stats.recent[2].gapSeconds);
}
