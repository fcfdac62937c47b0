//===- StoriesApiTest.cpp - a real engine behind the routes -------------------------===//
//
// The known greedy text of stories260K through every path of the server. Needs
// the model's artifact in $FUSEC_STORIES_ARTIFACT, which the build with the
// compiler provides; skips without.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Json.h"
#include "serve/EngineBackend.h"
#include "serve/openai/Api.h"
#include "test/unit/serve/ApiFixture.h"

#include <cmath>
#include <regex>

using namespace fusec;
using namespace fusec::serve;
using namespace fusec::serve::test;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

namespace {

class StoriesApi : public testing::Test {
protected:
  void SetUp() override {
    const char *artifact = std::getenv("FUSEC_STORIES_ARTIFACT");
    const std::filesystem::path known =
        std::filesystem::path(FUSEC_SOURCE_DIR) / "../shared/data/models/stories260K/expected_greedy.json";
    if (!artifact || !std::filesystem::is_regular_file(known))
      GTEST_SKIP() << "needs FUSEC_STORIES_ARTIFACT and " << known;
    expected = (*readJsonFile(known))["text"].get<std::string>();
    open({.artifact = artifact, .threads = 1, .chunkTokens = 64, .maxSequences = 8});
  }
  void open(const runtime::EngineOptions &options) {
    auto started = runtime::EngineService::start(options);
    ASSERT_TRUE(started.ok()) << started.status().message();
    service = std::move(*started);
    backend = std::make_unique<EngineBackend>(*service);
    server = std::move(*http::Server::bind({}));
    api = std::make_unique<Api>(*backend, *server, ApiOptions{.modelName = "stories"}, ApiHooks{});
    server->run([this](std::shared_ptr<http::Exchange> exchange) { api->handle(std::move(exchange)); });
  }
  /// The same server over an engine with other options.
  void reopen(runtime::EngineOptions options) {
    TearDown();
    options.artifact = std::getenv("FUSEC_STORIES_ARTIFACT");
    options.threads = 1;
    open(options);
  }
  void TearDown() override {
    if (!server)
      return;
    server->stop(0ms);
    service->stop();
    api.reset();
  }

  Reply call(const json &body) { return fetch(server->port(), post("/v1/completions", body.dump())); }
  json ok(const json &body) {
    const Reply reply = call(body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json::parse(reply.body, nullptr, false);
  }
  std::string text(const json &body) { return ok(body)["choices"][0]["text"]; }
  std::string streamed(json body) {
    body["stream"] = true;
    return joinedText(call(body).body);
  }
  /// The first `tokens` of the known text.
  static json greedy(int64_t tokens) { return {{"prompt", {1}}, {"temperature", 0}, {"max_tokens", tokens}}; }
  void expectKnownText(int64_t tokens = 60) {
    const std::string found = text(greedy(tokens));
    EXPECT_EQ(found, expected.substr(0, found.size()));
    EXPECT_GT(found.size(), static_cast<size_t>(tokens));
  }
  bool poolIsFree() {
    const runtime::Ledger pool = service->stats().pool;
    return pool.live == 0 && pool.parked == 0;
  }

  int64_t preemptions() { return service->stats().counters[runtime::Counter::Preemptions]; }

  std::string expected;
  std::unique_ptr<runtime::EngineService> service;
  std::unique_ptr<EngineBackend> backend;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<Api> api;
};

TEST_F(StoriesApi, GivesTheKnownTextWholeAndStreamed) {
  const std::string whole = text(greedy(200));
  EXPECT_EQ(whole, expected.substr(0, whole.size()));
  EXPECT_EQ(streamed(greedy(200)), whole);
}

/// Bug report 1.
TEST_F(StoriesApi, Bug1DeltasJoinToTheWholeText) {
  for (int seed : {1, 2, 3}) {
    const json body = {
        {"prompt", "Once \xE3\x81\x82 \xF0\x9F\x98\x80"}, {"temperature", 1.5}, {"seed", seed}, {"max_tokens", 60}};
    EXPECT_EQ(streamed(body), text(body));
  }
}

/// Bug report 31: nothing of a client that left stays, and nobody else is hurt.
TEST_F(StoriesApi, Bug31ClientsThatLeave) {
  const auto visit = [&](int i) {
    Client client(server->port());
    json body = greedy(300);
    body["prompt"] = std::vector<int>(static_cast<size_t>(1 + i), 300);
    body["ignore_eos"] = true;
    body["stream"] = i % 2 == 0;
    client.send(post("/v1/completions", body.dump()));
    for (int deltas = 0; deltas < i % 6 && body["stream"]; ++deltas)
      client.readMore(1000);
    if (i % 3 == 0)
      client.reset();
    else if (i % 3 == 1)
      client.halfClose();
  };
  // From several threads: one after another they would mostly wait for a busy machine's scheduler.
  std::vector<std::thread> crowd;
  for (int first = 0; first < 20; ++first)
    crowd.emplace_back([&, first] {
      for (int i = first; i < 200; i += 20)
        visit(i);
    });
  for (std::thread &thread : crowd)
    thread.join();
  expectKnownText();
  for (int i = 0; i < 500 && !(poolIsFree() && !service->stats().hasWork); ++i)
    std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(poolIsFree());
}

/// Bug report 34: corners of the sampling parameters are the greedy text, and nothing fails.
TEST_F(StoriesApi, Bug34ExtremeSampling) {
  const std::string known = text(greedy(8));
  for (double temperature : {0.0, 1e-30, 1e-4, 1.0, 100.0})
    for (double topP : {0.0, 1e-6, 1.0})
      for (int64_t topK : {-1, 0, 1, 1'000'000'000})
        for (double minP : {0.0, 1.0}) {
          const json body = {{"prompt", {1}}, {"max_tokens", 8}, {"temperature", temperature},
                             {"top_p", topP}, {"top_k", topK},   {"min_p", minP}};
          const Reply reply = call(body);
          ASSERT_EQ(reply.status, 200) << body.dump() << reply.body;
          if (temperature < 1e-3 || topP < 1 || topK == 1 || minP == 1)
            EXPECT_EQ(json::parse(reply.body)["choices"][0]["text"], known) << body.dump();
        }
}

/// Bug report 38.
TEST_F(StoriesApi, Bug38StopStrings) {
  json body = greedy(12);
  body["stop"] = {"little girl"};
  EXPECT_EQ(text(body), "Once upon a time, there was a ");
  EXPECT_EQ(streamed(body), "Once upon a time, there was a ");
  EXPECT_EQ(ok(body)["choices"][0]["finish_reason"], "stop");
  body["stop"] = {"little girls", "xyz"};
  EXPECT_EQ(text(body), text(greedy(12)));
  EXPECT_EQ(streamed(body), text(greedy(12)));
  EXPECT_EQ(ok(body)["choices"][0]["finish_reason"], "length");
  body["stop"] = {"little girl"};
  body["include_stop_str_in_output"] = true;
  EXPECT_EQ(text(body), "Once upon a time, there was a little girl");
}

/// Bug report 40: ids outside the vocabulary hurt nobody.
TEST_F(StoriesApi, Bug40IdsOutsideTheVocabularyBesideANeighbour) {
  std::string neighbour;
  std::thread running([&] { neighbour = text(greedy(200)); });
  for (const char *id : {"-1", "512", "2147483648", "1099511627776"}) {
    const auto status = [&](const std::string &members) {
      return fetch(server->port(), post("/v1/completions", "{" + members + "}")).status;
    };
    EXPECT_EQ(status(R"("prompt":[1,)" + std::string(id) + "]"), 400);
    EXPECT_EQ(status(R"("prompt":"a","stop_token_ids":[)" + std::string(id) + "]"), 400);
    EXPECT_EQ(status(R"("prompt":"a","logit_bias":{")" + std::string(id) + R"(":5})"), 400);
  }
  running.join();
  EXPECT_EQ(neighbour, expected.substr(0, neighbour.size()));
}

/// Bug report 46: prompts around the context, and limits beyond it.
TEST_F(StoriesApi, Bug46PromptsAroundTheContext) {
  const auto body = [](size_t tokens) {
    return json{{"prompt", std::vector<int>(tokens, 300)}, {"temperature", 0}, {"ignore_eos", true}};
  };
  for (const json &limit : {json(1), json(600), json(nullptr)}) {
    json fits = body(511);
    fits["max_tokens"] = limit;
    const json reply = ok(fits);
    EXPECT_EQ(reply["usage"]["completion_tokens"], 1) << limit.dump();
    EXPECT_EQ(reply["choices"][0]["finish_reason"], "length");
    for (size_t tokens : {512u, 513u, 5000u}) {
      json tooLong = body(tokens);
      tooLong["max_tokens"] = limit;
      const Reply refused = call(tooLong);
      EXPECT_EQ(refused.status, 400);
      EXPECT_THAT(refused.body, HasSubstr("512 tokens"));
      EXPECT_THAT(refused.body, HasSubstr(std::to_string(tokens) + " tokens"));
    }
  }
  json half = body(400);
  half["max_tokens"] = 600;
  EXPECT_EQ(ok(half)["usage"]["total_tokens"], 512);
}

/// Bug report 27: cached prompts give what computed ones give.
TEST_F(StoriesApi, Bug27TheSamePromptAgain) {
  for (size_t tokens : {1u, 63u, 64u, 65u, 128u}) {
    json body = {{"prompt", std::vector<int>(tokens, 301)}, {"temperature", 0}, {"max_tokens", 8}, {"logprobs", 2}};
    const json first = ok(body), second = ok(body), third = ok(body);
    EXPECT_EQ(first["choices"], second["choices"]) << tokens;
    EXPECT_EQ(first["choices"], third["choices"]) << tokens;
    EXPECT_EQ(third["usage"]["prompt_tokens_details"]["cached_tokens"], tokens - 1);
  }
}

/// Bug report 20: an end token within a prompt is a token like others, alone and beside shorter and longer prompts.
TEST_F(StoriesApi, Bug20EndTokensWithinAPrompt) {
  const std::vector<int> turn = {1, 403, 407, 261}, shorter = {1, 300};
  std::vector<int> talk = turn, without = turn, other = turn, longer(200, 305);
  talk.push_back(2);
  other.push_back(1);
  for (std::vector<int> *ids : {&talk, &without, &other})
    ids->insert(ids->end(), turn.begin(), turn.end());
  const json body = {{"temperature", 0}, {"max_tokens", 12}, {"logprobs", 3}, {"skip_prefix_cache", true}};
  const auto choices = [&](const json &prompts) {
    json request = body;
    request["prompt"] = prompts;
    json list = ok(request)["choices"];
    for (json &choice : list)
      choice.erase("index");
    return list;
  };
  const json alone = choices(json::array({talk}));
  const json together = choices({shorter, talk, longer, talk});
  EXPECT_EQ(together[1], alone[0]);
  EXPECT_EQ(together[3], alone[0]);
  // It is neither left out nor the same as another control token.
  EXPECT_NE(choices(json::array({without}))[0]["logprobs"], alone[0]["logprobs"]);
  EXPECT_NE(choices(json::array({other}))[0]["logprobs"], alone[0]["logprobs"]);
}

/// Bug report 29: sequences that lose their pages and get them back give what they give alone, each piece once.
TEST_F(StoriesApi, Bug29Preemption) {
  const auto body = [](int i) {
    return json{{"prompt", {1}},      {"temperature", i % 2 ? 1 : 0}, {"seed", i}, {"max_tokens", 200}, {"logprobs", 1},
                {"ignore_eos", true}, {"skip_prefix_cache", true}};
  };
  std::vector<json> alone(16), crowded(16);
  for (int i = 0; i < 16; ++i)
    alone[i] = ok(body(i));
  EXPECT_EQ(preemptions(), 0);
  // 64 pages are wanted, 10 there are.
  reopen({.chunkTokens = 64, .maxSequences = 16, .kvTokens = 640});
  std::vector<std::string> streams(16);
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i)
    clients.emplace_back([&, i] {
      crowded[i] = ok(body(i));
      json streaming = body(i);
      streaming["stream"] = true;
      streams[i] = joinedText(call(streaming).body);
    });
  for (std::thread &client : clients)
    client.join();
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(crowded[i]["choices"], alone[i]["choices"]) << i;
    EXPECT_EQ(crowded[i]["usage"], alone[i]["usage"]) << i;
    EXPECT_EQ(streams[i], alone[i]["choices"][0]["text"].get<std::string>()) << i;
  }
  EXPECT_GT(preemptions(), 0) << "nothing was tested";
}

/// Bug report 33: a long prompt stops nobody's decoding.
TEST_F(StoriesApi, Bug33DecodingGoesOnBesideALongPrompt) {
  reopen({.chunkTokens = 32, .maxSequences = 16});
  const json body = {
      {"prompt", std::vector<int>(400, 300)}, {"max_tokens", 1}, {"explain", true}, {"skip_prefix_cache", true}};
  json why;
  // By steps, not by the clock: each chunk of the prompt has to share its step with all ten. Again where the ten had
  // ended before a busy machine let the prompt in.
  for (int attempt = 0; attempt < 30 && (attempt == 0 || why["batch"]["min"] != 11); ++attempt) {
    std::vector<Client> streams;
    for (int i = 0; i < 10; ++i) {
      json stream = greedy(500);
      stream["ignore_eos"] = stream["stream"] = true;
      streams.emplace_back(server->port());
      streams.back().send(post("/v1/completions", stream.dump()));
    }
    for (Client &stream : streams)
      ASSERT_TRUE(stream.readUntil("data: "));
    why = ok(body)["fusec"]["requests"][0];
  }
  EXPECT_GE(why["steps"], 400 / 32);
  EXPECT_EQ(why["batch"]["min"], 11) << why.dump();
  // With a chunk of it a step holds no more tokens than any other may: that is what a delta waits for.
  for (const runtime::StepRecord &step : service->stats().recent)
    EXPECT_LE(step.tokens, 32) << step.number;
}

/// Bug report 33: small requests go on while a large one waits for memory, and it gets its turn.
TEST_F(StoriesApi, Bug33ALargeRequestInAFloodOfSmallOnes) {
  reopen({.chunkTokens = 64, .maxSequences = 8, .kvTokens = 640});
  std::atomic<bool> served = false;
  std::atomic<int> small = 0;
  std::vector<std::thread> flood;
  for (int i = 0; i < 6; ++i)
    flood.emplace_back([&] {
      while (!served) {
        json body = greedy(100);
        body["skip_prefix_cache"] = true;
        EXPECT_EQ(ok(body)["usage"]["completion_tokens"], 100);
        ++small;
      }
    });
  while (small < 12)
    std::this_thread::sleep_for(1ms);
  const int before = small;
  const json large = ok({{"prompt", std::vector<int>(450, 300)}, {"max_tokens", 40}, {"ignore_eos", true}});
  const int meanwhile = small - before;
  served = true;
  for (std::thread &thread : flood)
    thread.join();
  EXPECT_EQ(large["usage"]["completion_tokens"], 40);
  // It waited for some of those before it, not for the end of the flood.
  EXPECT_LT(meanwhile, 200);
}

TEST_F(StoriesApi, TextsOfOneRequestAndSeeds) {
  json body = {{"prompt", "Once"}, {"temperature", 1}, {"seed", 7}, {"max_tokens", 20}};
  const std::string one = text(body);
  EXPECT_EQ(text(body), one);
  body["n"] = 3;
  const json three = ok(body)["choices"];
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(three[0]["text"], one);
  EXPECT_NE(three[1]["text"], three[0]["text"]);
  json stream = body;
  stream["stream"] = true;
  const std::string events = call(stream).body;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(three[static_cast<size_t>(i)]["text"], joinedText(events, i));
}

TEST_F(StoriesApi, PromptLogprobsAreThoseOfGenerating) {
  json body = greedy(20);
  body["logprobs"] = 0;
  const json generated = ok(body)["choices"][0];
  const json ids = ok(
      {{"prompt", {1}}, {"temperature", 0}, {"max_tokens", 20}, {"return_token_ids", true}})["choices"][0]["token_ids"];
  json all = json::array({1});
  for (const json &id : ids)
    all.push_back(id);
  for (int again = 0; again < 2; ++again) {
    const json echoed = ok({{"prompt", all},
                            {"echo", true},
                            {"logprobs", 0},
                            {"max_tokens", 0}})["choices"][0]["logprobs"]["token_logprobs"];
    ASSERT_EQ(echoed.size(), 21u);
    EXPECT_TRUE(echoed[0].is_null());
    for (size_t i = 0; i < 20; ++i)
      EXPECT_NEAR(echoed[i + 1].get<double>(), generated["logprobs"]["token_logprobs"][i].get<double>(), 1e-4) << i;
  }
}

TEST_F(StoriesApi, StructuredOutput) {
  const std::string digits =
      text({{"prompt", "Once"}, {"guided_regex", "[0-9]{3}-[0-9]{2}"}, {"max_tokens", 40}, {"seed", 1}});
  EXPECT_TRUE(std::regex_match(digits, std::regex("[0-9]{3}-[0-9]{2}"))) << digits;
  EXPECT_THAT(text({{"prompt", "Once"}, {"guided_choice", {"yes", "no"}}, {"seed", 1}}), testing::AnyOf("yes", "no"));
  const json schema = json::parse(R"({"type":"object","properties":{"a":{"type":"boolean"},"b":{"enum":["x","y"]}},
    "required":["a","b"],"additionalProperties":false})");
  const json format = {{"type", "json_schema"}, {"json_schema", {{"name", "t"}, {"schema", schema}}}};
  const std::string answer = text({{"prompt", "Once"}, {"response_format", format}, {"max_tokens", 450}, {"seed", 3}});
  const json object = json::parse(answer, nullptr, false);
  EXPECT_TRUE(object.is_object() && object["a"].is_boolean() && object["b"].is_string()) << answer;
  EXPECT_EQ(call({{"prompt", "a"}, {"guided_grammar", "root ::= ("}}).status, 400);
}

TEST_F(StoriesApi, ManyAtOnceGiveTheKnownText) {
  std::vector<std::thread> clients;
  std::atomic<int> equal = 0;
  for (int i = 0; i < 24; ++i)
    clients.emplace_back([&, i] {
      const std::string found = i % 2 ? text(greedy(60)) : streamed(greedy(60));
      equal += found.size() > 60 && found == expected.substr(0, found.size());
    });
  for (std::thread &client : clients)
    client.join();
  EXPECT_EQ(equal, 24);
  EXPECT_EQ(fetch(server->port(), get("/health")).status, 200);
}

} // namespace
