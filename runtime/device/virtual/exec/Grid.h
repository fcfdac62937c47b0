//===- Grid.h - one launch of a program --------------------------------------===//
//
//   Grid grid(memory, program, settings);
//   grid.gridSize = {...}; ...
//   std::optional<Fault> fault = grid.run();
//
// Blocks run one after the other, or some at a time on several host threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/check/Clocks.h"
#include "runtime/device/virtual/exec/Counters.h"
#include "runtime/device/virtual/exec/Fault.h"
#include "runtime/device/virtual/exec/Program.h"
#include "runtime/device/virtual/memory/DeviceMemory.h"

#include <atomic>
#include <mutex>
#include <optional>

namespace fusec::virtualgpu {

/// When a cp.async moves its bytes; only the wait makes them visible in any case.
enum class AsyncPolicy { AtIssue, Late, Random };

struct RunSettings {
  bool checked = true;
  bool allowUninitialised = false; ///< Reads of unwritten bytes are no fault.
  uint64_t seed = 0;               ///< 0: warps run in order; else their order and turns are random.
  AsyncPolicy asyncPolicy = AsyncPolicy::Late;
  int threads = 1;                                ///< Host threads for the blocks of an unchecked launch.
  uint64_t instructionBudget = uint64_t(1) << 36; ///< Warp instructions per launch.
};

class Grid {
public:
  Grid(DeviceMemory &memory, const Program &program, const RunSettings &settings)
      : memory(memory), program(program), settings(settings) {}

  /// The first fault, or nothing. Adds to `counts` when it has one entry per instruction.
  std::optional<Fault> run();

  DeviceMemory &memory;
  const Program &program;
  const RunSettings settings;
  uint32_t gridSize[3] = {1, 1, 1}, blockSize[3] = {1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
  std::vector<uint8_t> parameters;
  uint32_t firstSerial = 0;   ///< Checked mode: serial of this launch's first block.
  ReleasedAddresses released; ///< Checked mode.
  std::vector<InstrCounters> counts;

  int64_t sharedBytes() const { return program.staticSharedBytes + dynamicSharedBytes; }
  uint32_t threadsPerBlock() const { return blockSize[0] * blockSize[1] * blockSize[2]; }

  void report(Fault made);
  bool faulted() const { return stopped.load(std::memory_order_relaxed); }
  /// Counts warp instructions against the budget; false when it is spent.
  bool spend(uint64_t instructions) {
    return spent.fetch_add(instructions, std::memory_order_relaxed) + instructions <= settings.instructionBudget;
  }

private:
  void runBlocks(std::vector<InstrCounters> &into);

  std::atomic<bool> stopped = false;
  std::atomic<uint64_t> nextBlock = 0, spent = 0;
  std::mutex mutex;
  std::optional<Fault> fault;
};

} // namespace fusec::virtualgpu
