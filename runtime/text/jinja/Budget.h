//===- Budget.h - what one rendering may spend -------------------------------===//
//
// Templates come with model files, so they are untrusted programs. Every
// evaluation step and every byte a template builds is charged here; running out
// is an error, never a hang or an allocation failure.
//
//   Budget budget(limits);
//   FUSEC_RETURN_IF_ERROR(budget.step());
//   FUSEC_RETURN_IF_ERROR(budget.allocate(bytes));
//
// Threading: one Budget per rendering.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace fusec::text::jinja {

/// Bounds of one rendering.
struct Limits {
  int64_t steps = 20'000'000;                ///< Evaluated nodes, loop rounds and compared elements.
  int64_t allocatedBytes = int64_t{1} << 29; ///< Bytes of all values built, freed or not.
  int64_t outputBytes = int64_t{1} << 25;    ///< Bytes of the rendered text.
  int depth = 1000;                          ///< Nested evaluations (expressions, statements, macro calls).
};

/// Deepest nesting of lists, dicts and tuples a value may have; bounds every recursion over values.
inline constexpr int kMaxValueDepth = 100;

class Budget {
public:
  explicit Budget(const Limits &l) : limits(l), stepsLeft(l.steps), bytesLeft(l.allocatedBytes) {}

  /// Charges `n` steps.
  Status step(int64_t n = 1) {
    if (overdrawn)
      return outOfMemory();
    if (n > stepsLeft)
      return resourceExhausted("the template needs more than " + std::to_string(limits.steps) + " steps");
    stepsLeft -= n;
    return {};
  }
  /// Charges `n` bytes of memory before they are allocated.
  Status allocate(int64_t n) {
    overdrawn = overdrawn || n > bytesLeft;
    if (overdrawn)
      return outOfMemory();
    bytesLeft -= n;
    return {};
  }
  /// Charges `n` bytes where no error can be returned; the next step reports an overdraft.
  void allocateLater(int64_t n) {
    overdrawn = overdrawn || n > bytesLeft;
    bytesLeft -= n;
  }

  const Limits limits;

private:
  Status outOfMemory() const {
    return resourceExhausted("the template needs more than " + std::to_string(limits.allocatedBytes) +
                             " bytes of memory");
  }
  int64_t stepsLeft;
  int64_t bytesLeft;
  bool overdrawn = false;
};

} // namespace fusec::text::jinja
