//===- Exchange.h - one request and the way to answer it ----------------------===//
//
//   void answer(std::shared_ptr<Exchange> exchange) {
//     exchange->startStream({.contentType = "text/event-stream"});
//     exchange->onAbandoned([=](Departure) { stopWorking(); });
//     exchange->send("data: 1\n\n");                    // now or later
//     exchange->endStream();
//   }
//
// Either respond(), or startStream(), any number of send(), endStream(). What
// is called after the end, or after the client left, does nothing. An exchange
// that is dropped without an answer answers 500 by itself.
//
// Ownership: shared by whoever still has to answer. Threading: every member is
// called on the event loop's thread; only the last reference may be dropped
// anywhere.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/http/Message.h"

#include <functional>
#include <string_view>

namespace fusec::serve::http {

/// Why a client counts as gone.
enum class Departure {
  Left,    ///< It closed or reset its connection, or sent no more; or the server ends.
  TooSlow, ///< It read too little of its answer: see ServerOptions::maxUnsentBytes and writeTimeout.
};

class Exchange {
public:
  virtual ~Exchange() = default;

  virtual const Request &request() const = 0;
  /// Adds a header to whatever answer follows, errors included.
  virtual void addHeader(Header header) = 0;

  virtual void respond(Response response) = 0;
  /// Sends the head; `head.body` begins the stream.
  virtual void startStream(Response head) = 0;
  /// Appends to the stream. A client that does not read for too long is treated as gone.
  virtual void send(std::string_view bytes) = 0;
  virtual void endStream() = 0;

  /// `callback` runs once when the client goes away before the answer is complete: at once, when it already has.
  virtual void onAbandoned(std::function<void(Departure)> callback) = 0;
};

} // namespace fusec::serve::http
