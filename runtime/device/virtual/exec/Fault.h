//===- Fault.h - what a kernel did wrong -------------------------------------===//
//
// One row per kind in faultKindName(); docs/cuda/virtual-device.md explains each.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fusec::virtualgpu {

enum class FaultKind {
  WildAccess,  ///< The address belongs to nothing a kernel may touch.
  OutOfBounds, ///< Next to an allocation, or past the end of shared, local or parameter memory.
  Misaligned,
  Uninitialised,     ///< Read of bytes nobody wrote.
  RaceInBlock,       ///< Two threads of a block, unordered, one writes.
  RaceBetweenBlocks, ///< The same for threads of two blocks.
  AsyncHazard,       ///< Touches the source or destination of a copy in flight.
  UnfinishedCopies,  ///< Exit with copies in flight.
  BarrierMisuse,     ///< Wrong thread count, or part of a warp at an aligned barrier.
  Divergence,        ///< A warp-wide instruction without the lanes it names.
  Deadlock,          ///< No thread can go on.
  Budget,            ///< More instructions than the option allows.
  Trap,              ///< trap or a failed assert.
  BadOperand,        ///< An operand value the instruction does not allow.
};

std::string_view faultKindName(FaultKind kind);

/// The first thing that went wrong in a launch.
struct Fault {
  FaultKind kind = FaultKind::Trap;
  std::string kernel;
  std::string what; ///< One sentence with the values that matter.
  int ptxLine = 0;
  std::string source; ///< "file.cu:12", or empty.
  std::string opcode;
  uint32_t block[3] = {0, 0, 0};
  uint32_t thread[3] = {0, 0, 0};
  uint64_t address = 0;
  std::string owner; ///< The allocation at or before the address, with its size; or empty.

  std::string message() const;
};

} // namespace fusec::virtualgpu
