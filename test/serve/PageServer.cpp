//===- PageServer.cpp - a server with a fake engine, for the test of the page -------===//
//
//   page_server [--completion] [--key KEY]
//
// Prints its port and serves until its standard input ends. The engine answers
// with the user's own words, a character every few milliseconds, and shows
// made-up figures that move and balance.
//
//===----------------------------------------------------------------------===//
#include "serve/openai/Api.h"
#include "test/unit/serve/FakeBackend.h"

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace fusec;

static constexpr double stepSeconds = 0.04;

/// A pool of 161 pages at step `number`.
static runtime::Ledger poolAt(uint64_t number) {
  runtime::Ledger pool{.total = 161, .sink = 1, .pageTokens = 64};
  pool.live = 60 + static_cast<int32_t>(30 * std::sin(static_cast<double>(number) / 20));
  pool.cached = 30;
  pool.parked = 2;
  pool.free = pool.total - pool.sink - pool.live - pool.cached - pool.parked;
  pool.tail = 5 * pool.live;
  pool.reserved = 3 * pool.pageTokens;
  pool.held = pool.live * pool.pageTokens - pool.tail - pool.reserved;
  return pool;
}

static runtime::StepRecord stepAt(uint64_t number) {
  runtime::StepRecord step;
  step.number = number;
  step.at = static_cast<double>(number) * stepSeconds;
  step.sequences = 8 + static_cast<int32_t>(number / 10 % 8);
  step.prefillTokens = number % 7 == 0 ? 128 : number % 5 == 0 ? 40 : 0;
  step.tokens = step.rows = step.sequences + step.prefillTokens;
  step.executorSeconds = 0.01 + 0.0001 * step.tokens;
  step.seconds = step.executorSeconds * 1.05;
  step.preempted = number % 50 == 0;
  step.pool = poolAt(number);
  return step;
}

static void addFigures(runtime::EngineStats &stats, double now) {
  using runtime::Counter;
  const auto steps = static_cast<int64_t>(now / stepSeconds);
  stats.now = now;
  stats.waiting = 3;
  stats.running += 12;
  stats.stepSeconds = now;
  stats.executorSeconds = now * 0.97;
  stats.counters[Counter::Steps] = steps;
  stats.counters[Counter::GenerationTokens] = steps * 12;
  stats.counters[Counter::PromptTokens] = steps * 26;
  stats.counters[Counter::PrefixQueries] = 1000 + steps;
  stats.counters[Counter::PrefixHits] = 400;
  stats.counters[Counter::Preemptions] = steps / 50;
  for (int i = 1; i <= 100; ++i)
    stats.histograms.observe(runtime::Measure::TimeToFirstToken, 0.001 * i);
  for (int64_t number = std::max<int64_t>(1, steps - 100); number <= steps; ++number)
    stats.recent.push_back(stepAt(static_cast<uint64_t>(number)));
  stats.pool = poolAt(static_cast<uint64_t>(steps));
}

/// "You wrote: " and what the user wrote last, or the whole prompt where there is no conversation.
static std::string answerTo(const std::string &prompt) {
  const size_t end = prompt.find("<|im_end|>", prompt.rfind("<|im_start|>user"));
  const size_t begin = end == std::string::npos ? 0 : prompt.rfind('\n', end) + 1;
  std::string text = "You wrote: " + prompt.substr(begin, end == std::string::npos ? end : end - begin);
  return text.ends_with("on and on") ? text + std::string(1000, '.') : text; // Long enough to be stopped.
}

int main(int argc, char **argv) {
  serve::test::FakeBackend backend;
  serve::ApiOptions options{.version = "test"};
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--completion"))
      backend.hasTemplate = false;
    else if (!std::strcmp(argv[i], "--key") && i + 1 < argc)
      options.apiKeys.emplace_back(argv[++i]);
  }
  backend.tokenMilliseconds = 10;
  backend.answer = answerTo;
  const auto begin = std::chrono::steady_clock::now();
  backend.figures = [begin](runtime::EngineStats &stats) {
    addFigures(stats, 10 + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  };
  auto server = serve::http::Server::bind({});
  if (!server.ok()) {
    std::fprintf(stderr, "page_server: %s\n", server.status().message().c_str());
    return 1;
  }
  serve::Api api(backend, **server, options, {});
  (*server)->run([&](std::shared_ptr<serve::http::Exchange> exchange) { api.handle(std::move(exchange)); });
  std::printf("%d\n", (*server)->port());
  std::fflush(stdout);
  while (std::getchar() != EOF)
    ;
  api.drain(std::chrono::seconds(1));
  (*server)->stop(std::chrono::milliseconds(0));
  return 0;
}
