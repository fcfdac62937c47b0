//===- RefusalsTest.cpp - what the routes refuse, and how they say it ---------------===//
#include "test/unit/serve/ApiFixture.h"

#include <cmath>
#include <filesystem>
#include <fstream>

using namespace fusec;
using namespace fusec::serve;
using namespace fusec::serve::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

class Refusals : public ApiTest {};

const json hello = {{"messages", {{{"role", "user"}, {"content", "Hi"}}}}};

/// A value of the right kind.
json sample(JsonKind kind) {
  switch (kind) {
  case JsonKind::Boolean:
    return true;
  case JsonKind::Integer:
  case JsonKind::Number:
    return 1;
  case JsonKind::String:
  case JsonKind::StringOrArray:
  case JsonKind::StringOrObject:
    return "x";
  case JsonKind::Object:
    return {{"x", 1}};
  case JsonKind::Array:
    return {"x"};
  }
  return nullptr;
}

TEST_F(Refusals, EveryRefusedParameterIsRefusedByName) {
  start();
  for (const Parameter &row : parameters()) {
    if (row.handling == Handling::Honoured)
      continue;
    const bool chat = row.routes & Route::Chat;
    const char *path = chat ? "/v1/chat/completions" : "/v1/completions";
    json body = chat ? hello : json{{"prompt", "a"}};
    body[std::string(row.name)] = row.kind == JsonKind::Boolean ? json(row.neutral != "true") : sample(row.kind);
    expectError(path, body, 400, std::string(row.name), std::string(row.name));
    body[std::string(row.name)] = nullptr; // null asks for nothing.
    EXPECT_EQ(call(path, body).status, 200) << row.name;
    if (row.handling == Handling::Refused)
      continue;
    body[std::string(row.name)] = json::parse(row.neutral);
    EXPECT_EQ(call(path, body).status, 200) << row.name;
  }
}

TEST_F(Refusals, EveryParameterIsRefusedWithAnotherType) {
  start();
  for (const Parameter &row : parameters()) {
    if (!(row.routes & Route::Completions) || row.handling == Handling::Refused)
      continue;
    json body = {{"prompt", "a"}};
    body[std::string(row.name)] = row.kind == JsonKind::Boolean ? json("x") : json(true);
    expectError("/v1/completions", body, 400, std::string(row.name), "expected");
  }
}

TEST_F(Refusals, EveryNumberIsRefusedOutsideItsRange) {
  start();
  for (const Parameter &row : parameters()) {
    if (!(row.routes & Route::Completions) || (row.low == 0 && row.high == 0))
      continue;
    for (double value : {row.low - 1 - std::abs(row.low), row.high * 1.5 + 1}) {
      json body = {{"prompt", "a"}};
      body[std::string(row.name)] = row.kind == JsonKind::Integer ? json(static_cast<int64_t>(value)) : json(value);
      expectError("/v1/completions", body, 400, std::string(row.name), "expected");
    }
  }
}

TEST_F(Refusals, UnknownParametersAreNamed) {
  start();
  expectError("/v1/completions", {{"prompt", "a"}, {"temprature", 1}}, 400, "temprature", "Unrecognized");
  expectError("/v1/chat/completions", {{"messages", hello["messages"]}, {"prompt", "a"}}, 400, "prompt");
  expectError("/tokenize", {{"prompt", "a"}, {"max_tokens", 1}}, 400, "max_tokens");
}

TEST_F(Refusals, CombinationsThatMeanNothing) {
  start();
  const auto refuse = [&](const char *body, const char *param) {
    expectError(json::parse(body).contains("messages") ? "/v1/chat/completions" : "/v1/completions", json::parse(body),
                400, param);
  };
  refuse(R"({"prompt":"a","stream_options":{"include_usage":true}})", "stream_options");
  refuse(R"({"prompt":"a","stream":true,"stream_options":{"x":true}})", "stream_options.x");
  refuse(R"({"prompt":"a","stream":true,"stream_options":{"include_usage":1}})", "stream_options.include_usage");
  refuse(R"({"prompt":"a","best_of":2,"n":3})", "best_of");
  refuse(R"({"prompt":"a","best_of":2,"stream":true})", "best_of");
  refuse(R"({"prompt":"a","n":17})", "n");
  refuse(R"({"prompt":"a","max_tokens":0})", "max_tokens");
  refuse(R"({"prompt":"a","max_tokens":2,"min_tokens":3})", "min_tokens");
  refuse(R"({"prompt":"a","echo":true,"logprobs":1,"stream":true})", "echo");
  refuse(R"({"prompt":[],"n":1})", "prompt");
  refuse(R"({"prompt":["a",1]})", "prompt");
  refuse(R"({"prompt":[[1],"a"]})", "prompt");
  refuse(R"({"prompt":""})", "prompt");
  refuse(R"({"n":1})", "prompt");
  refuse(R"({"messages":[{"role":"user","content":"a"}],"top_logprobs":1})", "top_logprobs");
  refuse(R"({"messages":[{"role":"user","content":"a"}],"max_tokens":1,"max_completion_tokens":1})", "max_tokens");
  refuse(R"({"messages":[{"role":"user","content":"a"}],"reasoning_effort":"low"})", "reasoning_effort");
}

/// Bug report 40: ids outside the vocabulary.
TEST_F(Refusals, IdsOutsideTheVocabulary) {
  start();
  for (const char *id : {"-1", "205", "256", "2147483648", "1099511627776", "1e30", "1.5", "18446744073709551615"}) {
    expectError("/v1/completions", json::parse(R"({"prompt":[65,)" + std::string(id) + "]}"), 400, "prompt",
                id[0] == '1' ? "" : id);
    expectError("/v1/completions", json::parse(R"({"prompt":"a","stop_token_ids":[)" + std::string(id) + "]}"), 400,
                "stop_token_ids");
    expectError("/v1/completions", json::parse(R"({"prompt":"a","logit_bias":{")" + std::string(id) + R"(":1}})"), 400,
                "logit_bias");
    expectError("/detokenize", json::parse(R"({"tokens":[)" + std::string(id) + "]}"), 400, "tokens");
  }
  for (const char *bias : {R"({"AI":1})", R"({"65":101})", R"({"65":"1"})", R"({"65":null})", R"({"":1})"})
    expectError("/v1/completions", {{"prompt", "a"}, {"logit_bias", json::parse(bias)}}, 400, "logit_bias");
}

/// Bug report 42: bodies of every wrong shape.
TEST_F(Refusals, BodiesThatAreNoRequest) {
  start();
  for (const char *path : {"/v1/completions", "/v1/chat/completions", "/v1/embeddings", "/tokenize", "/detokenize"})
    for (const std::string &body :
         {std::string("[]"), std::string("true"), std::string("null"), std::string("\"x\""), std::string("{:"),
          std::string(), std::string("{\"prompt\":\"\xFF\"}"), std::string(100'000, '['),
          std::string(R"({"prompt":"a","prompt":"b"})"), std::string("{}")}) {
      const Reply reply = fetch(server->port(), post(path, body));
      EXPECT_EQ(reply.status, 400) << path << " " << body.substr(0, 40);
      EXPECT_TRUE(json::parse(reply.body)["error"]["message"].is_string());
    }
  const auto refuse = [&](const char *messages, const char *param) {
    expectError("/v1/chat/completions", {{"messages", json::parse(messages)}}, 400, param);
  };
  refuse("[]", "messages");
  refuse(R"(["x"])", "messages[0]");
  refuse(R"([{"role":7,"content":"a"}])", "messages[0].role");
  refuse(R"([{"role":"boss","content":"a"}])", "messages[0].role");
  refuse(R"([{"role":"user","content":null}])", "messages[0].content");
  refuse(R"([{"role":"user"}])", "messages[0].content");
  refuse(R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x"}}]}])",
         "messages[0].content[0].type");
  refuse(R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text");
  refuse(R"([{"role":"user","content":"a","extra":1}])", "messages[0].extra");
  const auto format = [&](const char *value, const char *param) {
    expectError("/v1/completions", {{"prompt", "a"}, {"response_format", json::parse(value)}}, 400, param);
  };
  format(R"({})", "response_format.type");
  format(R"({"type":"xml"})", "response_format.type");
  format(R"({"type":"json_schema","schema":{}})", "response_format");
  format(R"({"type":"json_schema"})", "response_format.json_schema");
  format(R"({"type":"json_schema","json_schema":{"name":"x"}})", "response_format.json_schema.schema");
}

/// Bug report 46: a prompt beyond the context is told both numbers.
TEST_F(Refusals, PromptsBeyondTheContext) {
  start({.maxPromptTokens = 511});
  const auto prompt = [](size_t tokens) { return json{{"prompt", std::string(tokens, 'x')}, {"max_tokens", 1}}; };
  EXPECT_EQ(call("/v1/completions", prompt(511)).status, 200);
  for (size_t tokens : {512u, 513u, 5000u}) {
    expectError("/v1/completions", prompt(tokens), 400, "prompt", std::to_string(tokens) + " tokens");
    expectError("/v1/completions", prompt(tokens), 400, "prompt", "512 tokens");
    EXPECT_THAT(call("/v1/completions", prompt(tokens)).body, HasSubstr("context_length_exceeded"));
  }
  // Bodies of megabytes are read; the prompt is then too long.
  expectError("/v1/completions", prompt(2'000'000), 400, "prompt", "2000000 tokens");
}

TEST_F(Refusals, ContentTypesModelsAndRoutes) {
  start({}, {.maxBodyBytes = 10'000});
  const std::string body = R"({"prompt":"a"})";
  const auto raw = [&](const std::string &header) {
    return fetch(server->port(), "POST /v1/completions HTTP/1.1\r\nHost: t\r\n" + header +
                                     "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  EXPECT_EQ(raw("").status, 200);
  EXPECT_EQ(raw("Content-Type: application/json; charset=utf-8\r\n").status, 200);
  EXPECT_EQ(raw("Content-Type: application/x-www-form-urlencoded\r\n").status, 415);
  expectError("/v1/completions", {{"prompt", "a"}, {"model", "gpt-x"}}, 404, "model", "gpt-x");
  expectError("/v1/embeddings", {{"input", "a"}}, 400, "model", "does not support embeddings");
  EXPECT_EQ(fetch(server->port(), get("/v1/nothing")).status, 404);
  EXPECT_EQ(fetch(server->port(), get("/v1/completions")).status, 405);
  EXPECT_EQ(call("/v1/models", json::object()).status, 405);
  const Reply large = call("/v1/completions", {{"prompt", std::string(20'000, 'x')}});
  EXPECT_EQ(large.status, 413);
  EXPECT_TRUE(json::parse(large.body)["error"].is_object());
}

/// Bug report 34: the corners of the sampling parameters.
TEST_F(Refusals, ExtremeSamplingParametersAreNoServerError) {
  start();
  for (double temperature : {0.0, 1e-30, 1e-4, 1.0, 100.0})
    for (double topP : {0.0, 1e-6, 1.0})
      for (int64_t topK : {-1, 0, 1, 1'000'000'000})
        for (double minP : {0.0, 1.0})
          ASSERT_EQ(
              call("/v1/completions",
                   {{"prompt", "a"}, {"temperature", temperature}, {"top_p", topP}, {"top_k", topK}, {"min_p", minP}})
                  .status,
              200);
}

/// Bodies that are nearly right: whatever is wrong with them, it is the client's fault.
TEST_F(Refusals, MutatedBodies) {
  start();
  const std::string bodies[] = {
      R"({"prompt":["ab",[65]],"n":2,"logit_bias":{"65":-1.5},"stop":["x","yz"],"stream":true,"logprobs":2,"echo":false,
          "stream_options":{"include_usage":true},"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{}}}})",
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":null,
          "tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}],
          "tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto","top_logprobs":2,"logprobs":true})"};
  const char *pieces[] = {"null", "[]", "{}",      "-1",   "1e308",  "\"\"", "true",
                          ",",    ":",  "\\u0000", "\xFF", "\"x\":", "[[[["};
  uint64_t state = 12345;
  const auto draw = [&](size_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % bound;
  };
  Client client(server->port());
  for (int round = 0; round < 3000; ++round) {
    const size_t which = draw(2);
    std::string body = bodies[which];
    for (size_t edits = draw(3) + 1; edits > 0; --edits) {
      const size_t at = draw(body.size()), length = std::min(draw(8), body.size() - at);
      body.replace(at, length,
                   draw(3) ? pieces[draw(std::size(pieces))] : std::string(1, static_cast<char>(draw(256))));
    }
    ASSERT_TRUE(client.send(post(which ? "/v1/chat/completions" : "/v1/completions", body)));
    const Reply reply = client.read();
    ASSERT_TRUE(reply.status == 200 || (reply.status >= 400 && reply.status < 500))
        << reply.status << body << reply.body;
  }
}

/// Every file of the suite to every route that takes a body: an error in OpenAI's form, never a failure.
TEST_F(Refusals, TheJsonTestSuite) {
  const std::filesystem::path folder =
      std::filesystem::path(FUSEC_SOURCE_DIR) / "../shared/data/json/JSONTestSuite/test_parsing";
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << "needs " << folder;
  start();
  auto client = std::make_unique<Client>(server->port());
  int files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    ++files;
    for (const char *path : {"/v1/completions", "/v1/chat/completions", "/v1/embeddings", "/tokenize", "/detokenize"}) {
      client->send(post(path, text));
      const Reply reply = client->read();
      EXPECT_EQ(reply.status, 400) << entry.path() << " " << reply.body;
      EXPECT_TRUE(json::parse(reply.body, nullptr, false)["error"]["message"].is_string());
      if (reply.status != 400)
        client = std::make_unique<Client>(server->port());
    }
  }
  EXPECT_GT(files, 300);
}

} // namespace
