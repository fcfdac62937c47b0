//===- Server.h - an HTTP/1.1 server on one event loop ------------------------===//
//
//   auto server = Server::bind({.port = 8000});
//   std::printf("http://127.0.0.1:%d\n", (*server)->port());
//   (*server)->run([](std::shared_ptr<Exchange> exchange) { exchange->respond({.body = "{}"}); });
//   ...
//   (*server)->stop(std::chrono::seconds(1));
//
// One thread accepts, reads, parses (Boost.Beast), calls the handler and
// writes. Requests of a connection are answered one after another, in order
// (pipelining). Everything a client can make the server hold is bounded by
// Options.
//
// When a client is gone: a reset, or the end of its input while its answer is
// not complete. A client that half-closes its connection and waits for the
// answer therefore gets none; none of the usual clients does that, and it is
// the only sign of a closed socket that TCP gives before the next write.
//
// Ownership: owns the thread, the sockets and the handler. Threading: post,
// after, stats and port from any thread; stop from any but the loop's own.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "serve/http/EventLoop.h"
#include "serve/http/Exchange.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace fusec::serve::http {

struct ServerOptions {
  std::string host = "127.0.0.1"; ///< An address or a name to bind to.
  uint16_t port = 0;              ///< 0 = any free one, see Server::port.
  int maxConnections = 4096;      ///< More are answered 503 and closed.
  uint32_t maxHeaderBytes = 32 * 1024;
  uint64_t maxBodyBytes = 16 * 1024 * 1024;
  uint64_t maxPipelinedBytes = 64 * 1024;          ///< Read ahead while a request is being answered.
  uint64_t maxUnsentBytes = 1024 * 1024;           ///< Of a stream whose client reads too slowly.
  std::chrono::milliseconds idleTimeout{75'000};   ///< Between requests of a connection.
  std::chrono::milliseconds headerTimeout{10'000}; ///< From a request's first byte to the end of its header.
  std::chrono::milliseconds bodyTimeout{60'000};   ///< From there to the end of its body.
  std::chrono::milliseconds writeTimeout{20'000};  ///< A client that takes no byte for so long is gone.
};

struct ServerStats {
  int64_t connections = 0; ///< Open now.
  int64_t accepted = 0;    ///< Since the start.
  int64_t refused = 0;     ///< Over maxConnections.
  int64_t abandoned = 0;   ///< Requests whose client left before the answer was complete.
};

class Server : public EventLoop {
public:
  /// Called on the loop's thread with each complete request. Must not block.
  using Handler = std::function<void(std::shared_ptr<Exchange>)>;

  /// Takes the port. InvalidArgument for an address that cannot be bound.
  static Result<std::unique_ptr<Server>> bind(const ServerOptions &options);

  /// Starts the thread. Once.
  virtual void run(Handler handler) = 0;

  /// The port that is bound.
  virtual uint16_t port() const = 0;
  virtual ServerStats stats() const = 0;
  /// No new connections; open ones are closed after the answer they wait for, idle ones at once. Returns when all are
  /// closed or `deadline` has passed; then cuts what is left and ends the thread. The second call does nothing.
  virtual void stop(std::chrono::milliseconds deadline) = 0;
};

} // namespace fusec::serve::http
