//===- SchedulerHarness.h - a scheduler, its pool, and steps without a device ----===//
#pragma once

#include "runtime/sched/Scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace fusec::runtime::test {

inline std::vector<TokenId> prompt(int64_t length, TokenId first) {
  std::vector<TokenId> tokens(length);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

class SchedulerHarness {
public:
  SchedulerHarness(int32_t pages, SchedulerOptions options, int64_t pageTokens = 4)
      : kv({.totalBlocks = pages + 1, .pageTokens = pageTokens}), scheduler(kv, options) {}
  ~SchedulerHarness() { EXPECT_TRUE(kv.check().ok()) << kv.check().message(); }

  /// A prompt of its own, unless `first` says where it starts.
  Status admit(uint64_t id, int64_t promptTokens, int64_t maxTokens, int priority = 0, TokenId first = -1) {
    ScheduledRequest request;
    request.id = RequestId{id};
    request.prompt = prompt(promptTokens, first >= 0 ? first : static_cast<TokenId>(id * 100000));
    request.maxTokens = maxTokens;
    request.priority = priority;
    return scheduler.admit(std::move(request));
  }

  /// Plans a step and commits it with made-up tokens; ends what is complete.
  Step step() {
    Step step = scheduler.next();
    commit(step);
    return step;
  }
  void commit(const Step &step) {
    std::vector<TokenId> tokens;
    for (const Step::Item &item : step.items)
      tokens.push_back(static_cast<TokenId>(item.end()));
    scheduler.commit(step, tokens);
    for (const RequestView &view : scheduler.views())
      if (view.state == RequestState::Complete)
        scheduler.finish(view.id);
  }
  /// Steps until nothing is left; how many.
  int drain(int most = 100000) {
    int steps = 0;
    for (; scheduler.hasWork() && steps < most; ++steps)
      EXPECT_FALSE(step().empty());
    EXPECT_FALSE(scheduler.hasWork());
    return steps;
  }
  RequestState stateOf(uint64_t id) const { return scheduler.view(RequestId{id}).state; }

  KvManager kv;
  Scheduler scheduler;
};

/// The item of a request, or null.
inline const Step::Item *itemOf(const Step &step, uint64_t id) {
  auto item = std::find_if(step.items.begin(), step.items.end(),
                           [&](const Step::Item &item) { return item.request == RequestId{id}; });
  return item == step.items.end() ? nullptr : &*item;
}

} // namespace fusec::runtime::test
