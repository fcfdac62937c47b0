//===- Limits.h - what a grammar may cost ----------------------------------===//
//
// Grammars and schemas come from strangers. Every loop of a compilation spends
// from one CompileBudget; the first limit that is hit sticks, the loops stop,
// and the compilation returns that error.
//
//   CompileBudget budget(limits);
//   while (more() && budget.spend(1)) ...
//   FUSEC_RETURN_IF_ERROR(budget.status());
//
// Threading: a budget belongs to one compilation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace fusec::grammar {

struct Limits {
  size_t textBytes = 1 << 20;    ///< Length of the grammar's own text.
  int nesting = 100;             ///< Groups, schemas or brackets inside one another.
  size_t states = 1'000'000;     ///< Automaton states and steps of building them.
  double seconds = 5;            ///< Wall-clock time of one compilation.
  int stackDepth = 500;          ///< Rules (JSON values) open at once in a generated text.
  size_t parallelStacks = 1000;  ///< Parses of an ambiguous grammar followed at once.
  size_t alternatives = 512;     ///< Typed alternatives one schema may unfold into.
  size_t cacheBytes = 48u << 20; ///< Mask cache of one compiled grammar.
  int whitespace = 40;           ///< Longest run of JSON whitespace between two tokens of JSON.
  int digits = 64;               ///< Digits before, and digits after, the point of a JSON number.
};

/// What is left of the limits during one compilation; the first error sticks.
class CompileBudget {
public:
  explicit CompileBudget(const Limits &l) : limits(l), end(Clock::now() + duration(l.seconds)) {}

  /// Counts `n` states or steps; false once a limit is hit.
  bool spend(size_t n) {
    spent += n;
    if (spent > limits.states)
      fail(resourceExhausted("the grammar needs more than " + std::to_string(limits.states) + " automaton states"));
    else if (spent >= nextClock)
      checkClock();
    return error.ok();
  }
  /// Keeps the first error.
  void fail(Status status) {
    if (error.ok())
      error = std::move(status);
  }
  /// Names the place of the error, which must be there.
  void addContext(const std::string &place) { error = error.withContext(place); }
  bool exhausted() const { return !error.ok(); }
  const Status &status() const { return error; }

  const Limits limits;

private:
  using Clock = std::chrono::steady_clock;
  static Clock::duration duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  void checkClock() {
    nextClock = spent + 1000; // Reading the clock costs more than a step.
    if (Clock::now() > end)
      fail(resourceExhausted("compiling the grammar took longer than " + std::to_string(limits.seconds) + " s"));
  }

  Clock::time_point end;
  size_t spent = 0;
  size_t nextClock = 1000;
  Status error;
};

} // namespace fusec::grammar
