//===- ConnectionExchange.h - the exchange of a real connection ---------------===//
//
// Keeps the connection alive while an answer is due, and lets go of it with the
// answer's end or the client's. See Exchange for the rules.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/http/Connection.h"

namespace fusec::serve::http {

class ConnectionExchange final : public Exchange {
public:
  ConnectionExchange(std::shared_ptr<Connection> connection, Request request)
      : connection(std::move(connection)), message(std::move(request)) {}
  ~ConnectionExchange() override;

  const Request &request() const override { return message; }
  void addHeader(Header header) override { extra.push_back(std::move(header)); }
  void respond(Response response) override;
  void startStream(Response head) override;
  void send(std::string_view bytes) override;
  void endStream() override;
  void onAbandoned(std::function<void(Departure)> callback) override;

  /// The client left.
  void abandon(Departure why);

private:
  enum class Stage { Waiting, Streaming, Done, Abandoned };

  std::shared_ptr<Connection> connection; ///< Null once done or abandoned.
  Request message;
  std::vector<Header> extra;
  Stage stage = Stage::Waiting;
  std::function<void(Departure)> abandoned;
  Departure departure = Departure::Left;
};

} // namespace fusec::serve::http
