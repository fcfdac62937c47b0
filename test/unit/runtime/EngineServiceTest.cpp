//===- EngineServiceTest.cpp - an engine between threads --------------------------===//

#include "runtime/engine/EngineService.h"
#include "test/unit/runtime/ToyEngine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <random>
#include <thread>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;
using namespace std::chrono_literals;

namespace {

/// Waits for a request from the test's thread.
class Waiter final : public RequestListener {
public:
  void onToken(const TokenEvent &) override {
    std::lock_guard lock(mutex);
    ++tokens;
    changed.notify_all();
  }
  void onDone(const RequestOutcome &done) override {
    std::lock_guard lock(mutex);
    EXPECT_FALSE(outcome) << "a second end";
    outcome = done;
    changed.notify_all();
  }
  RequestOutcome wait() {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, 20s, [&] { return outcome.has_value(); }));
    return outcome.value_or(RequestOutcome());
  }
  void waitForTokens(int count) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, 20s, [&] { return tokens >= count || outcome; }));
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  int tokens = 0;
  std::optional<RequestOutcome> outcome;
};

std::unique_ptr<EngineService> start(const ToyArtifact &files, ServiceOptions service = {},
                                     EngineOptions options = {.maxSequences = 4}) {
  auto started = EngineService::start(toyOptions(files, std::move(options)), service);
  EXPECT_TRUE(started) << started.status().message();
  return started ? std::move(*started) : nullptr;
}

Request greedy(std::vector<TokenId> prompt, int64_t maxTokens) {
  return greedyRequest(std::move(prompt), maxTokens, /*ignoreEos=*/true);
}

/// Processor seconds of this process.
double processorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

} // namespace

TEST(EngineService, ServesManyThreads) {
  ToyArtifact files;
  auto service = start(files);
  ASSERT_TRUE(service);
  std::vector<std::thread> clients;
  std::atomic<int> exact{0};
  for (int client = 0; client < 4; ++client)
    clients.emplace_back([&, client] {
      std::mt19937 random(static_cast<uint32_t>(client));
      for (int i = 0; i < 25; ++i) {
        auto waiter = std::make_shared<Waiter>();
        Result<RequestId> id = service->submit(greedy({static_cast<TokenId>(random() % 4)}, 6), waiter);
        ASSERT_TRUE(id) << id.status().message();
        const bool leaves = random() % 4 == 0;
        if (leaves)
          service->cancel(*id);
        const RequestOutcome outcome = waiter->wait();
        ASSERT_TRUE(outcome.status.ok());
        if (outcome.choices[0].reason != FinishReason::Cancelled) {
          EXPECT_EQ(outcome.choices[0].ids.size(), 6u);
          ++exact;
        }
      }
    });
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(service->health().status.ok());
    const EngineStats stats = service->stats();
    EXPECT_EQ(stats.pool.live + stats.pool.cached + stats.pool.parked + stats.pool.free + stats.pool.sink,
              stats.pool.total);
  }
  for (std::thread &client : clients)
    client.join();
  EXPECT_GE(exact, 50);
  EXPECT_TRUE(service->drain(20s).ok()); // The last listener may still be on its way back.
  const EngineStats stats = service->stats();
  EXPECT_FALSE(stats.hasWork);
  EXPECT_EQ(stats.pool.live, 0);
}

TEST(EngineService, RefusesAtOnce) {
  ToyArtifact files;
  auto service = start(files, {.maxRequests = 2});
  ASSERT_TRUE(service);
  EXPECT_EQ(service->submit(greedy({}, 1), std::make_shared<Waiter>()).status().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(service->submit(greedy(std::vector<TokenId>(64, 0), 1), std::make_shared<Waiter>()).status().code(),
            ErrorCode::InvalidArgument);
  // A listener that holds the engine's thread keeps both requests open.
  class Blocker final : public RequestListener {
  public:
    void onToken(const TokenEvent &) override { std::lock_guard wait(gate); }
    void onDone(const RequestOutcome &) override {}
    std::mutex gate;
  };
  auto blocker = std::make_shared<Blocker>();
  auto waiter = std::make_shared<Waiter>();
  {
    std::lock_guard hold(blocker->gate);
    ASSERT_TRUE(service->submit(greedy({0}, 5), blocker));
    ASSERT_TRUE(service->submit(greedy({0}, 5), waiter));
    Result<RequestId> third = service->submit(greedy({0}, 5), std::make_shared<Waiter>());
    ASSERT_FALSE(third);
    EXPECT_EQ(third.status().code(), ErrorCode::Unavailable);
    EXPECT_THAT(third.status().message(), testing::HasSubstr("too many requests: 2"));
    const EngineHealth health = service->health();
    EXPECT_TRUE(health.hasWork);
  }
  EXPECT_EQ(waiter->wait().choices[0].text, "bcdef");
}

TEST(EngineService, SleepsWhenIdle) {
  ToyArtifact files;
  auto service = start(files);
  ASSERT_TRUE(service);
  auto waiter = std::make_shared<Waiter>();
  ASSERT_TRUE(service->submit(greedy({0}, 5), waiter));
  waiter->wait();
  const uint64_t steps = service->health().steps;
  const double before = processorSeconds();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(processorSeconds() - before, 0.05) << "of 0.3 seconds";
  EXPECT_LE(service->health().steps, steps + 1);
  EXPECT_EQ(service->health().secondsSinceProgress, 0) << "idle is no lack of progress";
}

TEST(EngineService, CancelsInAnyState) {
  ToyArtifact files;
  auto service = start(files, {}, {.chunkTokens = 2, .maxSequences = 1});
  ASSERT_TRUE(service);
  auto running = std::make_shared<Waiter>(), queued = std::make_shared<Waiter>();
  Result<RequestId> first = service->submit(greedy({0, 1, 2, 3, 4}, -1), running);
  Result<RequestId> second = service->submit(greedy({0}, -1), queued);
  ASSERT_TRUE(first && second);
  service->cancel(*second);
  service->cancel(*first);
  service->cancel(RequestId{12345});
  EXPECT_EQ(queued->wait().choices[0].reason == FinishReason::Cancelled, true);
  running->wait();
  service->cancel(*first);
  auto after = std::make_shared<Waiter>();
  ASSERT_TRUE(service->submit(greedy({0}, 5), after));
  EXPECT_EQ(after->wait().choices[0].text, "bcdef");
}

TEST(EngineService, DrainsWhatItAccepted) {
  ToyArtifact files;
  auto service = start(files);
  ASSERT_TRUE(service);
  std::vector<std::shared_ptr<Waiter>> waiters;
  for (int i = 0; i < 20; ++i) {
    waiters.push_back(std::make_shared<Waiter>());
    ASSERT_TRUE(service->submit(greedy({0}, 40), waiters.back()));
  }
  EXPECT_TRUE(service->drain(20s).ok());
  for (auto &waiter : waiters)
    EXPECT_EQ(waiter->wait().choices[0].ids.size(), 40u);
  Result<RequestId> late = service->submit(greedy({0}, 5), std::make_shared<Waiter>());
  EXPECT_EQ(late.status().code(), ErrorCode::Unavailable);
  EXPECT_FALSE(service->health().accepting);
}

TEST(EngineService, DrainingHasADeadline) {
  ToyArtifact files;
  auto service = start(files, {.maxRequests = 5000}, {.maxSequences = 1});
  ASSERT_TRUE(service);
  std::vector<std::shared_ptr<Waiter>> waiters;
  for (int i = 0; i < 3000; ++i) {
    waiters.push_back(std::make_shared<Waiter>());
    ASSERT_TRUE(service->submit(greedy({0}, 60), waiters.back()));
  }
  Status drained = service->drain(1ms);
  EXPECT_EQ(drained.code(), ErrorCode::Cancelled);
  EXPECT_THAT(drained.message(), testing::HasSubstr("requests were cancelled"));
  for (auto &waiter : waiters)
    EXPECT_TRUE(waiter->wait().status.ok());
}

TEST(EngineService, StopsWithWorkLeft) {
  ToyArtifact files;
  auto waiter = std::make_shared<Waiter>();
  {
    auto service = start(files);
    ASSERT_TRUE(service);
    ASSERT_TRUE(service->submit(greedy({0}, -1), waiter));
    service->stop();
    service->stop();
    EXPECT_EQ(service->submit(greedy({0}, 1), waiter).status().code(), ErrorCode::Unavailable);
  }
  waiter->wait();
}

TEST(EngineService, KnowsWhatNeverChanges) {
  ToyArtifact files;
  auto service = start(files);
  ASSERT_TRUE(service);
  EXPECT_EQ(service->model().name, "toy");
  EXPECT_EQ(service->options().maxSequences, 4);
  EXPECT_EQ(service->chatTemplate(), nullptr);
  EXPECT_THAT(service->endIds(), testing::ElementsAre(toyEos));
  EXPECT_FALSE(service->memory().rows.empty());
}
