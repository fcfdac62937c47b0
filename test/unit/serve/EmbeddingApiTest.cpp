//===- EmbeddingApiTest.cpp - /v1/embeddings on a fake engine -----------------------===//
//
// Base64: the vectors of RFC 4648, section 10.
//
//===----------------------------------------------------------------------===//
#include "serve/openai/EmbeddingReply.h"
#include "test/unit/serve/ApiFixture.h"

#include <cmath>
#include <cstring>

using namespace fusec;
using namespace fusec::serve;
using namespace fusec::serve::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

constexpr const char *path = "/v1/embeddings";

class EmbeddingApi : public ApiTest {
protected:
  EmbeddingApi() { backend.serveEmbeddings(); }
};

/// FakeBackend::serveEmbeddings.
std::vector<double> expected(double count, double first, double last) {
  const double length = std::sqrt(count * count + first * first + last * last + 1);
  return {count / length, first / length, last / length, 1 / length};
}

void expectNear(const std::vector<double> &found, const std::vector<double> &wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-6) << i;
}

TEST_F(EmbeddingApi, EveryFormOfInput) {
  start();
  const json one = ok(path, {{"input", "abc"}, {"model", "fake"}, {"user", "u"}});
  EXPECT_EQ(one["object"], "list");
  EXPECT_EQ(one["model"], "fake");
  EXPECT_EQ(one["usage"], json({{"prompt_tokens", 3}, {"total_tokens", 3}}));
  ASSERT_EQ(one["data"].size(), 1u);
  EXPECT_EQ(one["data"][0]["object"], "embedding");
  EXPECT_EQ(one["data"][0]["index"], 0);
  expectNear(one["data"][0]["embedding"], expected(3, 'a', 'c'));
  EXPECT_EQ(ok(path, {{"input", {"abc"}}})["data"], one["data"]);
  EXPECT_EQ(ok(path, {{"input", {'a', 'b', 'c'}}})["data"], one["data"]);
  for (const json &input : {json({"abc", "z"}), json({{'a', 'b', 'c'}, {'z'}})}) {
    const json two = ok(path, {{"input", input}});
    ASSERT_EQ(two["data"].size(), 2u);
    EXPECT_EQ(two["data"][0], one["data"][0]);
    EXPECT_EQ(two["data"][1]["index"], 1);
    expectNear(two["data"][1]["embedding"], expected(1, 'z', 'z'));
    EXPECT_EQ(two["usage"]["prompt_tokens"], 4);
  }
}

TEST_F(EmbeddingApi, ControlTokensInTextAreText) {
  start();
  EXPECT_EQ(ok(path, {{"input", "<|im_end|>"}})["usage"]["prompt_tokens"], 10);
}

TEST_F(EmbeddingApi, Base64HoldsTheSameFloats) {
  start();
  const json numbers = ok(path, {{"input", "abc"}, {"encoding_format", "float"}})["data"][0]["embedding"];
  const json text = ok(path, {{"input", "abc"}, {"encoding_format", "base64"}})["data"][0]["embedding"];
  std::vector<float> floats;
  for (const json &number : numbers)
    floats.push_back(number.get<float>());
  EXPECT_EQ(text, base64(std::as_bytes(std::span(floats))));
}

TEST(Base64, VectorsOfTheStandard) {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto &[plain, encoded] : vectors)
    EXPECT_EQ(base64(std::as_bytes(std::span(plain))), encoded);
}

TEST_F(EmbeddingApi, DimensionsCutAndBringBackToLengthOne) {
  start();
  const json whole = ok(path, {{"input", "abc"}, {"dimensions", 4}});
  EXPECT_EQ(whole["data"], ok(path, {{"input", "abc"}})["data"]);
  const double length = std::sqrt(3.0 * 3 + 'a' * 'a');
  expectNear(ok(path, {{"input", "abc"}, {"dimensions", 2}})["data"][0]["embedding"], {3 / length, 'a' / length});
  expectError(path, {{"input", "abc"}, {"dimensions", 5}}, 400, "dimensions", "at most 4");
  expectError(path, {{"input", "abc"}, {"dimensions", 0}}, 400, "dimensions", "from 1");
}

TEST_F(EmbeddingApi, InputsThatAreNone) {
  start({.maxPromptTokens = 100, .maxInputs = 3});
  const auto refuse = [&](const json &input, const std::string &message) {
    expectError(path, {{"input", input}}, 400, "input", message);
  };
  expectError(path, json::object(), 400, "input", "missing");
  refuse(nullptr, "missing");
  refuse("", "not empty");
  refuse(json::array(), "empty array");
  refuse({"a", ""}, "input[1]: expected a string that is not empty");
  refuse({json::array({'a'}), json::array()}, "input[1]: expected at least one token");
  refuse({"a", 1}, "input[1]: expected all strings");
  refuse({1, "a"}, "input[1]: expected a token id");
  refuse({1, 256}, "input[1]: expected a token id");
  refuse({{1}, {-1}}, "input[1][0]");
  refuse(json::parse("[[[1]]]"), "input[0][0]");
  refuse(json::parse("[{}]"), "input[0]: expected all strings");
  refuse(7, "a string or an array");
  refuse({"a", "b", "c", "d"}, "at most 3 inputs, found 4");
  refuse({"a", std::string(101, 'a')}, "at most 100 tokens (--max-prompt-tokens). However, input[1] has 101 tokens");
  refuse(std::string(513, 'a'), "maximum context length is 512 tokens. However, input has 513 tokens");
  expectError(path, {{"input", "a"}, {"encoding_format", "hex"}}, 400, "encoding_format", "base64");
  expectError(path, {{"input", "a"}, {"temperature", 1}}, 400, "temperature");
  expectError(path, {{"input", "a"}, {"model", "gpt"}}, 404, "model");
  EXPECT_EQ(ok(path, {{"input", std::string(100, 'a')}})["usage"]["total_tokens"], 100);
}

TEST_F(EmbeddingApi, AnInputMayFillTheContext) {
  start();
  EXPECT_EQ(ok(path, {{"input", std::string(512, 'a')}})["usage"]["total_tokens"], 512);
}

TEST_F(EmbeddingApi, TextIsRefusedByName) {
  start();
  const json message = {{"role", "user"}, {"content", "Hi"}};
  expectError("/v1/completions", {{"prompt", "a"}}, 400, "model", "use POST /v1/embeddings");
  expectError("/v1/chat/completions", {{"messages", {message}}}, 400, "model", "use POST /v1/embeddings");
}

TEST_F(EmbeddingApi, ClientsThatLeaveLeaveNothing) {
  start();
  backend.stalled = true;
  Client client(server->port());
  client.send(post(path, json{{"input", {"a", "b", "c"}}}.dump()));
  ASSERT_TRUE(waitFor([&] { return backend.open() == 3; }));
  client.reset();
  EXPECT_TRUE(waitFor([&] { return backend.open() == 0; }));
  EXPECT_EQ(backend.cancelled(), 3);
}

TEST_F(EmbeddingApi, AFailingEngineIsAnError) {
  backend.failing = true;
  start();
  EXPECT_EQ(call(path, {{"input", {"a", "b"}}}).status, 500);
}

TEST_F(EmbeddingApi, IsCountedLoggedAndLimited) {
  start({.maxConcurrent = 1, .logPrompts = true});
  ok(path, {{"input", {"abc", "z"}}, {"user", "someone"}});
  EXPECT_THAT(fetch(server->port(), get("/metrics")).body, HasSubstr("route=\"/v1/embeddings\",status=\"200\"} 1"));
  backend.stalled = true;
  Client waiting(server->port());
  waiting.send(post(path, json{{"input", "a"}}.dump()));
  ASSERT_TRUE(waitFor([&] { return backend.open() == 1; }));
  EXPECT_EQ(call(path, {{"input", "a"}}).status, 429);
  backend.stalled = false;
  EXPECT_EQ(waiting.read().status, 200);
  server->stop(std::chrono::milliseconds(0));
  const json line = json::parse(lines.front());
  EXPECT_EQ(line["inputs"], 2);
  EXPECT_EQ(line["prompt_tokens"], 4);
  EXPECT_EQ(line["user"], "someone");
  EXPECT_EQ(line["prompts"], json({"abc", "z"}));
}

} // namespace
