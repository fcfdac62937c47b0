//===- ApiFixture.h - the routes over real sockets, on a fake engine ----------------===//
#pragma once

#include "serve/openai/Api.h"
#include "test/unit/serve/Client.h"
#include "test/unit/serve/FakeBackend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace fusec::serve::test {

/// The events of a stream, without "data: ".
std::vector<std::string> events(const std::string &stream);
/// Joins what the chunks of one choice say.
std::string joinedText(const std::string &stream, int index = 0);

class ApiTest : public testing::Test {
protected:
  void start(ApiOptions options = {}, http::ServerOptions serverOptions = {});
  void TearDown() override;

  Reply call(const std::string &path, const nlohmann::json &body, const std::string &headers = "") {
    return fetch(server->port(), post(path, body.dump(), headers));
  }
  /// The same, but the answer has to be 200.
  nlohmann::json ok(const std::string &path, const nlohmann::json &body, const std::string &headers = "");
  /// The same, but the answer has to be this error.
  void expectError(const std::string &path, const nlohmann::json &body, int status, const std::string &param,
                   const std::string &message = "");
  std::string stream(const std::string &path, nlohmann::json body);
  bool waitFor(const std::function<bool()> &condition, std::chrono::milliseconds patience = std::chrono::seconds(5));

  FakeBackend backend;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<Api> api;
  std::vector<std::string> lines; ///< Of the log; read it when the server is idle.
};

} // namespace fusec::serve::test
