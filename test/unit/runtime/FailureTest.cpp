//===- FailureTest.cpp - a device that fails ---------------------------------------===//

#include "test/unit/runtime/LoopHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

TEST(Failure, AStepThatFailsEndsItsRequestsOnly) {
  LoopHarness engine;
  ASSERT_TRUE(engine.open().ok());
  std::vector<std::shared_ptr<RequestRecorder>> victims;
  for (TokenId first : {0, 1, 2, 3})
    victims.push_back(engine.add(first, 5));
  auto waiting = engine.add(4, 5); // The fifth of four that run at once.
  engine.loop->step();
  engine.executor->failsAtLaunch = true;
  engine.loop->step();
  engine.executor->failsAtLaunch = false;
  while (engine.loop->hasWork())
    engine.loop->step();
  for (auto &victim : victims) {
    EXPECT_EQ(victim->outcome->status.code(), ErrorCode::Internal);
    EXPECT_THAT(victim->outcome->status.message(), testing::HasSubstr("step 2: out of luck"));
    EXPECT_EQ(victim->outcome->choices[0].ids.size(), 1u) << "what there was until then";
    EXPECT_EQ(victim->outcome->choices[0].reason, FinishReason::Error);
  }
  EXPECT_TRUE(waiting->outcome->status.ok());
  EXPECT_EQ(waiting->outcome->choices[0].text, "fghij");
  EXPECT_TRUE(engine.loop->health().ok());
  EXPECT_EQ(engine.kv.ledger().live + engine.kv.ledger().parked, 0);
  EXPECT_TRUE(engine.kv.check().ok());
  EXPECT_EQ(engine.monitor.snapshot().counters[Counter::FailedSteps], 1);
  EXPECT_EQ(engine.monitor.snapshot().finished[static_cast<size_t>(FinishReason::Error)], 4);
}

TEST(Failure, ADeviceThatKeepsFailingIsTheEnd) {
  LoopHarness engine;
  ASSERT_TRUE(engine.open().ok());
  engine.executor->failsAtLaunch = true;
  std::vector<std::shared_ptr<RequestRecorder>> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(engine.add(0, 5));
  while (engine.loop->hasWork())
    engine.loop->step();
  for (auto &one : all)
    EXPECT_FALSE(one->outcome->status.ok());
  EXPECT_FALSE(engine.loop->health().ok());
  Request request;
  request.prompt = {1};
  EXPECT_EQ(engine.loop->add(engine.loop->newId(), request, std::make_shared<RequestRecorder>()).code(),
            ErrorCode::Unavailable);
  EXPECT_EQ(engine.kv.ledger().live, 0);
}
