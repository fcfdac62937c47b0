//===- LoadTest.cpp - the load generator against a server of known behaviour -----===//
#include "serve/http/Server.h"
#include "tools/load/EventSplitter.h"
#include "tools/load/LoadReport.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

namespace fusec::load {

namespace {

using namespace std::chrono_literals;
using serve::http::Exchange;
using serve::http::Server;

TEST(EventSplitter, FindsEventsHoweverTheyAreCut) {
  const std::string stream = "data: {\"a\":1}\r\n\r\n: comment\ndata:{\"b\":2}\n\ndata: [DONE]\n\n";
  for (size_t cut = 1; cut <= stream.size(); ++cut) {
    EventSplitter splitter;
    std::vector<std::string> events;
    for (size_t at = 0; at < stream.size(); at += cut)
      splitter.push(stream.substr(at, cut), [&](std::string_view event) { events.emplace_back(event); });
    EXPECT_EQ(events, (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}", "[DONE]"})) << "pieces of " << cut;
  }
}

TEST(EventSplitter, KnowsWhatAnEventBrings) {
  EXPECT_TRUE(bringsText(R"({"choices":[{"text":" a"}]})"));
  EXPECT_TRUE(bringsText(R"({"choices":[{"delta":{"content": "a"}}]})"));
  EXPECT_FALSE(bringsText(R"({"choices":[{"text":""}]})"));
  EXPECT_FALSE(bringsText(R"({"choices":[{"delta":{"role":"assistant","content":null}}]})"));
  EXPECT_TRUE(mayReportUsage(R"({"choices":[],"usage":{"completion_tokens":1}})"));
  EXPECT_FALSE(mayReportUsage(R"({"choices":[],"usage":null})"));
  EXPECT_TRUE(reportsError(R"({"error":{"message":"x"}})"));
}

TEST(LoadPlan, IsTheSameForTheSameSeed) {
  const WorkloadOptions options{.requests = 40, .rate = 3, .spread = 0.5, .sharedPrefix = 16, .seed = 7};
  Result<LoadPlan> one = makePlan(options), two = makePlan(options);
  ASSERT_TRUE(one && two);
  std::vector<int> first;
  for (size_t i = 0; i < one->requests.size(); ++i) {
    EXPECT_EQ(one->requests[i].body, two->requests[i].body);
    EXPECT_EQ(one->requests[i].arrival, two->requests[i].arrival);
    const auto prompt = nlohmann::json::parse(one->requests[i].body)["prompt"].get<std::vector<int>>();
    EXPECT_EQ(static_cast<int64_t>(prompt.size()), one->requests[i].promptTokens);
    EXPECT_GE(prompt.size(), 64u);
    EXPECT_LE(prompt.size(), 192u);
    first = i == 0 ? prompt : first;
    EXPECT_TRUE(std::equal(prompt.begin(), prompt.begin() + 16, first.begin()));
    EXPECT_NE(i == 0 ? 0 : prompt[16], i == 0 ? 1 : first[16]);
  }
  EXPECT_NEAR(one->offeredRate(), 3, 1.5); // 39 exponential gaps: three deviations are 48 %.
}

TEST(LoadPlan, ReplaysATraceWithWhatItsPromptsShare) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "shared.jsonl";
  std::ofstream(file) << R"({"timestamp": 0, "input_length": 1024, "output_length": 128, "hash_ids": [7, 8]})"
                      << "\n"
                      << R"({"timestamp": 500, "input_length": 1500, "output_length": 512, "hash_ids": [7, 9, 8]})"
                      << "\n";
  Result<LoadPlan> plan =
      makePlan({.requests = 0, .trace = file, .timeScale = 2, .lengthScale = 0.125, .maxContext = 200});
  ASSERT_TRUE(plan) << plan.status().message();
  ASSERT_EQ(plan->requests.size(), 2u);
  EXPECT_DOUBLE_EQ(plan->requests[1].arrival, 1);
  EXPECT_EQ(plan->requests[0].promptTokens, 128);
  EXPECT_EQ(plan->requests[0].outputTokens, 16);
  EXPECT_EQ(plan->requests[1].promptTokens, 188);
  EXPECT_EQ(plan->requests[1].outputTokens, 12) << "to fit the context";
  auto promptOf = [&](size_t i) {
    return nlohmann::json::parse(plan->requests[i].body)["prompt"].get<std::vector<int>>();
  };
  const std::vector<int> one = promptOf(0), two = promptOf(1);
  EXPECT_EQ(std::mismatch(one.begin(), one.end(), two.begin()).first - one.begin(), 64) << "one block of two";
  EXPECT_EQ(plan->trace.blockTokens, 64);
  EXPECT_EQ(plan->trace.requests[1].outputTokens, 12);
  EXPECT_DOUBLE_EQ(prefixBound(plan->trace, 64, 100).unlimited, 64.0 / (128 + 188));
}

TEST(ServerPool, ReadsTheMetricOfFusecAndVllm) {
  Result<ServerPool> pool =
      readServerPool("# TYPE fusec_cache_config_info gauge\n"
                     "fusec_cache_config_info{model_name=\"m\",block_size=\"64\",num_gpu_blocks=\"513\"} 1\n"
                     "other 3\n");
  ASSERT_TRUE(pool) << pool.status().message();
  EXPECT_EQ(pool->pageTokens, 64);
  EXPECT_EQ(pool->pages, 513);
  EXPECT_EQ(readServerPool("up 1\n").status().message(), "cache_config_info: the metrics do not have it");
  EXPECT_EQ(readServerPool("x_cache_config_info{block_size=\"16\"} 1\n").status().message(),
            "cache_config_info: expected num_gpu_blocks above 0 in 'cache_config_info{block_size=\"16\"} 1'");
}

TEST(LoadPlan, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(makePlan({.requests = 3}));
  EXPECT_FALSE(makePlan({.requests = 0, .concurrency = 1}));
  EXPECT_FALSE(makePlan({.concurrency = 1, .spread = 1.5}));
  EXPECT_FALSE(makePlan({.concurrency = 1, .extraBody = "[]"}));
  EXPECT_FALSE(makePlan({.concurrency = 1, .trace = "no-such-file.csv"}));
}

TEST(LoadSummary, QuantilesInterpolate) {
  const Distribution d = distributionOf({4, 1, 3, 2});
  EXPECT_EQ(d.count, 4u);
  EXPECT_DOUBLE_EQ(d.mean, 2.5);
  EXPECT_DOUBLE_EQ(d.p50, 2.5);
  EXPECT_DOUBLE_EQ(d.p90, 3.7);
  EXPECT_DOUBLE_EQ(d.max, 4);
  EXPECT_EQ(distributionOf({}).count, 0u);
}

/// Streams "x" every `gap` until max_tokens pieces have gone, then usage.
class PacedServer {
public:
  explicit PacedServer(std::chrono::milliseconds gap) : gap(gap) {
    Result<std::unique_ptr<Server>> bound = Server::bind({});
    if (!bound)
      return;
    server = std::move(*bound);
    server->run([this](std::shared_ptr<Exchange> exchange) { answer(std::move(exchange)); });
  }
  ~PacedServer() {
    if (server)
      server->stop(1000ms);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server->port()); }

  std::unique_ptr<Server> server;

private:
  void answer(std::shared_ptr<Exchange> exchange) {
    const auto body = nlohmann::json::parse(exchange->request().body, nullptr, false);
    if (body.is_discarded() || body.value("fail", false))
      return exchange->respond({.status = 400, .body = "{\"error\":{\"message\":\"refused\"}}"});
    exchange->startStream({.contentType = "text/event-stream"});
    const int64_t tokens = body["max_tokens"], prompt = static_cast<int64_t>(body["prompt"].size());
    server->after(gap, [this, exchange, tokens, prompt] { next(exchange, 0, tokens, prompt); });
  }
  void next(std::shared_ptr<Exchange> exchange, int64_t sent, int64_t tokens, int64_t prompt) {
    if (sent < tokens) {
      exchange->send("data: {\"choices\":[{\"text\":\"x\"}],\"usage\":null}\n\n");
      server->after(gap, [=, this] { next(exchange, sent + 1, tokens, prompt); });
      return;
    }
    const nlohmann::json usage = {
        {"prompt_tokens", prompt}, {"completion_tokens", tokens}, {"prompt_tokens_details", {{"cached_tokens", 3}}}};
    exchange->send("data: " + nlohmann::json{{"choices", nlohmann::json::array()}, {"usage", usage}}.dump() + "\n\n");
    exchange->send("data: [DONE]\n\n");
    exchange->endStream();
  }

  std::chrono::milliseconds gap;
};

TEST(LoadRun, TimesWhatTheServerDoes) {
  PacedServer paced(5ms);
  ASSERT_TRUE(paced.server);
  Result<LoadPlan> plan = makePlan({.requests = 12, .concurrency = 4, .promptTokens = 9, .outputTokens = 10});
  ASSERT_TRUE(plan);
  Result<LoadResult> result = runLoad(*plan, {.url = paced.url(), .warmups = 1});
  ASSERT_TRUE(result) << result.status().message();
  const LoadSummary summary = summarise(*plan, *result, {.timeToFirst = 1e-6});
  EXPECT_EQ(summary.complete, 12);
  EXPECT_EQ(summary.errors, 0);
  EXPECT_EQ(summary.outputTokens, 120);
  EXPECT_EQ(summary.promptTokens, 12 * 9);
  EXPECT_EQ(summary.cachedTokens, 12 * 3);
  EXPECT_EQ(summary.interToken.count, 12u * 9);
  EXPECT_EQ(summary.goodput, 0) << "no first piece comes within a microsecond";
  // A timer never fires early; how late it fires is the machine's business.
  EXPECT_GE(summary.timeToFirst.min, 0.005);
  EXPECT_GE(summary.timePerToken.min, 0.005 * 0.9); // Pieces may reach the client in one read.
  EXPECT_GE(summary.seconds, 3 * 10 * 0.005);       // Three rounds of four clients.
}

TEST(LoadRun, CountsFailuresAndThoseWhoLeave) {
  PacedServer paced(1ms);
  ASSERT_TRUE(paced.server);
  Result<LoadPlan> failing = makePlan({.requests = 3, .concurrency = 3, .extraBody = R"({"fail": true})"});
  ASSERT_TRUE(failing);
  Result<LoadResult> refused = runLoad(*failing, {.url = paced.url()});
  ASSERT_TRUE(refused);
  const LoadSummary none = summarise(*failing, *refused, {});
  EXPECT_EQ(none.errors, 3);
  EXPECT_EQ(none.complete, 0);
  ASSERT_EQ(none.errorKinds.size(), 1u);
  EXPECT_NE(none.errorKinds[0].find("HTTP 400"), std::string::npos) << none.errorKinds[0];
  EXPECT_FALSE(none.doubts.empty());

  Result<LoadPlan> leaving = makePlan({.requests = 8, .concurrency = 8, .outputTokens = 20, .disconnect = 1});
  ASSERT_TRUE(leaving);
  Result<LoadResult> left = runLoad(*leaving, {.url = paced.url()});
  ASSERT_TRUE(left);
  const LoadSummary gone = summarise(*leaving, *left, {});
  EXPECT_EQ(gone.left, 8);
  EXPECT_EQ(gone.errors, 0);
}

TEST(LoadRun, SaysWhenThereIsNoServer) {
  Result<LoadPlan> plan = makePlan({.requests = 1, .concurrency = 1});
  ASSERT_TRUE(plan);
  EXPECT_FALSE(runLoad(*plan, {.url = "http://127.0.0.1:1"}));
  EXPECT_FALSE(runLoad(*plan, {.url = "https://example.org"}));
}

TEST(LoadReport, NamesWhatIsMissing) {
  LoadPlan plan{.concurrency = 1, .workload = "w <script>"};
  LoadResult result;
  result.records.push_back({.sent = 0, .first = 0.1, .end = 0.3, .pieces = {0.1, 0.2, 0.3}, .outputTokens = 3});
  result.seconds = 0.3;
  const LoadSummary summary = summarise(plan, result, {});
  const nlohmann::json context = {{"cpu", "c"}, {"server_command", nullptr}};
  const LoadReport report{plan, result, summary, {}, context};
  const nlohmann::json json = toJson(report);
  EXPECT_FALSE(json["comparable"].get<bool>());
  EXPECT_EQ(json["not_comparable_because"][0], "context is missing: server_command");
  EXPECT_DOUBLE_EQ(json["tpot_seconds"]["p50"].get<double>(), 0.1);
  EXPECT_EQ(json["records"].size(), 1u);
  EXPECT_TRUE(json["prefix_reuse"].is_null());
  const std::string page = toPage(report);
  EXPECT_NE(page.find("w &lt;script&gt;"), std::string::npos);
  EXPECT_EQ(page.find("w <script>"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos) << "the page refers to nothing outside";
}

TEST(LoadReport, SetsPrefixesFoundBesideThoseToBeFound) {
  LoadPlan plan;
  LoadResult result;
  RequestRecord &record = result.records.emplace_back();
  record.end = 0.3;
  record.promptTokens = 200;
  record.cachedTokens = 50;
  const LoadSummary summary = summarise(plan, result, {});
  const LoadReport report{plan, result, summary,
                          {},   {},     PrefixReuse{{64, 100}, {.unlimited = 0.75, .clairvoyant = 0.5}}};
  const nlohmann::json json = toJson(report);
  EXPECT_EQ(json["prefix_reuse"],
            (nlohmann::json{
                {"found", 0.25}, {"clairvoyant", 0.5}, {"unlimited", 0.75}, {"page_tokens", 64}, {"pages", 100}}));
  EXPECT_NE(
      toText(report).find("25.00 % of prompt tokens cached; in order of arrival at most 50.00 % with 100 pages of "
                          "64 (clairvoyant eviction), 75.00 % with any\n"),
      std::string::npos)
      << toText(report);
}

} // namespace

} // namespace fusec::load
