//===- Interrupt.cpp - what Ctrl-C does ------------------------------------===//
#include "tools/fusec/Interrupt.h"

#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace fusec {

namespace {
/// Signals belong to the process, so this state does too.
struct InterruptState {
  std::mutex mutex;
  Cancellable *work = nullptr;
  std::function<void()> stop; ///< Of a GracefulStop that was not asked yet.
  std::vector<std::function<void()>> cleanups;
};
} // namespace

static InterruptState &state() {
  static InterruptState *instance = new InterruptState; // Outlives the signal thread.
  return *instance;
}

static sigset_t handledSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

[[noreturn]] static void cleanUpAndExit(int code) {
  for (auto &undo : state().cleanups)
    undo();
  // Ends the line that a prompt or a progress bar left open. Nothing is left to flush: standard
  // output is flushed after every token.
  if (isatty(STDERR_FILENO))
    (void)!write(STDERR_FILENO, "\n", 1);
  _exit(code);
}

/// Begins the orderly end that a GracefulStop asked for; false when there is none, or it has begun.
static bool beginStop() {
  std::function<void()> stop = std::exchange(state().stop, nullptr);
  if (stop)
    stop();
  return static_cast<bool>(stop);
}

void deliverInterrupt() {
  std::lock_guard lock(state().mutex);
  if (beginStop())
    return;
  if (state().work && !state().work->requested.exchange(true))
    return;
  cleanUpAndExit(130);
}

void installInterruptHandler() {
  sigset_t signals = handledSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_DFL); // `fusec run ... | head` ends quietly.
  std::thread([signals] {
    int signal = 0;
    while (sigwait(&signals, &signal) == 0) {
      if (signal == SIGINT) {
        deliverInterrupt();
      } else {
        std::lock_guard lock(state().mutex);
        if (!beginStop())
          cleanUpAndExit(143);
      }
    }
  }).detach();
}

Cancellable::Cancellable() {
  std::lock_guard lock(state().mutex);
  state().work = this;
}

Cancellable::~Cancellable() {
  std::lock_guard lock(state().mutex);
  state().work = nullptr;
}

GracefulStop::GracefulStop(std::function<void()> begin) {
  std::lock_guard lock(state().mutex);
  state().stop = std::move(begin);
}

GracefulStop::~GracefulStop() {
  std::lock_guard lock(state().mutex);
  state().stop = nullptr;
}

InterruptCleanup::InterruptCleanup(std::function<void()> undo) {
  std::lock_guard lock(state().mutex);
  state().cleanups.push_back(std::move(undo));
}

InterruptCleanup::~InterruptCleanup() {
  std::lock_guard lock(state().mutex);
  state().cleanups.pop_back();
}

} // namespace fusec
