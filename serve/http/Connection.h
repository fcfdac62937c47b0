//===- Connection.h - one client's socket and what it is about ----------------===//
//
// A state machine over one continuous read:
//
//   Idle --first byte--> Head --> Body --> Busy --answer sent--> Idle
//                          \________ error answer ________--> Lingering
//
// The read goes on while a request is answered (Busy): that is how the end of
// the client is seen, and pipelined requests arrive early. Lingering throws
// away what the client still sends, so that it can read the error answer
// instead of a reset.
//
// Ownership: keeps itself alive while an operation is pending. Threading: the
// loop's thread only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/http/Server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
#include <memory>
#include <optional>

namespace fusec::serve::http {

class Connection;
class ConnectionExchange;

/// What connections share with their server.
struct ServerShared {
  ServerOptions options;
  Server::Handler handler;
  ServerStats stats;
  bool stopping = false;
  std::function<void(Connection *)> onClosed; ///< The connection's last call.
};

class Connection : public std::enable_shared_from_this<Connection> {
public:
  using Clock = std::chrono::steady_clock;

  Connection(boost::asio::ip::tcp::socket socket, ServerShared &shared);

  void start();
  /// Answers 503 and closes.
  void refuse();
  /// Closes now when no request is being answered, else after its answer.
  void closeWhenIdle();
  /// Closes now; a request being answered is abandoned.
  void close(Departure why = Departure::Left);
  /// Acts on deadlines that have passed.
  void checkDeadlines(Clock::time_point now);

private:
  friend class ConnectionExchange;
  enum class State { Idle, Head, Body, Busy, Lingering, Closed };

  void read();
  void onRead(const boost::system::error_code &error, size_t bytes);
  void parse();
  void enterBody();
  void dispatch();
  void onPeerGone(bool ended);
  void abandon(Departure why);
  /// Answers an error of the transport and closes after it.
  void fail(int status, std::string_view message);

  // Of the exchange being answered.
  void writeHead(const Response &response, bool streamed);
  void respond(const Response &response);
  void startStream(const Response &head);
  void send(std::string_view bytes);
  void endStream();
  void answered();

  void append(std::string_view bytes);
  void flush();
  void onWritten(const boost::system::error_code &error, size_t bytes);
  void finishAnswer();
  void linger();
  void enter(State next, std::chrono::milliseconds timeout);

  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  boost::asio::ip::tcp::socket socket;
  ServerShared &shared;
  State state = State::Idle;
  Clock::time_point deadline = Clock::time_point::max();
  std::string remote;

  std::array<char, 8192> chunk; ///< Where the pending read writes to.
  std::string input;            ///< Read, but not parsed yet.
  std::optional<Parser> parser;
  bool reading = false;
  bool inputEnded = false;

  std::weak_ptr<ConnectionExchange> exchange; ///< The one being answered.
  bool keepAlive = false, chunked = false, headOnly = false, oldClient = false;
  bool complete = false; ///< The whole answer is in the output.

  std::string output, inFlight;
  size_t inFlightSent = 0;
  bool writing = false;
  Clock::time_point lastProgress;
};

} // namespace fusec::serve::http
