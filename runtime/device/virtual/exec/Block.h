//===- Block.h - the threads that share memory and barriers ------------------===//
//
// Threading: one host thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/check/BlockChecker.h"
#include "runtime/device/virtual/exec/AsyncCopies.h"
#include "runtime/device/virtual/exec/Barriers.h"
#include "runtime/device/virtual/exec/FirstLevelCache.h"
#include "runtime/device/virtual/exec/Grid.h"
#include "runtime/device/virtual/exec/Random.h"
#include "runtime/device/virtual/exec/Warp.h"
#include "runtime/device/virtual/sm90/BulkCopies.h"
#include "runtime/device/virtual/sm90/Mbarriers.h"
#include "runtime/device/virtual/sm90/WarpgroupProducts.h"

#include <memory>
#include <vector>

namespace fusec::virtualgpu {

class Block {
public:
  /// Ready to run blocks of `grid` one after the other; adds to `counts`.
  Block(Grid &grid, std::vector<InstrCounters> &counts);

  /// Runs block `number` (x fastest) to its end or to a fault.
  void run(uint64_t number);

  Grid &grid;
  std::vector<InstrCounters> &counts;
  uint32_t id[3] = {0, 0, 0};
  uint64_t number = 0;
  std::vector<uint8_t> shared;
  std::vector<uint8_t> local; ///< Per thread localBytes, thread by thread.
  std::vector<std::unique_ptr<Warp>> warps;
  Barriers barriers;
  AsyncCopies copies;
  Mbarriers mbarriers;
  BulkCopies bulkCopies;
  WarpgroupProducts products;
  FirstLevelCache loads, stores; ///< Sectors of global memory, for counting.
  Random random;
  std::unique_ptr<BlockChecker> checker; ///< Null when unchecked.

  uint32_t threads() const { return grid.threadsPerBlock(); }
  /// Threads that have not exited.
  uint32_t liveThreads() const;
  uint8_t *localMemory(uint32_t thread) { return local.data() + thread * localStride; }
  uint64_t localStride = 0;
  /// "; 16 bytes into shared variable 'tile' of 1024 bytes", or empty.
  std::string sharedOwner(uint64_t at, bool device) const;
  /// False, with a fault, when products of an ending warp are in flight.
  bool checkExit(Warp &warp);
  void reportFault(Warp &warp, FaultKind kind, std::string what, int lane, uint64_t address);

private:
  void reset(uint64_t number);
  Warp *nextWarp();
  int quantum();
  void reportDeadlock();

  size_t turn = 0;
};

} // namespace fusec::virtualgpu
