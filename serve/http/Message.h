//===- Message.h - an HTTP request and its answer as plain data --------------===//
//
//   if (request.method == "GET" && request.path == "/health")
//     exchange->respond({.status = 200, .body = R"({"status":"ok"})"});
//
// Values; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fusec::serve::http {

struct Header {
  std::string name; ///< Lower case in requests.
  std::string value;
};

struct Request {
  std::string method; ///< "GET", "POST", ... as sent.
  std::string path;   ///< The target up to '?', as sent (not percent-decoded).
  std::string query;  ///< Behind the '?'; empty without one.
  std::vector<Header> headers;
  std::string body;
  std::string remote; ///< Address of the peer, for logs.

  /// The first header of that (lower case) name; empty when there is none.
  std::string_view header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string contentType = "application/json";
  std::vector<Header> headers = {}; ///< Further ones; not Content-Length, Transfer-Encoding or Connection.
  std::string body = {};
};

/// "Not Found", ...; "Unknown" for a status that is not in the table.
std::string_view reasonPhrase(int status);

} // namespace fusec::serve::http
