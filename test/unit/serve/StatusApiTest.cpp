//===- StatusApiTest.cpp - health, models, figures, keys ----------------------------===//
#include "test/unit/serve/ApiFixture.h"

#include <fstream>

using namespace fusec;
using namespace fusec::serve;
using namespace fusec::serve::test;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

namespace {

class StatusApi : public ApiTest {
protected:
  Reply ask(const std::string &path, const std::string &headers = "") {
    return fetch(server->port(), get(path, headers));
  }
};

TEST_F(StatusApi, ListsTheModel) {
  start({.modelName = "org/my model"});
  const json list = json::parse(ask("/v1/models").body);
  EXPECT_EQ(list["object"], "list");
  EXPECT_EQ(list["data"][0]["id"], "org/my model");
  EXPECT_EQ(list["data"][0]["object"], "model");
  EXPECT_EQ(json::parse(ask("/v1/models/org%2Fmy%20model").body)["id"], "org/my model");
  EXPECT_EQ(ask("/v1/models/other").status, 404);
  EXPECT_EQ(json::parse(ask("/version").body)["version"], "test");
}

TEST_F(StatusApi, HealthIsProgress) {
  start();
  EXPECT_EQ(ask("/health").status, 200);
  EXPECT_EQ(ask("/ready").status, 200);
  backend.stalled = true;
  Client waiting(server->port());
  waiting.send(post("/v1/completions", R"({"prompt":"a"})"));
  ASSERT_TRUE(waitFor([&] { return backend.open() == 1; }));
  const Reply reply = ask("/health");
  EXPECT_EQ(reply.status, 503);
  EXPECT_THAT(reply.body, HasSubstr("no step for"));
}

TEST_F(StatusApi, TokenizesAndBack) {
  start();
  const json ids = ok("/tokenize", {{"prompt", "a<|im_end|>"}, {"return_token_strs", true}});
  EXPECT_EQ(ids["tokens"], json::array({97, imEnd}));
  EXPECT_EQ(ids["count"], 2);
  EXPECT_EQ(ids["max_model_len"], 512);
  EXPECT_EQ(ids["token_strs"], json::array({"a", "<|im_end|>"}));
  EXPECT_EQ(ok("/detokenize", {{"tokens", ids["tokens"]}})["prompt"], "a<|im_end|>");
  EXPECT_EQ(ok("/detokenize", {{"tokens", ids["tokens"]}, {"skip_special_tokens", true}})["prompt"], "a");
}

TEST_F(StatusApi, WritesPrometheusText) {
  start({.metricsAliasVllm = true});
  ok("/v1/completions", {{"prompt", "a"}});
  const Reply reply = ask("/metrics");
  EXPECT_THAT(reply.headers.at("content-type"), HasSubstr("text/plain; version=0.0.4"));
  for (const char *line :
       {"# TYPE fusec_num_requests_running gauge\n", "vllm:num_requests_running{model_name=\"fake\"} 0\n",
        "# TYPE fusec_time_to_first_token_seconds histogram\n",
        "vllm:e2e_request_latency_seconds_bucket{model_name=\"fake\",le=\"+Inf\"} 0\n",
        "fusec_prefix_cache_queries_total{model_name=\"fake\"} 0\n",
        "fusec_http_requests_total{model_name=\"fake\",route=\"/v1/completions\",status=\"200\"} 1\n",
        "fusec_request_success_total{model_name=\"fake\",finished_reason=\"abort\"} 0\n"})
    EXPECT_THAT(reply.body, HasSubstr(line));
}

TEST_F(StatusApi, ShowsFiguresOnceAndLive) {
  start();
  EXPECT_TRUE(json::parse(ask("/api/stats").body)["counters"].contains("generation_tokens_total"));
  Client watcher(server->port());
  watcher.send(get("/api/live"));
  ASSERT_TRUE(watcher.readUntil("data: "));
  const size_t seen = watcher.buffered().size();
  ASSERT_TRUE(watcher.readMore(3000));
  EXPECT_GT(watcher.buffered().size(), seen);
  EXPECT_EQ(api->drain(std::chrono::seconds(5)), 0);
  EXPECT_TRUE(watcher.readUntil("0\r\n\r\n"));
}

TEST_F(StatusApi, KeysGuardAllButHealth) {
  start({.apiKeys = {"key-a", "key-b"}, .adminKey = "root"});
  for (const Api::RouteInfo &route : Api::routes()) {
    const bool isGet = route.method == "GET";
    const std::string path = std::string(route.path) + (route.path != "/" && route.path.ends_with('/') ? "fake" : "");
    const auto statusOf = [&](const std::string &headers) {
      Client client(server->port());
      client.send(isGet ? get(path, headers) : post(path, "{}", headers));
      client.readUntil("\r\n\r\n");
      return client.buffered().substr(9, 3);
    };
    if (route.path == "/admin/drain")
      continue;
    const bool open = route.guard == Guard::Open, admin = route.guard == Guard::Admin;
    EXPECT_EQ(statusOf("") == "401", !open) << route.path;
    EXPECT_EQ(statusOf("Authorization: Bearer wrong\r\n") == "401", !open) << route.path;
    EXPECT_EQ(statusOf("Authorization: Bearer key-b\r\n") == "401", admin) << route.path;
    EXPECT_NE(statusOf("Authorization: Bearer root\r\n"), "401") << route.path;
  }
  const json error = json::parse(ask("/v1/models", "Authorization: Bearer wrong\r\n").body)["error"];
  EXPECT_EQ(error["code"], "invalid_api_key");
  EXPECT_EQ(ask("/nothing").status, 401);
  EXPECT_EQ(ask("/nothing", "X-Api-Key: key-a\r\n").status, 404);
}

TEST_F(StatusApi, KeysAreTenants) {
  start({.apiKeys = {"key-a", "key-b"}});
  std::set<std::string> tenants;
  for (const char *key : {"key-a", "key-b", "key-a"}) {
    ok("/v1/completions", {{"prompt", "a"}}, "Authorization: Bearer " + std::string(key) + "\r\n");
    tenants.insert(backend.last->tenant);
    EXPECT_THAT(backend.last->tenant, Not(HasSubstr("key")));
  }
  EXPECT_EQ(tenants.size(), 2u);
}

TEST_F(StatusApi, AdministrationNeedsItsKey) {
  start();
  EXPECT_EQ(call("/admin/flush", json::object()).status, 403);
  TearDown();
  start({.adminKey = "root"});
  EXPECT_EQ(call("/admin/flush", json::object()).status, 401);
  EXPECT_EQ(call("/admin/flush", json::object(), "Authorization: Bearer root\r\n").status, 200);
  EXPECT_EQ(backend.flushes, 1);
  EXPECT_EQ(call("/admin/drain", json::object(), "Authorization: Bearer root\r\n").status, 200);
  EXPECT_EQ(call("/v1/completions", {{"prompt", "a"}}).status, 503);
}

TEST_F(StatusApi, RefusesPagesOfOtherOrigins) {
  start({.corsOrigins = {"https://chat.example"}});
  const std::string host = "127.0.0.1:" + std::to_string(server->port());
  const auto from = [&](const std::string &origin) {
    return fetch(server->port(), "GET /v1/models HTTP/1.1\r\nHost: " + host + "\r\nOrigin: " + origin + "\r\n\r\n");
  };
  EXPECT_EQ(from("http://" + host).status, 200);
  EXPECT_EQ(from("https://chat.example").headers.at("access-control-allow-origin"), "https://chat.example");
  EXPECT_EQ(from("https://evil.example").status, 403);
  EXPECT_EQ(from("null").status, 403);
  // A name that an attacker made point here.
  EXPECT_EQ(fetch(server->port(),
                  "GET /v1/models HTTP/1.1\r\nHost: evil.example:80\r\nOrigin: http://evil.example:80\r\n\r\n")
                .status,
            403);
  const Reply preflight =
      fetch(server->port(), "OPTIONS /v1/completions HTTP/1.1\r\nHost: t\r\nOrigin: https://chat.example\r\n"
                            "Access-Control-Request-Method: POST\r\n\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_THAT(preflight.headers.at("access-control-allow-headers"), HasSubstr("authorization"));
}

TEST_F(StatusApi, GivesRequestIds) {
  start();
  EXPECT_EQ(ask("/health", "X-Request-Id: abc-1\r\n").headers.at("x-request-id"), "abc-1");
  EXPECT_THAT(ask("/health").headers.at("x-request-id"), testing::StartsWith("req-"));
  EXPECT_THAT(ask("/health", "X-Request-Id: a b<script>\r\n").headers.at("x-request-id"), testing::StartsWith("req-"));
}

/// The documentation holds the tables of the code.
TEST(ApiDocs, HoldTheTables) {
  std::ifstream stream(FUSEC_SOURCE_DIR "/docs/serving/api.md");
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  EXPECT_NE(text.find(parametersAsMarkdown()), std::string::npos)
      << "docs/serving/api.md: the table of parameters should be\n"
      << parametersAsMarkdown();
  for (const Api::RouteInfo &route : Api::routes())
    EXPECT_THAT(text, HasSubstr("`" + std::string(route.method) + " " + std::string(route.path)));
  for (const ErrorKindInfo &kind : errorKinds())
    EXPECT_THAT(text, HasSubstr("| " + std::to_string(kind.status) + " | `" + std::string(kind.code) + "` |"));
}

} // namespace
