//===- SchedulerPropertyTest.cpp - random loads on a fake device ----------------===//
//
// Random options, policies, arrivals, forks, cancellations, failed steps, steps
// in flight and steps prepared meanwhile, on pools of a few pages. Every request that is not cancelled
// must give exactly the tokens it gives alone, and every page must come back.
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/sched/FakeDevice.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <random>
#include <set>

using namespace fusec;
using namespace fusec::runtime;
using test::FakeDevice;

namespace {

CacheScope scopeOf(RequestId id) { return CacheScope{static_cast<uint64_t>(id) % 2}; }

/// Which choice of its parent's prompt a request is: 0 = the first.
int choiceOf(RequestId id) { return static_cast<int>(static_cast<uint64_t>(id) / 2 % 4); }
RequestId requestId(uint64_t number, int choice, CacheScope scope) {
  return RequestId{number * 8 + static_cast<uint64_t>(choice) * 2 + static_cast<uint64_t>(scope)};
}

struct Load {
  explicit Load(uint32_t seed)
      : random(seed), kv(kvOptions()), scheduler(kv, options()), device(kv.totalBlocks(), kv.pageTokens()) {}

  int pick(int bound) { return static_cast<int>(random() % static_cast<uint32_t>(bound)); }

  KvManager::Options kvOptions() {
    return {.totalBlocks = 3 + pick(30), .pageTokens = 1 + pick(6), .prefixCache = pick(5) != 0};
  }
  SchedulerOptions options() {
    return {.tokenBudget = 1 + pick(24),
            .maxSequences = 1 + pick(8),
            .maxOutputRows = pick(2) * (1 + pick(8)),
            .contextTokens = 64,
            .policy = policyTable()[pick(3)].policy,
            .maxPassed = pick(6),
            .reserveBlocks = pick(3)};
  }

  struct Client {
    ScheduledRequest request;
    int choices = 1; ///< Forked from this one after its first token.
    std::vector<TokenId> answer;
    std::vector<int> promptRows; ///< How often each row's logits were given.
    bool done = false, cancelled = false;
  };

  /// A request that starts to wait must be started before so many others were.
  void expectStart(RequestId id) {
    int64_t ahead = scheduler.stats().waiting;
    startBefore[id] = starts + 2 * ahead + scheduler.options().maxPassed + 1 + scheduler.options().maxSequences;
  }
  void checkWaiting(const Step &step);
  void arrive();
  void cancelSome();
  void plan();
  void finishFirstStep();
  void takeTokens(const Step &step, const std::vector<uint64_t> &hashes);
  void forkChoices(RequestId id, uint64_t hash);
  TokenId draw(RequestId id, uint64_t hash);
  void end(RequestId id) {
    clients[id].done = true;
    scheduler.finish(id);
  }
  void checkAnswers();
  void run(int requests);

  std::mt19937 random;
  KvManager kv;
  Scheduler scheduler;
  FakeDevice device;
  std::map<RequestId, Client> clients;
  std::deque<std::pair<Step, FakeDevice::Launch>> inFlight;
  std::vector<TokenId> lastPrompt{1};
  uint64_t lastNumber = 0;
  bool calm = false; ///< No cancellations, no forks, no failures: waiting is bounded by arrivals alone.
  std::map<RequestId, int64_t> startBefore;
  int64_t starts = 0;
  int refused = 0;
};

void Load::arrive() {
  ScheduledRequest request;
  request.scope = CacheScope{static_cast<uint64_t>(pick(4) == 0)};
  request.id = requestId(++lastNumber, 0, request.scope);
  request.prompt.assign(lastPrompt.begin(), lastPrompt.begin() + pick(static_cast<int>(lastPrompt.size()) + 1));
  for (int i = pick(20) + (request.prompt.empty() ? 1 : 0); i-- > 0;)
    request.prompt.push_back(pick(3));
  request.maxTokens = pick(8) == 0 ? pick(2) : 1 + pick(30);
  request.priority = pick(3);
  request.usePrefix = pick(6) != 0;
  request.wantsPromptLogits = pick(5) == 0;
  lastPrompt = request.prompt;
  expectStart(request.id);
  if (!scheduler.admit(request).ok()) {
    startBefore.erase(request.id);
    ++refused;
    return;
  }
  Client client;
  client.request = request;
  client.choices = request.maxTokens > 0 && pick(5) == 0 && !calm ? 1 + pick(4) : 1;
  client.promptRows.assign(request.prompt.size(), 0);
  clients[request.id] = std::move(client);
}

void Load::cancelSome() {
  for (auto &[id, client] : clients)
    if (!client.done && pick(40) == 0) {
      client.cancelled = true;
      end(id);
    }
}

void Load::checkWaiting(const Step &step) {
  for (auto waiting = startBefore.begin(); waiting != startBefore.end();) {
    bool started = scheduler.view(waiting->first).state != RequestState::Waiting;
    starts += started;
    waiting = started ? startBefore.erase(waiting) : std::next(waiting);
  }
  for (RequestId id : step.preempted)
    expectStart(id);
  for (auto [id, before] : startBefore)
    ASSERT_LE(starts, before) << "request " << static_cast<uint64_t>(id) << " is passed too often";
}

void Load::plan() {
  Step step = scheduler.next();
  if (calm)
    checkWaiting(step);
  if (step.empty())
    return;
  const SchedulerOptions &options = scheduler.options();
  ASSERT_LE(step.tokens, options.tokenBudget);
  ASSERT_LE(step.summary.outputRows, options.maxOutputRows);
  ASSERT_LE(step.summary.sequences, options.maxSequences);
  ASSERT_TRUE(step.summary.ledger.balance().ok());
  FakeDevice::Launch launch = FakeDevice::launch(step, kv);
  inFlight.emplace_back(std::move(step), std::move(launch));
}

/// The other choices of a prompt, from the same row.
void Load::forkChoices(RequestId id, uint64_t hash) {
  const Client parent = clients[id];
  for (int n = 1; n < parent.choices; ++n) {
    RequestId child{static_cast<uint64_t>(id) + 2 * static_cast<uint64_t>(n)};
    Client copy;
    copy.request = parent.request;
    copy.answer = {FakeDevice::draw(hash, n)};
    copy.promptRows.assign(parent.request.prompt.size(), parent.request.wantsPromptLogits);
    ASSERT_TRUE(scheduler.fork(id, child, copy.answer[0]).ok());
    clients[child] = std::move(copy);
  }
}

TokenId Load::draw(RequestId id, uint64_t hash) {
  return FakeDevice::draw(hash, clients[id].answer.empty() ? choiceOf(id) : 0);
}

void Load::takeTokens(const Step &step, const std::vector<uint64_t> &hashes) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < step.items.size(); ++i)
    tokens.push_back(draw(step.items[i].request, hashes[i]));
  scheduler.commit(step, tokens);
  for (size_t i = 0; i < step.items.size(); ++i) {
    const Step::Item &item = step.items[i];
    Client &client = clients[item.request];
    if (client.done)
      continue;
    if (item.allRows)
      for (int64_t row = item.begin; row < item.end(); ++row)
        ++client.promptRows[row];
    if (item.sample)
      client.answer.push_back(tokens[i]);
    if (item.sample && client.answer.size() == 1)
      forkChoices(item.request, hashes[i]);
  }
  for (auto &[id, client] : clients)
    if (!client.done && scheduler.view(id).state == RequestState::Complete)
      end(id);
}

void Load::finishFirstStep() {
  if (inFlight.empty())
    return;
  if (!calm &&
      pick(30) == 0) { // A failed step: it and all after it count as not run, whether they have written or not.
    bool written = pick(2);
    for (auto &[step, launch] : inFlight) {
      if (written)
        device.run(step, launch, scopeOf);
      scheduler.abandon(step);
    }
    inFlight.clear();
    return;
  }
  auto [step, launch] = std::move(inFlight.front());
  inFlight.pop_front();
  std::vector<uint64_t> hashes = device.run(step, launch, scopeOf);
  takeTokens(step, hashes);
}

/// What a request gives when nothing else runs.
std::vector<TokenId> aloneAnswer(const ScheduledRequest &request, RequestId id) {
  std::vector<TokenId> tokens = request.prompt, answer;
  while (static_cast<int64_t>(answer.size()) < request.maxTokens) {
    TokenId token = FakeDevice::draw(FakeDevice::contextHash(request.scope, tokens), answer.empty() ? choiceOf(id) : 0);
    answer.push_back(token);
    tokens.push_back(token);
  }
  return answer;
}

void Load::checkAnswers() {
  for (const auto &[id, client] : clients) {
    ASSERT_TRUE(client.done);
    if (client.cancelled)
      continue;
    ASSERT_EQ(client.answer, aloneAnswer(client.request, id));
    for (int times : client.promptRows)
      ASSERT_EQ(times, client.request.wantsPromptLogits ? 1 : 0);
  }
  ASSERT_TRUE(kv.check().ok()) << kv.check().message();
  ASSERT_EQ(kv.numSequences(), 0u);
  kv.flush();
  ASSERT_EQ(kv.ledger().free + 1, kv.totalBlocks()) << "pages are lost";
}

void Load::run(int requests) {
  int rate = 1 + pick(6), cancels = pick(3) == 0 && !calm, depth = 1 + pick(2), prepares = pick(3);
  for (int round = 0; scheduler.hasWork() || requests > 0 || !inFlight.empty(); ++round) {
    ASSERT_LT(round, 200000) << "no progress";
    for (; requests > 0 && pick(rate) == 0; --requests)
      arrive();
    if (cancels)
      cancelSome();
    plan();
    if (testing::Test::HasFatalFailure())
      return;
    ASSERT_FALSE(inFlight.empty() && scheduler.hasWork()) << "requests wait and nothing runs";
    for (int times = pick(prepares + 1); times > 0; --times)
      scheduler.prepare();
    ASSERT_TRUE(kv.check().ok()) << kv.check().message();
    if (static_cast<int>(inFlight.size()) >= depth || pick(2))
      finishFirstStep();
    ASSERT_FALSE(testing::Test::HasFatalFailure());
  }
  checkAnswers();
}

TEST(SchedulerProperty, EveryRequestGivesWhatItGivesAlone) {
  int rounds = std::getenv("FUSEC_FULL") ? 3000 : 300;
  int64_t admitted = 0, preemptions = 0, cached = 0, forked = 0, recomputed = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    Load load(static_cast<uint32_t>(seed));
    load.run(30);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
    SchedulerStats stats = load.scheduler.stats();
    admitted += stats.admitted;
    preemptions += stats.preemptions;
    cached += stats.cachedPromptTokens;
    forked += stats.forked;
    recomputed += stats.recomputedTokens;
  }
  std::printf("%lld requests, %lld forked, %lld preemptions, %lld prompt tokens cached, %lld tokens recomputed\n",
              static_cast<long long>(admitted), static_cast<long long>(forked), static_cast<long long>(preemptions),
              static_cast<long long>(cached), static_cast<long long>(recomputed));
  // The loads must reach what they are there for.
  EXPECT_GT(admitted, rounds * 15);
  EXPECT_GT(preemptions, rounds / 4);
  EXPECT_GT(cached, rounds * 5);
  EXPECT_GT(forked, rounds);
  EXPECT_GT(recomputed, rounds);
}

TEST(SchedulerProperty, WaitingIsBoundedUnderEveryPolicy) {
  int rounds = std::getenv("FUSEC_FULL") ? 2000 : 200;
  for (int seed = 0; seed < rounds; ++seed) {
    Load load(static_cast<uint32_t>(1000000 + seed));
    load.calm = true;
    load.run(60);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed;
  }
}

} // namespace
