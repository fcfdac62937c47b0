//===- Interrupt.h - what Ctrl-C does --------------------------------------===//
//
// SIGINT and SIGTERM are taken by one thread of their own, so what they do is
// ordinary code. While a Cancellable is alive, the first signal only sets its
// flag and the work ends by itself; otherwise (or on a second signal) clean-up
// runs and the process exits with 130 (143 for SIGTERM). A GracefulStop takes both.
//
// Threading: all functions may be called from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <functional>

namespace fusec {

/// Blocks the signals and starts the thread that waits for them. Call once in main, before any
/// other thread exists (threads inherit the mask).
void installInterruptHandler();

/// Work that ends early when asked. At most one is alive at a time.
class Cancellable {
public:
  Cancellable();
  ~Cancellable();
  Cancellable(const Cancellable &) = delete;
  Cancellable &operator=(const Cancellable &) = delete;
  const std::atomic<bool> &flag() const { return requested; }
  bool cancelled() const { return requested.load(); }

private:
  friend void deliverInterrupt();
  std::atomic<bool> requested = false;
};

/// Work that is ended in order: while this is alive, the first SIGINT or SIGTERM calls `begin` on the signal thread and
/// nothing else; a second one cleans up and exits as above. At most one is alive at a time.
class GracefulStop {
public:
  explicit GracefulStop(std::function<void()> begin);
  ~GracefulStop();
  GracefulStop(const GracefulStop &) = delete;
  GracefulStop &operator=(const GracefulStop &) = delete;
};

/// Registers something to undo if the process is interrupted while this is alive, such as a
/// half-written directory. `undo` runs on the signal thread.
class InterruptCleanup {
public:
  explicit InterruptCleanup(std::function<void()> undo);
  ~InterruptCleanup();
  InterruptCleanup(const InterruptCleanup &) = delete;
  InterruptCleanup &operator=(const InterruptCleanup &) = delete;
};

} // namespace fusec
