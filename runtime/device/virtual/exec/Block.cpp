//===- Block.cpp - the threads that share memory and barriers ----------------===//

#include "runtime/device/virtual/exec/Block.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fusec::virtualgpu {

Block::Block(Grid &grid, std::vector<InstrCounters> &counts) : grid(grid), counts(counts) {
  const uint32_t total = threads();
  for (uint32_t first = 0; first < total; first += warpLanes)
    warps.push_back(std::make_unique<Warp>(*this, grid.program, first / warpLanes, std::min(total - first, 32u)));
  shared.resize(static_cast<size_t>(grid.sharedBytes()));
  localStride = static_cast<uint64_t>((grid.program.localBytes + 15) / 16 * 16);
  local.resize(static_cast<size_t>(localStride) * warps.size() * warpLanes);
  if (grid.settings.checked)
    checker = std::make_unique<BlockChecker>(*this);
}

void Block::reset(uint64_t newNumber) {
  number = newNumber;
  id[0] = static_cast<uint32_t>(number % grid.gridSize[0]);
  id[1] = static_cast<uint32_t>(number / grid.gridSize[0] % grid.gridSize[1]);
  id[2] = static_cast<uint32_t>(number / grid.gridSize[0] / grid.gridSize[1]);
  if (!shared.empty()) // memset takes no null pointer.
    std::memset(shared.data(), 0xff, shared.size());
  random = Random(grid.settings.seed * 1000003 + number + 1);
  if (checker)
    checker->reset();
  loads.reset();
  stores.reset();
  barriers.reset();
  mbarriers.reset();
  bulkCopies.reset();
  products.reset(static_cast<uint32_t>(warps.size()));
  copies.reset(static_cast<uint32_t>(warps.size() * warpLanes));
  for (const std::unique_ptr<Warp> &warp : warps)
    warp->start();
  turn = 0;
}

void Block::run(uint64_t newNumber) {
  reset(newNumber);
  size_t idle = 0; // Turns in a row that did nothing but poll.
  while (!grid.faulted()) {
    Warp *warp = nextWarp();
    if (!warp)
      break;
    warp->run(quantum());
    idle = warp->hasProgressed() ? 0 : idle + 1;
    if (idle > 4 * warps.size() + 64)
      return reportDeadlock();
  }
  if (!grid.faulted() && liveThreads() > 0)
    return reportDeadlock();
  if (!grid.faulted() && checker && bulkCopies.inFlight() > 0) {
    warps[0]->mask = 1;
    reportFault(*warps[0], FaultKind::UnfinishedCopies,
                "the block ends with " + std::to_string(bulkCopies.inFlight()) + " bulk copies nobody waited for", 0,
                0);
  }
}

/// The next warp that can run, in turn or by chance; null when none can.
Warp *Block::nextWarp() {
  const size_t count = warps.size();
  if (grid.settings.seed)
    turn = random.below(static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; ++i) {
    Warp *warp = warps[(turn + i) % count].get();
    if (warp->state() != Warp::State::Ready)
      continue;
    turn = (turn + i + 1) % count;
    return warp;
  }
  return nullptr;
}

/// Long turns in the fixed order; short ones of random length under a seed.
int Block::quantum() { return grid.settings.seed ? 1 + static_cast<int>(random.below(64)) : 4000; }

uint32_t Block::liveThreads() const {
  uint32_t live = 0;
  for (const std::unique_ptr<Warp> &warp : warps)
    live += static_cast<uint32_t>(std::popcount(warp->alive));
  return live;
}

std::string Block::sharedOwner(uint64_t at, bool device) const {
  if (device)
    return {};
  for (const Program::SharedVariable &variable : grid.program.sharedVariables)
    if (at >= static_cast<uint64_t>(variable.offset) && at < static_cast<uint64_t>(variable.offset + variable.bytes))
      return "; " + std::to_string(at - static_cast<uint64_t>(variable.offset)) + " bytes into '" + variable.name +
             "' of " + std::to_string(variable.bytes) + " bytes";
  return {};
}

bool Block::checkExit(Warp &warp) {
  if (!checker || products.inFlight(warp.index) == 0)
    return true;
  warp.fault(FaultKind::UnfinishedCopies, "the warp ends with " + std::to_string(products.inFlight(warp.index)) +
                                              " wgmma products it never waited for");
  return false;
}

void Block::reportDeadlock() {
  std::string where;
  Warp *first = nullptr;
  for (const std::unique_ptr<Warp> &warp : warps) {
    for (const LaneGroup &group : warp->waitingGroups()) {
      if (!first) {
        first = warp.get();
        first->pc = group.state == LaneGroup::State::Parked ? group.pc + 1 : std::max(group.pc, 1u);
        first->mask = group.mask;
      }
      uint32_t at =
          group.barrier >= 0 && group.state == LaneGroup::State::Waiting && group.pc ? group.pc - 1 : group.pc;
      where += "; warp " + std::to_string(warp->index) + " " + Warp::describeLanes(group.mask) + " at PTX line " +
               std::to_string(grid.program.origins[at].line);
    }
  }
  std::string state = barriers.describe(*this);
  if (std::string more = mbarriers.describe(); !more.empty())
    state += (state.empty() ? "" : ", ") + more;
  reportFault(first ? *first : *warps[0], FaultKind::Deadlock,
              "no thread of the block can go on" + (state.empty() ? "" : " (" + state + ")") + where, -1, 0);
}

void Block::reportFault(Warp &warp, FaultKind kind, std::string what, int lane, uint64_t address) {
  Fault fault;
  fault.kind = kind;
  fault.kernel = grid.program.name;
  fault.what = std::move(what);
  const InstrOrigin &origin = grid.program.origins[warp.pc ? warp.pc - 1 : 0];
  fault.ptxLine = origin.line;
  fault.opcode = origin.opcode;
  fault.source = grid.program.sourceText(warp.pc ? warp.pc - 1 : 0);
  uint32_t thread =
      warp.firstThread() + static_cast<uint32_t>(lane < 0 ? std::countr_zero(warp.mask | 1u << 31) : lane);
  std::copy(id, id + 3, fault.block);
  fault.thread[0] = thread % grid.blockSize[0];
  fault.thread[1] = thread / grid.blockSize[0] % grid.blockSize[1];
  fault.thread[2] = thread / grid.blockSize[0] / grid.blockSize[1];
  fault.address = address;
  if (grid.memory.contains(address, 1))
    if (auto owner = grid.memory.nearest(address))
      fault.owner = std::to_string(address - owner->at) + " bytes into '" + owner->owner + "' of " +
                    std::to_string(owner->bytes) + " bytes";
  grid.report(std::move(fault));
}

} // namespace fusec::virtualgpu
