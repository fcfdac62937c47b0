//===- ApiFixture.cpp - the routes over real sockets, on a fake engine --------------===//
#include "test/unit/serve/ApiFixture.h"

namespace fusec::serve::test {

using nlohmann::json;

std::vector<std::string> events(const std::string &stream) {
  std::vector<std::string> list;
  for (size_t begin = stream.find("data: "); begin != std::string::npos; begin = stream.find("data: ", begin + 1)) {
    const size_t end = stream.find("\n\n", begin);
    list.push_back(stream.substr(begin + 6, end - begin - 6));
    begin = end;
  }
  return list;
}

std::string joinedText(const std::string &stream, int index) {
  std::string text;
  for (const std::string &event : events(stream)) {
    if (event == "[DONE]")
      continue;
    const json chunk = json::parse(event);
    for (const json &choice : chunk.value("choices", json::array())) {
      if (choice["index"] != index)
        continue;
      text += choice.contains("delta") ? choice["delta"].value("content", "") : choice["text"].get<std::string>();
    }
  }
  return text;
}

void ApiTest::start(ApiOptions options, http::ServerOptions serverOptions) {
  auto bound = http::Server::bind(serverOptions);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  server = std::move(*bound);
  options.version = "test";
  ApiHooks hooks;
  hooks.log = [this](std::string_view line) { lines.emplace_back(line); };
  hooks.serverStats = [this] { return server->stats(); };
  api = std::make_unique<Api>(backend, *server, options, hooks);
  server->run([this](std::shared_ptr<http::Exchange> exchange) { api->handle(std::move(exchange)); });
}

void ApiTest::TearDown() {
  if (!server)
    return;
  server->stop(std::chrono::milliseconds(0));
  waitFor([&] { return backend.open() == 0; }); // Else the backend would speak to a server that is gone.
  api.reset();
}

json ApiTest::ok(const std::string &path, const json &body, const std::string &headers) {
  const Reply reply = call(path, body, headers);
  EXPECT_EQ(reply.status, 200) << reply.body;
  return json::parse(reply.body, nullptr, false);
}

void ApiTest::expectError(const std::string &path, const json &body, int status, const std::string &param,
                          const std::string &message) {
  const Reply reply = call(path, body);
  EXPECT_EQ(reply.status, status) << body.dump() << " " << reply.body;
  const json error = json::parse(reply.body, nullptr, false)["error"];
  ASSERT_TRUE(error.is_object()) << reply.body;
  EXPECT_EQ(error["param"], param.empty() ? json(nullptr) : json(param)) << body.dump() << " " << reply.body;
  EXPECT_TRUE(error["type"].is_string() && error.contains("code"));
  EXPECT_THAT(error["message"].get<std::string>(), testing::HasSubstr(message));
}

std::string ApiTest::stream(const std::string &path, json body) {
  body["stream"] = true;
  const Reply reply = call(path, body);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.headers.at("content-type"), testing::HasSubstr("text/event-stream"));
  EXPECT_EQ(events(reply.body).back(), "[DONE]");
  return reply.body;
}

bool ApiTest::waitFor(const std::function<bool()> &condition, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) // Once: asking may change the answer.
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

} // namespace fusec::serve::test
