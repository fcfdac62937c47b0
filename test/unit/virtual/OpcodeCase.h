//===- OpcodeCase.h - one instruction, many lanes ----------------------------===//
#pragma once

#include "VirtualRun.h"

#include <array>
#include <bit>
#include <cmath>

namespace fusec::virtualgpu {

/// An instruction over registers d, a, b, c ("add.s32 d, a, b") and what it must give, lane by lane.
/// Register kinds are one letter each: p predicate, h 16 bits, r 32, d 64, f f32, g f64.
struct OpcodeCase {
  friend void PrintTo(const OpcodeCase &c, std::ostream *out) { *out << c.instruction; }
  std::string instruction;
  std::string kinds; ///< Of d, a, b, c as far as used: "rrr".
  struct Lane {
    std::array<uint64_t, 3> in;
    uint64_t out;
  };
  std::vector<Lane> lanes;
};

/// Runs the instruction in one warp and compares all lanes.
void expectOpcode(const OpcodeCase &opcode);

inline uint64_t f32(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t f64(double x) { return std::bit_cast<uint64_t>(x); }
inline uint64_t u32(int64_t x) { return static_cast<uint32_t>(x); }
inline uint64_t u16(int64_t x) { return static_cast<uint16_t>(x); }

} // namespace fusec::virtualgpu
