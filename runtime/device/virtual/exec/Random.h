//===- Random.h - a small random number generator ----------------------------===//
#pragma once

#include <cstdint>

namespace fusec::virtualgpu {

/// xorshift64*: the same numbers on every machine.
class Random {
public:
  explicit Random(uint64_t seed = 1) : state(seed * 0x9e3779b97f4a7c15ull | 1) {}
  uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1dull;
  }
  /// In [0, bound).
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((next() >> 32) * bound >> 32); }

private:
  uint64_t state;
};

} // namespace fusec::virtualgpu
