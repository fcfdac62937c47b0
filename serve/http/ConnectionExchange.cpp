//===- ConnectionExchange.cpp - the exchange of a real connection --------------===//
#include "serve/http/ConnectionExchange.h"

#include <boost/asio/post.hpp>

#include <utility>

namespace fusec::serve::http {

ConnectionExchange::~ConnectionExchange() {
  if (!connection)
    return;
  // The last reference may be dropped on any thread; the connection belongs to the loop.
  const auto executor = connection->socket.get_executor();
  const bool streaming = stage == Stage::Streaming;
  boost::asio::post(executor, [connection = std::move(connection), streaming] {
    if (streaming || connection->state != Connection::State::Busy)
      connection->close();
    else
      connection->fail(500, "the request was dropped without an answer");
  });
}

void ConnectionExchange::respond(Response response) {
  if (stage != Stage::Waiting)
    return;
  stage = Stage::Done;
  response.headers.insert(response.headers.end(), extra.begin(), extra.end());
  std::exchange(connection, nullptr)->respond(response);
}

void ConnectionExchange::startStream(Response head) {
  if (stage != Stage::Waiting)
    return;
  stage = Stage::Streaming;
  head.headers.insert(head.headers.end(), extra.begin(), extra.end());
  auto kept = connection; // The call may end this exchange.
  kept->startStream(head);
}

void ConnectionExchange::send(std::string_view bytes) {
  if (stage != Stage::Streaming)
    return;
  auto kept = connection;
  kept->send(bytes);
}

void ConnectionExchange::endStream() {
  if (stage != Stage::Streaming)
    return;
  stage = Stage::Done;
  std::exchange(connection, nullptr)->endStream();
}

void ConnectionExchange::onAbandoned(std::function<void(Departure)> callback) {
  if (stage == Stage::Abandoned)
    callback(departure);
  else
    abandoned = std::move(callback);
}

void ConnectionExchange::abandon(Departure why) {
  departure = why;
  stage = Stage::Abandoned;
  connection.reset();
  if (auto callback = std::exchange(abandoned, nullptr))
    callback(why);
}

} // namespace fusec::serve::http
