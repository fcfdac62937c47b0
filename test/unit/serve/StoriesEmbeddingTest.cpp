//===- StoriesEmbeddingTest.cpp - a real engine behind /v1/embeddings ----------------===//
//
// Mean embeddings of stories260K over HTTP, as make_embedding_goldens.py knows
// them. Needs the artifact in $FUSEC_STORIES_EMBEDDINGS, which the build with
// the compiler provides; skips without.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Json.h"
#include "serve/EngineBackend.h"
#include "serve/openai/Api.h"
#include "test/unit/serve/ApiFixture.h"

using namespace fusec;
using namespace fusec::serve;
using namespace fusec::serve::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

class StoriesEmbedding : public testing::Test {
protected:
  void SetUp() override {
    const char *artifact = std::getenv("FUSEC_STORIES_EMBEDDINGS");
    if (!artifact)
      GTEST_SKIP() << "needs FUSEC_STORIES_EMBEDDINGS";
    record = *readJsonFile(std::filesystem::path(FUSEC_SOURCE_DIR) / "test/golden/e2e/embeddings.json");
    auto started =
        runtime::EngineService::start({.artifact = artifact, .threads = 1, .chunkTokens = 64, .maxSequences = 3});
    ASSERT_TRUE(started.ok()) << started.status().message();
    service = std::move(*started);
    backend = std::make_unique<EngineBackend>(*service);
    server = std::move(*http::Server::bind({}));
    api = std::make_unique<Api>(*backend, *server, ApiOptions{.modelName = "stories"}, ApiHooks{});
    server->run([this](std::shared_ptr<http::Exchange> exchange) { api->handle(std::move(exchange)); });
  }
  void TearDown() override {
    if (!server)
      return;
    server->stop(0ms);
    service->stop();
    api.reset();
  }

  json ok(const json &body) {
    const Reply reply = fetch(server->port(), post("/v1/embeddings", body.dump()));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json::parse(reply.body, nullptr, false);
  }

  json record;
  std::unique_ptr<runtime::EngineService> service;
  std::unique_ptr<EngineBackend> backend;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<Api> api;
};

TEST_F(StoriesEmbedding, GivesWhatNumpyGives) {
  const double tolerance = 4 * record["f32_error"].get<double>();
  json inputs = json::array();
  for (const json &one : record["cases"])
    inputs.push_back(one["ids"]);
  const json reply = ok({{"input", inputs}});
  ASSERT_EQ(reply["data"].size(), record["cases"].size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<double> found = reply["data"][i]["embedding"], wanted = record["cases"][i]["mean"];
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t j = 0; j < found.size(); ++j)
      EXPECT_NEAR(found[j], wanted[j], tolerance) << "input " << i << ", number " << j;
  }
}

TEST_F(StoriesEmbedding, ManyAtOnceGiveTheSameNumbers) {
  const json texts = {"Once upon a time", "there was a little girl named Lily.", "The dog ran.", "Once upon a time"};
  const json together = ok({{"input", texts}});
  EXPECT_EQ(together["data"][0]["embedding"], together["data"][3]["embedding"]);
  std::vector<std::thread> clients;
  std::atomic<int> equal = 0;
  for (int i = 0; i < 12; ++i)
    clients.emplace_back([&, i] {
      const size_t which = static_cast<size_t>(i) % texts.size();
      equal += ok({{"input", texts[which]}})["data"][0]["embedding"] == together["data"][which]["embedding"];
    });
  for (std::thread &client : clients)
    client.join();
  EXPECT_EQ(equal, 12);
}

} // namespace
