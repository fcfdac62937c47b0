//===- CapiSharedTest.cpp - the C interface between threads and engines ----------===//

#include "test/unit/capi/CapiFixture.h"

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

namespace fusec::capi::test {

namespace {

/// Holds the engine's thread in a callback until it is opened.
class Gate {
public:
  void open() { opened.count_down(); }
  void awaitReached() { reached.wait(false); }
  fusec_request_options hold(fusec_request_options options) {
    options.user = this;
    options.on_token = [](void *user, fusec_request *, const fusec_event *) {
      auto &gate = *static_cast<Gate *>(user);
      gate.reached = true;
      gate.reached.notify_all();
      gate.opened.wait();
      return int32_t(0);
    };
    return options;
  }

private:
  std::atomic<bool> reached{false};
  std::latch opened{1};
};

} // namespace

TEST(CapiShared, TwoEnginesAtOnce) {
  ToyArtifact successor, checksum(ToyRule::Checksum);
  EnginePointer first = load(successor), second = load(checksum);
  std::vector<RequestPointer> ofFirst, ofSecond;
  for (int i = 0; i < 10; ++i) {
    ofFirst.push_back(submit(first, greedy(10)));
    ofSecond.push_back(submit(second, greedy(10)));
  }
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(fusec_request_wait(ofFirst[i].get(), patience), FUSEC_OK);
    ASSERT_EQ(fusec_request_wait(ofSecond[i].get(), patience), FUSEC_OK);
    EXPECT_STREQ(choiceOf(ofFirst[i]).text, "bcdefghijk");
    EXPECT_STREQ(choiceOf(ofSecond[i]).text, choiceOf(ofSecond[0]).text);
  }
  EXPECT_STRNE(choiceOf(ofSecond[0]).text, "bcdefghijk");
  first.reset();
  EXPECT_STREQ(choiceOf(ofFirst[0]).text, "bcdefghijk") << "a request keeps its result without the engine";
  RequestPointer later = submit(second, greedy(10));
  EXPECT_EQ(fusec_request_wait(later.get(), patience), FUSEC_OK) << "engines are independent";
}

TEST(CapiShared, PollsHaveATime) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  Gate gate;
  RequestPointer holder = submit(engine, gate.hold(greedy(2)));
  gate.awaitReached();
  RequestPointer waiting = submit(engine, greedy(3));
  auto event = sized<fusec_event>();
  auto result = sized<fusec_result>();
  auto choice = sized<fusec_choice>();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(fusec_request_next(waiting.get(), 0, &event), FUSEC_TIMEOUT);
  EXPECT_EQ(fusec_request_next(waiting.get(), 20, &event), FUSEC_TIMEOUT);
  EXPECT_EQ(fusec_request_wait(waiting.get(), 20), FUSEC_TIMEOUT);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(40));
  EXPECT_EQ(fusec_request_result(waiting.get(), &result), FUSEC_UNAVAILABLE);
  EXPECT_EQ(fusec_request_choice(waiting.get(), 0, &choice), FUSEC_UNAVAILABLE);
  EXPECT_STREQ(fusec_last_error(), "the request has not ended");
  gate.open();
  EXPECT_EQ(fusec_request_next(waiting.get(), -1, &event), FUSEC_OK);
  EXPECT_EQ(event.id, 1);
  EXPECT_EQ(fusec_request_wait(waiting.get(), INT64_MAX), FUSEC_OK);
  EXPECT_EQ(fusec_request_wait(holder.get(), INT64_MIN), FUSEC_OK);
}

TEST(CapiShared, CancelsFromAnotherThread) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  Gate gate;
  RequestPointer running = submit(engine, gate.hold(greedy(-1)));
  gate.awaitReached();
  RequestPointer queued = submit(engine, greedy(-1));
  std::thread([&] {
    EXPECT_EQ(fusec_request_cancel(running.get()), FUSEC_OK);
    EXPECT_EQ(fusec_request_cancel(queued.get()), FUSEC_OK);
    gate.open();
  }).join();
  for (const RequestPointer *request : {&running, &queued}) {
    EXPECT_EQ(fusec_request_wait(request->get(), patience), FUSEC_OK);
    EXPECT_EQ(choiceOf(*request).finish_reason, FUSEC_FINISH_CANCELLED);
    EXPECT_EQ(fusec_request_cancel(request->get()), FUSEC_OK) << "again";
  }
  EXPECT_EQ(choiceOf(queued).id_count, 0u);
}

TEST(CapiShared, CallbacksMustNotWait) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  struct Seen {
    fusec_engine *engine;
    std::vector<fusec_status> statuses;
    fusec_status stats = FUSEC_INTERNAL, submitted = FUSEC_INTERNAL;
    fusec_request *next = nullptr;
  } seen{engine.get(), {}};
  fusec_request_options options = greedy(1);
  options.user = &seen;
  options.on_done = [](void *user, fusec_request *request) {
    auto &seen = *static_cast<Seen *>(user);
    auto event = sized<fusec_event>();
    auto stats = sized<fusec_stats>();
    auto result = sized<fusec_result>();
    seen.statuses = {fusec_engine_free(seen.engine), fusec_engine_drain(seen.engine, 0), fusec_request_wait(request, 1),
                     fusec_request_next(request, -1, &event)};
    EXPECT_THAT(fusec_last_error(), HasSubstr("a callback must not wait"));
    EXPECT_EQ(fusec_request_result(request, &result), FUSEC_OK) << "the result is there";
    seen.stats = fusec_engine_stats(seen.engine, &stats);
    seen.submitted = fusec_engine_submit_text(seen.engine, "b", 1, nullptr, &seen.next);
  };
  RequestPointer request = submit(engine, options);
  ASSERT_EQ(fusec_request_wait(request.get(), patience), FUSEC_OK);
  EXPECT_THAT(seen.statuses, testing::Each(FUSEC_INVALID_ARGUMENT));
  EXPECT_EQ(seen.stats, FUSEC_OK);
  ASSERT_EQ(seen.submitted, FUSEC_OK);
  EXPECT_EQ(fusec_request_wait(seen.next, patience), FUSEC_OK);
  fusec_request_free(seen.next);
}

TEST(CapiShared, NoCallbackAfterFree) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> freed{false};
    fusec_request_options options = greedy(-1);
    options.user = &freed;
    options.on_token = [](void *user, fusec_request *, const fusec_event *) {
      EXPECT_FALSE(*static_cast<std::atomic<bool> *>(user));
      return int32_t(0);
    };
    RequestPointer request = submit(engine, options);
    if (i % 2)
      std::this_thread::yield();
    request.reset();
    freed = true;
  }
  EXPECT_EQ(fusec_engine_drain(engine.get(), patience), FUSEC_OK);
}

TEST(CapiShared, ARequestMayBeFreedInItsCallbacks) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  std::atomic<int> tokens{0}, ends{0};
  struct Counts {
    std::atomic<int> *tokens, *ends;
  } counts{&tokens, &ends};
  fusec_request_options options = greedy(20);
  options.user = &counts;
  options.on_done = [](void *user, fusec_request *request) {
    ++*static_cast<Counts *>(user)->ends;
    fusec_request_free(request);
  };
  (void)submit(engine, options).release();
  options.on_token = [](void *user, fusec_request *request, const fusec_event *) {
    ++*static_cast<Counts *>(user)->tokens;
    fusec_request_free(request);
    return int32_t(0);
  };
  (void)submit(engine, options).release();
  EXPECT_EQ(fusec_engine_drain(engine.get(), patience), FUSEC_OK);
  EXPECT_EQ(tokens, 1);
  EXPECT_EQ(ends, 1) << "that of the first";
}

TEST(CapiShared, FreeingAnEngineEndsItsRequests) {
  ToyArtifact files;
  EnginePointer engine = load(files);
  Gate gate;
  RequestPointer holder = submit(engine, gate.hold(greedy(-1)));
  gate.awaitReached();
  RequestPointer waiting = submit(engine, greedy(-1));
  std::thread poller([&] {
    auto event = sized<fusec_event>();
    while (fusec_request_next(waiting.get(), patience, &event) == FUSEC_OK) {
    }
    EXPECT_EQ(choiceOf(waiting).finish_reason, FUSEC_FINISH_CANCELLED);
  });
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  engine.reset();
  opener.join();
  poller.join();
  EXPECT_EQ(fusec_request_wait(holder.get(), 0), FUSEC_OK);
  EXPECT_EQ(choiceOf(holder).finish_reason, FUSEC_FINISH_CANCELLED);
}

TEST(CapiShared, AFullQueueIsRefused) {
  ToyArtifact files;
  fusec_engine_options options = engineOptions();
  options.max_requests = 1;
  EnginePointer engine = load(files, options);
  Gate gate;
  RequestPointer holder = submit(engine, gate.hold(greedy(2)));
  fusec_request *refused = nullptr;
  const fusec_request_options small = greedy(1);
  EXPECT_EQ(fusec_engine_submit_text(engine.get(), "a", 1, &small, &refused), FUSEC_UNAVAILABLE);
  EXPECT_THAT(fusec_last_error(), HasSubstr("too many requests: 1"));
  gate.open();
  EXPECT_EQ(fusec_request_wait(holder.get(), patience), FUSEC_OK);
}

} // namespace fusec::capi::test
