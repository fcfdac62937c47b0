//===- Connection.cpp - one client's socket and what it is about --------------===//
#include "serve/http/ConnectionExchange.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/read.hpp>

#include <algorithm>
#include <cstdio>

namespace fusec::serve::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

static constexpr std::chrono::milliseconds lingerTime{3'000}, lastLingerTime{200};
/// Bytes the kernel may hold of an answer: small, so that a client that stops reading is noticed early.
static constexpr int sendBufferBytes = 64 * 1024;

Connection::Connection(asio::ip::tcp::socket accepted, ServerShared &shared)
    : socket(std::move(accepted)), shared(shared) {
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::send_buffer_size(sendBufferBytes), ignored);
  const auto peer = socket.remote_endpoint(ignored);
  if (!ignored)
    remote = peer.address().to_string(ignored);
}

void Connection::enter(State next, std::chrono::milliseconds timeout) {
  state = next;
  deadline = timeout.count() > 0 ? Clock::now() + timeout : Clock::time_point::max();
}

void Connection::start() {
  enter(State::Idle, shared.options.idleTimeout);
  read();
}

void Connection::refuse() {
  state = State::Head;
  fail(503, "the server has as many connections as it may have");
  read();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

void Connection::read() {
  const bool full = state == State::Busy && input.size() >= shared.options.maxPipelinedBytes;
  if (reading || inputEnded || state == State::Closed || full)
    return;
  reading = true;
  socket.async_read_some(asio::buffer(chunk), [self = shared_from_this()](const error_code &error, size_t bytes) {
    self->onRead(error, bytes);
  });
}

void Connection::onRead(const error_code &error, size_t bytes) {
  reading = false;
  if (state == State::Closed)
    return;
  if (error) {
    onPeerGone(error == asio::error::eof);
    return;
  }
  if (state == State::Lingering) {
    read();
    return;
  }
  input.append(chunk.data(), bytes);
  parse();
  read();
}

/// Takes as much of the input as belongs to the request being read.
void Connection::parse() {
  while (input.size() > 0 && state < State::Busy) {
    if (state == State::Idle) {
      parser.emplace();
      parser->eager(true);
      parser->header_limit(shared.options.maxHeaderBytes);
      parser->body_limit(shared.options.maxBodyBytes);
      enter(State::Head, shared.options.headerTimeout);
    }
    error_code error;
    input.erase(0, parser->put(asio::buffer(input), error));
    if (error == beast::http::error::need_more)
      error = {};
    if (error == beast::http::error::body_limit)
      return fail(413, "the body is larger than " + std::to_string(shared.options.maxBodyBytes) + " bytes");
    if (error == beast::http::error::header_limit)
      return fail(431, "the header is larger than " + std::to_string(shared.options.maxHeaderBytes) + " bytes");
    if (error)
      return fail(400, "not an HTTP/1.1 request: " + error.message());
    if (state == State::Head && parser->is_header_done())
      enterBody();
    if (!parser->is_done())
      return;
    dispatch();
  }
}

void Connection::enterBody() {
  enter(State::Body, shared.options.bodyTimeout);
  const auto &head = parser->get();
  // A client that asks first waits for this before it sends the body; one whose body is here already needs none.
  if (!parser->is_done() && beast::iequals(head[beast::http::field::expect], "100-continue")) {
    append("HTTP/1.1 100 Continue\r\n\r\n");
    flush();
  }
}

static Request takeRequest(beast::http::request<beast::http::string_body> &&message) {
  Request request;
  request.method = std::string(message.method_string());
  const std::string_view target(message.target().data(), message.target().size());
  const size_t mark = target.find('?');
  request.path = std::string(target.substr(0, mark));
  if (mark != std::string_view::npos)
    request.query = std::string(target.substr(mark + 1));
  for (const auto &field : message) {
    std::string name(field.name_string());
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    request.headers.push_back({std::move(name), std::string(field.value())});
  }
  request.body = std::move(message.body());
  return request;
}

void Connection::dispatch() {
  enter(State::Busy, {});
  auto message = parser->release();
  parser.reset();
  keepAlive = message.keep_alive();
  oldClient = message.version() < 11;
  headOnly = message.method() == beast::http::verb::head;
  complete = chunked = false;
  Request request = takeRequest(std::move(message));
  request.remote = remote;
  auto opened = std::make_shared<ConnectionExchange>(shared_from_this(), std::move(request));
  exchange = opened;
  shared.handler(std::move(opened));
}

//===----------------------------------------------------------------------===//
// The end of the client
//===----------------------------------------------------------------------===//

/// `ended`: the client sends no more (but might still read); otherwise the connection broke.
void Connection::onPeerGone(bool ended) {
  inputEnded = true;
  if (!ended || state == State::Idle || state == State::Head || state == State::Body)
    return close();
  if (state == State::Busy && !complete)
    return close(); // See Server.h: the end of the input is the end of the client.
  keepAlive = false;
  if (!writing && output.empty())
    close();
}

void Connection::abandon(Departure why) {
  if (auto open = exchange.lock()) {
    exchange.reset();
    ++shared.stats.abandoned;
    open->abandon(why);
  }
}

void Connection::close(Departure why) {
  if (state == State::Closed)
    return;
  const bool unanswered = state == State::Busy && !complete;
  enter(State::Closed, {});
  error_code ignored;
  socket.close(ignored);
  if (unanswered)
    abandon(why);
  shared.onClosed(this);
}

void Connection::closeWhenIdle() {
  keepAlive = false;
  if (state < State::Busy)
    close();
}

void Connection::checkDeadlines(Clock::time_point now) {
  if (writing && now - lastProgress > shared.options.writeTimeout)
    return close(Departure::TooSlow);
  if (now < deadline)
    return;
  if (state == State::Head || state == State::Body)
    return fail(408, "the request did not arrive in time");
  close();
}

//===----------------------------------------------------------------------===//
// Answering
//===----------------------------------------------------------------------===//

void Connection::writeHead(const Response &response, bool streamed) {
  const bool hasBody = response.status != 204 && response.status != 304;
  chunked = streamed && !oldClient;
  if (shared.stopping || (streamed && !chunked))
    keepAlive = false;
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " " + std::string(reasonPhrase(response.status));
  head += "\r\nConnection: ";
  head += keepAlive ? "keep-alive" : "close";
  if (hasBody)
    head += "\r\nContent-Type: " + response.contentType;
  if (chunked)
    head += "\r\nTransfer-Encoding: chunked";
  else if (!streamed && hasBody)
    head += "\r\nContent-Length: " + std::to_string(response.body.size());
  for (const Header &header : response.headers)
    head += "\r\n" + header.name + ": " + header.value;
  append(head + "\r\n\r\n");
}

void Connection::respond(const Response &response) {
  writeHead(response, /*streamed=*/false);
  if (!headOnly)
    append(response.body);
  answered();
}

void Connection::startStream(const Response &head) {
  writeHead(head, /*streamed=*/true);
  send(head.body);
  flush();
}

void Connection::send(std::string_view bytes) {
  if (bytes.empty() || headOnly)
    return; // An empty chunk would end the stream.
  if (chunked) {
    char size[24];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    append(size);
  }
  append(bytes);
  if (chunked)
    append("\r\n");
  if (output.size() + inFlight.size() - inFlightSent > shared.options.maxUnsentBytes)
    return close(Departure::TooSlow);
  flush();
}

void Connection::endStream() {
  if (chunked && !headOnly)
    append("0\r\n\r\n");
  answered();
}

/// The whole answer is in the output.
void Connection::answered() {
  complete = true;
  exchange.reset();
  flush();
}

void Connection::fail(int status, std::string_view message) {
  // In the form of the API's errors: whoever made the request may look for it. Messages hold no quotes.
  Response response{.status = status};
  response.body = "{\"error\":{\"message\":\"" + std::string(message) + "\",\"type\":\"" +
                  (status < 500 ? "invalid_request_error" : "server_error") + "\",\"param\":null,\"code\":null}}";
  enter(State::Busy, {});
  parser.reset();
  keepAlive = headOnly = oldClient = false;
  writeHead(response, /*streamed=*/false);
  append(response.body);
  answered();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void Connection::append(std::string_view bytes) { output += bytes; }

void Connection::flush() {
  if (writing || state == State::Closed)
    return;
  if (inFlightSent == inFlight.size()) {
    inFlight.clear();
    inFlightSent = 0;
    std::swap(inFlight, output);
  }
  if (inFlight.empty())
    return finishAnswer();
  writing = true;
  lastProgress = Clock::now();
  socket.async_write_some(
      asio::buffer(inFlight.data() + inFlightSent, inFlight.size() - inFlightSent),
      [self = shared_from_this()](const error_code &error, size_t bytes) { self->onWritten(error, bytes); });
}

void Connection::onWritten(const error_code &error, size_t bytes) {
  writing = false;
  if (state == State::Closed)
    return;
  if (error)
    return close();
  inFlightSent += bytes;
  flush();
}

/// All output is written; when the answer is complete, the connection goes on to the next request.
void Connection::finishAnswer() {
  if (state != State::Busy || !complete)
    return;
  if (!keepAlive || inputEnded)
    return linger();
  complete = false;
  enter(State::Idle, shared.options.idleTimeout);
  // Not from here: a client that pipelines a thousand requests must not make a thousand nested calls.
  asio::post(socket.get_executor(), [self = shared_from_this()] {
    self->parse();
    self->read();
  });
}

/// Says that nothing more comes and waits a little for the client to close.
void Connection::linger() {
  if (inputEnded)
    return close();
  error_code ignored;
  socket.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  input.clear();
  enter(State::Lingering, shared.stopping ? lastLingerTime : lingerTime);
  read();
}

} // namespace fusec::serve::http
