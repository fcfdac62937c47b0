//===- GenerationApiTest.cpp - completions and chat, over HTTP ----------------------===//
#include "test/unit/serve/ApiFixture.h"

using namespace fusec;
using namespace fusec::serve;
using namespace fusec::serve::test;
using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

namespace {

const json hello = {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}};

json with(json body, const json &more) {
  body.update(more);
  return body;
}

class GenerationApi : public ApiTest {};

//===----------------------------------------------------------------------===//
// Whole answers
//===----------------------------------------------------------------------===//

TEST_F(GenerationApi, CompletesAPrompt) {
  start();
  const json reply = ok("/v1/completions", {{"prompt", "abc"}, {"model", "fake"}});
  EXPECT_THAT(reply["id"].get<std::string>(), testing::StartsWith("cmpl-"));
  EXPECT_EQ(reply["object"], "text_completion");
  EXPECT_EQ(reply["model"], "fake");
  EXPECT_EQ(reply["choices"], json::parse(R"([{"index":0,"text":"abc","logprobs":null,"finish_reason":"stop"}])"));
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 3);
  EXPECT_EQ(reply["usage"]["total_tokens"], 6);
}

TEST_F(GenerationApi, CompletesSixteenTokensByDefault) {
  start();
  const json reply = ok("/v1/completions", {{"prompt", std::string(40, 'x')}});
  EXPECT_EQ(reply["choices"][0]["text"], std::string(16, 'x'));
  EXPECT_EQ(reply["choices"][0]["finish_reason"], "length");
}

TEST_F(GenerationApi, TakesEveryFormOfPrompt) {
  start();
  EXPECT_EQ(ok("/v1/completions", {{"prompt", {65, 66}}})["choices"][0]["text"], "AB");
  const json texts = ok("/v1/completions", {{"prompt", {"one", "two"}}, {"n", 2}});
  ASSERT_EQ(texts["choices"].size(), 4u);
  EXPECT_EQ(texts["choices"][1]["text"], "one");
  EXPECT_EQ(texts["choices"][2]["text"], "two");
  EXPECT_EQ(texts["choices"][3]["index"], 3);
  EXPECT_EQ(texts["usage"]["prompt_tokens"], 6);
  EXPECT_EQ(texts["usage"]["completion_tokens"], 12);
  EXPECT_EQ(ok("/v1/completions", {{"prompt", {{65}, {66}}}})["choices"][1]["text"], "B");
}

TEST_F(GenerationApi, EchoesThePrompt) {
  start();
  const json reply = ok("/v1/completions", {{"prompt", "ab"}, {"echo", true}, {"logprobs", 1}, {"max_tokens", 0}});
  EXPECT_EQ(reply["choices"][0]["text"], "ab");
  EXPECT_EQ(reply["choices"][0]["logprobs"]["tokens"], json::parse(R"(["a","b"])"));
  EXPECT_EQ(reply["choices"][0]["logprobs"]["token_logprobs"], json::parse("[null,-1.0]"));
  EXPECT_EQ(reply["usage"]["completion_tokens"], 0);
  EXPECT_EQ(ok("/v1/completions", {{"prompt", "ab"}, {"echo", true}})["choices"][0]["text"], "abab");
  EXPECT_EQ(joinedText(stream("/v1/completions", {{"prompt", "ab"}, {"echo", true}})), "abab");
}

TEST_F(GenerationApi, AnswersAChat) {
  start();
  backend.answer = [](const std::string &prompt) { return prompt; };
  const json reply = ok("/v1/chat/completions", hello);
  EXPECT_THAT(reply["id"].get<std::string>(), testing::StartsWith("chatcmpl-"));
  EXPECT_EQ(reply["object"], "chat.completion");
  EXPECT_EQ(reply["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(reply["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(backend.last->maxTokens, -1);
}

TEST_F(GenerationApi, JoinsTextPartsAndRenamesTheDeveloper) {
  start();
  ok("/v1/chat/completions",
     json::parse(R"({"messages":[{"role":"developer","content":"D"},{"role":"user","name":"u","content":[
       {"type":"text","text":"a"},{"type":"text","text":"b"}]}],"return_token_ids":true})"));
  EXPECT_EQ(backend.tokenizer().decode(backend.last->prompt, false),
            "<|im_start|>system\nD<|im_end|>\n<|im_start|>user\na\nb<|im_end|>\n<|im_start|>assistant\n");
}

/// Bug report 4: what a user types is never a control token.
TEST_F(GenerationApi, UserTextIsNoControlToken) {
  start();
  for (const char *marker : {"<|im_end|>", "<think>"}) {
    const json reply = ok("/tokenize", {{"messages", {{{"role", "user"}, {"content", marker}}}}});
    const auto ids = reply["tokens"].get<std::vector<int>>();
    const std::string spelled(marker);
    EXPECT_NE(std::search(ids.begin(), ids.end(), spelled.begin(), spelled.end()), ids.end()) << marker;
    EXPECT_EQ(std::count(ids.begin(), ids.end(), imEnd), 1);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), imStart), 2);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), think), 0);
  }
  // A raw prompt may spell them.
  EXPECT_EQ(ok("/tokenize", {{"prompt", "<|im_end|>"}})["tokens"], json::array({imEnd}));
  EXPECT_EQ(ok("/tokenize", {{"prompt", "<think>"}, {"parse_special", false}})["count"], 7);
}

TEST_F(GenerationApi, GivesLogprobsInBothForms) {
  start();
  const json text = ok("/v1/completions", {{"prompt", "ab"}, {"logprobs", 2}})["choices"][0]["logprobs"];
  EXPECT_EQ(text["tokens"], json::parse(R"(["a","b"])"));
  EXPECT_EQ(text["token_logprobs"], json::parse("[-0.5,-1.0]"));
  EXPECT_EQ(text["text_offset"], json::parse("[0,1]"));
  EXPECT_EQ(text["top_logprobs"][0], json::parse(R"({"a":-0.5,"z":-9999.0})"));
  // Offsets are of the text, not of how tokens are spelled: the euro sign is one character of three tokens.
  backend.answer = [](const std::string &) { return "x\xE2\x82\xACy"; };
  const json euro = ok("/v1/completions", {{"prompt", "ab"}, {"logprobs", 0}})["choices"][0]["logprobs"];
  EXPECT_EQ(euro["tokens"][1], "bytes:\\xe2");
  EXPECT_EQ(euro["text_offset"], json::parse("[0,1,1,1,2]"));
  std::vector<int> streamedOffsets;
  for (const std::string &event : events(stream("/v1/completions", {{"prompt", "ab"}, {"logprobs", 0}})))
    if (event != "[DONE]")
      if (const json row = json::parse(event)["choices"][0]["logprobs"]; row.is_object())
        streamedOffsets.push_back(row["text_offset"][0]);
  EXPECT_THAT(streamedOffsets, testing::ElementsAre(0, 1, 1, 1, 2));
  backend.answer = [](const std::string &) { return "ab"; };
  const json chat =
      ok("/v1/chat/completions", with(hello, {{"logprobs", true}, {"top_logprobs", 2}}))["choices"][0]["logprobs"];
  ASSERT_EQ(chat["content"].size(), 2u);
  EXPECT_EQ(chat["content"][1]["token"], "b");
  EXPECT_EQ(chat["content"][1]["bytes"], json::array({98}));
  EXPECT_EQ(chat["content"][1]["top_logprobs"][1]["logprob"], -9999.0);
  const std::string streamed = stream("/v1/chat/completions", with(hello, {{"logprobs", true}}));
  EXPECT_THAT(streamed,
              HasSubstr(R"("logprobs":{"content":[{"bytes":[97],"logprob":-0.5,"token":"a","top_logprobs":[]}])"));
}

TEST_F(GenerationApi, HandsParametersToTheEngine) {
  start();
  ok("/v1/completions",
     json::parse(R"({"prompt":"a","temperature":0.25,"top_p":0.5,"top_k":7,"min_p":0.125,"presence_penalty":1,
       "frequency_penalty":-1,"repetition_penalty":1.5,"logit_bias":{"65":-100},"seed":42,"stop":["x","y"],
       "stop_token_ids":[66],"max_tokens":9,"min_tokens":2,"n":2,"priority":-3,"ignore_eos":true,
       "skip_prefix_cache":true,"include_stop_str_in_output":true,"user":"me"})"));
  const runtime::Request &request = *backend.last;
  EXPECT_EQ(request.sampling.temperature, 0.25f);
  EXPECT_EQ(request.sampling.topP, 0.5f);
  EXPECT_EQ(request.sampling.topK, 7);
  EXPECT_EQ(request.sampling.minP, 0.125f);
  EXPECT_EQ(request.sampling.presencePenalty, 1);
  EXPECT_EQ(request.sampling.frequencyPenalty, -1);
  EXPECT_EQ(request.sampling.repetitionPenalty, 1.5f);
  EXPECT_EQ(request.sampling.logitBias.at(65), -100);
  EXPECT_EQ(request.sampling.seed, 42u);
  EXPECT_THAT(request.stopStrings, testing::ElementsAre("x", "y"));
  EXPECT_THAT(request.stopIds, testing::ElementsAre(66));
  EXPECT_EQ(request.maxTokens, 9);
  EXPECT_EQ(request.minTokens, 2);
  EXPECT_EQ(request.n, 2);
  EXPECT_EQ(request.priority, -3);
  EXPECT_TRUE(request.ignoreEos && request.skipPrefixCache && request.includeStop);
}

TEST_F(GenerationApi, CompilesStructuredOutput) {
  start();
  const json schema = {{"type", "json_schema"}, {"json_schema", {{"name", "x"}, {"schema", {{"type", "object"}}}}}};
  ok("/v1/chat/completions", with(hello, {{"response_format", schema}}));
  EXPECT_EQ(backend.grammarSeen, R"(0 {"type":"object"})");
  EXPECT_TRUE(backend.last->constraint);
  ok("/v1/completions", {{"prompt", "a"}, {"guided_regex", "[0-9]+"}});
  EXPECT_EQ(backend.grammarSeen, "2 [0-9]+");
  ok("/v1/completions", {{"prompt", "a"}, {"guided_choice", {"yes", "no"}}});
  EXPECT_EQ(backend.grammarSeen, R"(4 ["yes","no"])");
  // The order of keys in a schema is the order of members in the answer.
  fetch(server->port(), post("/v1/completions", R"({"prompt":"a","guided_json":{"z":1,"a":2}})"));
  EXPECT_EQ(backend.grammarSeen, R"(0 {"z":1,"a":2})");
  expectError("/v1/completions", {{"prompt", "a"}, {"guided_grammar", "bad"}}, 400, "guided_grammar",
              "#/properties/bad");
  expectError("/v1/completions", {{"prompt", "a"}, {"guided_grammar", "x"}, {"guided_regex", "x"}}, 400,
              "guided_grammar", "already bound");
}

TEST_F(GenerationApi, ShowsToolsToATemplateThatHasThem) {
  start();
  const json tools = json::parse(R"([{"type":"function","function":{"name":"f","parameters":{}}}])");
  ok("/v1/chat/completions", with(hello, {{"tools", tools}}));
  EXPECT_THAT(backend.tokenizer().decode(backend.last->prompt, false), testing::StartsWith("[{"));
  ok("/v1/chat/completions", with(hello, {{"tools", tools}, {"tool_choice", "none"}}));
  EXPECT_THAT(backend.tokenizer().decode(backend.last->prompt, false), testing::StartsWith("<|im_start|>"));
  expectError("/v1/chat/completions", with(hello, {{"tools", tools}, {"tool_choice", "required"}}), 400, "tool_choice",
              "none of the known formats");
}

TEST_F(GenerationApi, ExplainsARequestThatAsks) {
  start();
  const json reply = ok("/v1/completions", {{"prompt", "abc"}, {"explain", true}});
  EXPECT_EQ(reply["fusec"]["requests"][0]["prompt_tokens"], 3);
  EXPECT_EQ(reply["fusec"]["requests"][0]["queue_ms"], 1.0);
  EXPECT_TRUE(ok("/v1/completions", {{"prompt", "a"}}, "X-Fusec-Explain: 1\r\n").contains("fusec"));
  EXPECT_FALSE(ok("/v1/completions", {{"prompt", "a"}}).contains("fusec"));
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

/// Bug report 41: what a stream says, and when.
TEST_F(GenerationApi, StreamsAChatAsOpenAiDoes) {
  start();
  backend.answer = [](const std::string &) { return "ab"; };
  for (bool usage : {false, true}) {
    json body = with(hello, {{"n", 2}});
    if (usage)
      body["stream_options"] = {{"include_usage", true}};
    const std::vector<std::string> list = events(stream("/v1/chat/completions", body));
    std::set<std::string> heads;
    std::map<int, std::vector<json>> byIndex;
    int withUsage = 0;
    for (size_t i = 0; i + 1 < list.size(); ++i) {
      const json event = json::parse(list[i]);
      EXPECT_EQ(event["object"], "chat.completion.chunk");
      heads.insert(event["id"].dump() + event["created"].dump() + event["model"].dump());
      EXPECT_EQ(event.contains("usage"), usage);
      if (usage && !event["usage"].is_null()) {
        ++withUsage;
        EXPECT_EQ(i + 2, list.size()) << "the last before [DONE]";
        EXPECT_EQ(event["choices"], json::array());
        EXPECT_EQ(event["usage"]["completion_tokens"], 4);
      }
      for (const json &choice : event["choices"])
        byIndex[choice["index"]].push_back(choice);
    }
    EXPECT_EQ(heads.size(), 1u);
    EXPECT_EQ(withUsage, usage ? 1 : 0);
    ASSERT_EQ(byIndex.size(), 2u);
    for (const auto &[index, choices] : byIndex) {
      EXPECT_EQ(choices.front()["delta"]["role"], "assistant");
      EXPECT_EQ(choices.back()["finish_reason"], "stop");
      EXPECT_EQ(choices.back()["delta"], json::object());
      for (size_t i = 0; i + 1 < choices.size(); ++i)
        EXPECT_TRUE(choices[i]["finish_reason"].is_null());
      for (size_t i = 1; i < choices.size(); ++i)
        EXPECT_FALSE(choices[i]["delta"].contains("role"));
    }
  }
}

/// Bug report 1: the deltas are the text, though characters arrive in parts.
TEST_F(GenerationApi, DeltasJoinToTheWholeText) {
  start();
  backend.answer = [](const std::string &) { return "1\xE2\x82\xAC, 2\xE2\x82\xAC"; };
  const json body = {{"prompt", "p"}};
  const std::string whole = ok("/v1/completions", body)["choices"][0]["text"];
  EXPECT_EQ(whole, "1\xE2\x82\xAC, 2\xE2\x82\xAC");
  const std::string streamed = stream("/v1/completions", body);
  EXPECT_EQ(joinedText(streamed), whole);
  EXPECT_THAT(streamed, Not(HasSubstr("\xEF\xBF\xBD")));
}

/// Bug report 38: nothing of a stop string gets out, and nothing before it is lost.
TEST_F(GenerationApi, StopStringsCutTheStreamWhereTheyCutTheText) {
  start();
  for (const auto &[stops, text] : std::map<std::string, std::string>{
           {R"("def")", "abc"}, {R"(["cx","efx"])", "abcdefgh"}, {R"(["gh","ef"])", "abcd"}}) {
    const json body = {{"prompt", "abcdefgh"}, {"stop", json::parse(stops)}};
    EXPECT_EQ(ok("/v1/completions", body)["choices"][0]["text"], text);
    EXPECT_EQ(joinedText(stream("/v1/completions", body)), text);
  }
  expectError("/v1/completions", {{"prompt", "a"}, {"stop", ""}}, 400, "stop");
  expectError("/v1/completions", {{"prompt", "a"}, {"stop", json(std::vector<std::string>(17, "x"))}}, 400, "stop",
              "17");
}

TEST_F(GenerationApi, TellsOfAnErrorAfterTheStreamBegan) {
  start();
  backend.failing = true;
  const std::string text = stream("/v1/completions", {{"prompt", "abcdef"}});
  const std::vector<std::string> list = events(text);
  EXPECT_THAT(list[list.size() - 2], HasSubstr(R"("error":{"code":"internal_error","message":"the fake fails")"));
  EXPECT_EQ(call("/v1/completions", {{"prompt", "abcdef"}}).status, 500);
}

//===----------------------------------------------------------------------===//
// Limits and ends
//===----------------------------------------------------------------------===//

/// Bug report 31: a client that is gone is cancelled, at every stage, and nobody else is hurt.
TEST_F(GenerationApi, CancelsForAClientThatLeft) {
  start();
  backend.tokenMilliseconds = 2;
  const std::string text(200, 'x');
  for (int i = 0; i < 60; ++i) {
    Client client(server->port());
    client.send(post("/v1/completions", json{{"prompt", text}, {"max_tokens", 200}, {"stream", i % 2 == 0}}.dump()));
    if (i % 4 == 0)
      client.readUntil("data: ");
    if (i % 3 == 0)
      client.reset();
    else if (i % 3 == 1)
      client.close();
    else
      client.halfClose();
    if (i % 3 == 2)
      EXPECT_TRUE(client.closed());
  }
  EXPECT_TRUE(waitFor([&] { return backend.open() == 0; }));
  backend.tokenMilliseconds = 0;
  EXPECT_EQ(ok("/v1/completions", {{"prompt", "fine"}})["choices"][0]["text"], "fine");
  EXPECT_GT(backend.cancelled(), 0);
}

/// A client that reads nothing: what it does not take is bounded, its request ends, the log says why, others go on.
TEST_F(GenerationApi, CancelsForAClientThatDoesNotRead) {
  backend.context = 200'000;
  start({}, {.maxUnsentBytes = 100'000});
  backend.tokenMilliseconds = 1; // As slow as a model, else the text ends before the first byte is sent.
  backend.answer = [](const std::string &prompt) { return std::string(prompt.size() > 3 ? 4 : 150'000, 'x'); };
  const std::string endless = post("/v1/completions", R"({"prompt":"a","max_tokens":150000,"stream":true})");
  Client deaf(server->port(), 4096);
  deaf.send(endless);
  ASSERT_TRUE(waitFor([&] { return backend.open() == 1; }));
  // Each of the 150,000 deltas has some 200 bytes: it is cut long before the text ends.
  for (int others = 0; backend.cancelled() == 0 && others < 10'000; ++others)
    EXPECT_EQ(ok("/v1/completions", {{"prompt", "next"}})["choices"][0]["text"], "xxxx");
  EXPECT_TRUE(waitFor([&] { return backend.open() == 0; }));
  EXPECT_EQ(backend.cancelled(), 1);
  EXPECT_EQ(server->stats().abandoned, 1);
  server->stop(1s);
  const auto cut = std::find_if(lines.begin(), lines.end(),
                                [](const std::string &line) { return json::parse(line)["status"] == 499; });
  ASSERT_NE(cut, lines.end());
  EXPECT_EQ(json::parse(*cut)["error"], "client_read_too_slowly");
}

TEST_F(GenerationApi, LimitsRequestsAtOnceAndTime) {
  start({.maxConcurrent = 2, .requestTimeout = std::chrono::seconds(1)});
  backend.stalled = true;
  Client first(server->port()), second(server->port());
  const std::string request = post("/v1/completions", R"({"prompt":"a"})");
  first.send(request);
  second.send(request);
  ASSERT_TRUE(waitFor([&] { return backend.open() == 2; }));
  const Reply refused = fetch(server->port(), request);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  const Reply late = first.read();
  EXPECT_EQ(late.status, 504);
  EXPECT_THAT(late.body, HasSubstr("request_timeout"));
  EXPECT_EQ(second.read().status, 504);
  EXPECT_TRUE(waitFor([&] { return backend.open() == 0; }));
}

TEST_F(GenerationApi, LimitsTheQueue) {
  start({.maxQueue = 1});
  backend.stalled = true;
  Client first(server->port());
  first.send(post("/v1/completions", R"({"prompt":"a"})"));
  ASSERT_TRUE(waitFor([&] { return backend.open() == 1; }));
  EXPECT_EQ(fetch(server->port(), post("/v1/completions", R"({"prompt":"a"})")).status, 429);
  EXPECT_EQ(fetch(server->port(), get("/ready")).status, 503);
}

TEST_F(GenerationApi, DrainsWhatItAcceptedAndRefusesTheRest) {
  start();
  backend.tokenMilliseconds = 5;
  Client open(server->port());
  open.send(
      post("/v1/completions", json{{"prompt", std::string(40, 'y')}, {"max_tokens", 40}, {"stream", true}}.dump()));
  ASSERT_TRUE(open.readUntil("data: "));
  int64_t cut = -1;
  std::thread drainer([&] { cut = api->drain(10s); });
  ASSERT_TRUE(waitFor([&] { return fetch(server->port(), get("/ready")).status == 503; }));
  const Reply refused = fetch(server->port(), post("/v1/completions", R"({"prompt":"a"})"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_EQ(fetch(server->port(), get("/health")).status, 200);
  EXPECT_EQ(joinedText(open.read().body), std::string(40, 'y'));
  drainer.join();
  EXPECT_EQ(cut, 0);
}

TEST_F(GenerationApi, CutsWhatDoesNotEndInTime) {
  start();
  backend.stalled = true;
  Client open(server->port());
  open.send(post("/v1/completions", R"({"prompt":"a"})"));
  ASSERT_TRUE(waitFor([&] { return backend.open() == 1; }));
  EXPECT_EQ(api->drain(50ms), 1);
  EXPECT_EQ(open.read().status, 503);
}

TEST_F(GenerationApi, LogsWithoutTheTextUnlessAsked) {
  for (bool prompts : {false, true}) {
    lines.clear();
    start({.logPrompts = prompts});
    fetch(server->port(), post("/v1/completions", R"({"prompt":"secret","user":"me"})", "X-Request-Id: my-id\r\n"));
    server->stop(1s);
    ASSERT_EQ(lines.size(), 1u);
    const json line = json::parse(lines[0]);
    EXPECT_EQ(line["id"], "my-id");
    EXPECT_EQ(line["status"], 200);
    EXPECT_EQ(line["completion_tokens"], 6);
    EXPECT_EQ(line["finish"], "stop");
    EXPECT_EQ(line["user"], "me");
    EXPECT_EQ(lines[0].find("secret") != std::string::npos, prompts);
    TearDown();
  }
}

} // namespace
