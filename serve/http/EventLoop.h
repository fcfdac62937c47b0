//===- EventLoop.h - the thread that owns all connections ---------------------===//
//
// What other threads use to hand work to the event loop, and what code on the
// loop uses to be called later. Callbacks must not block: one thread serves
// every connection.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <chrono>
#include <functional>

namespace fusec::serve::http {

class EventLoop {
public:
  virtual ~EventLoop() = default;
  /// Runs `work` on the loop's thread, in the order of the calls of one thread. From any thread.
  virtual void post(std::function<void()> work) = 0;
  /// Runs `work` on the loop's thread after `delay`. From any thread.
  virtual void after(std::chrono::milliseconds delay, std::function<void()> work) = 0;
};

} // namespace fusec::serve::http
