//===- Warp.cpp - 32 lanes that run a program --------------------------------===//

#include "runtime/device/virtual/exec/Warp.h"
#include "runtime/device/virtual/exec/Block.h"
#include "runtime/device/virtual/exec/SpecialRegisters.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fusec::virtualgpu {
namespace {

/// Instructions after which a group that made no progress lets the others run.
constexpr int patience = 2000;
constexpr uint32_t noLimit = 0xffffffffu;

std::unique_ptr<uint8_t[], void (*)(void *)> allocateRegisters(uint32_t bytes) {
  size_t size = (std::max(bytes, 64u) + 63) / 64 * 64;
  auto *at = static_cast<uint8_t *>(std::aligned_alloc(64, size));
  std::memset(at, 0, size);
  return {at, std::free};
}

template <typename T> void splat(uint8_t *at, uint64_t bits) {
  T value = static_cast<T>(bits);
  for (int lane = 0; lane < warpLanes; ++lane)
    std::memcpy(at + static_cast<size_t>(lane) * sizeof(T), &value, sizeof(T));
}

void fillConstants(uint8_t *registers, const Program &program) {
  for (const Program::Constant &constant : program.constants) {
    uint8_t *at = registers + constant.slot;
    switch (constant.bytes) {
    case 0:
      std::memcpy(at, &constant.bits, 4);
      break;
    case 2:
      splat<uint16_t>(at, constant.bits);
      break;
    case 4:
      splat<uint32_t>(at, constant.bits);
      break;
    default:
      splat<uint64_t>(at, constant.bits);
      break;
    }
  }
}

void fillParameters(uint8_t *registers, const Program &program, const std::vector<uint8_t> &block) {
  for (const Program::ParameterSlot &parameter : program.parameterSlots) {
    uint64_t bits = 0;
    std::memcpy(&bits, block.data() + parameter.offset, parameter.bytes);
    uint8_t *at = registers + parameter.slot;
    switch (parameter.bytes) {
    case 1:
      splat<uint8_t>(at, bits);
      break;
    case 2:
      splat<uint16_t>(at, bits);
      break;
    case 4:
      splat<uint32_t>(at, bits);
      break;
    default:
      splat<uint64_t>(at, bits);
      break;
    }
  }
}

/// The instruction a group waits at.
uint32_t placeOf(const LaneGroup &group) {
  return group.state == LaneGroup::State::Waiting && group.pc > 0 ? group.pc - 1 : group.pc;
}

uint32_t firstLanes(uint32_t lanes) { return lanes >= 32 ? fullMask : (1u << lanes) - 1; }

} // namespace

Warp::Warp(Block &block, const Program &program, uint32_t index, uint32_t lanes)
    : alive(firstLanes(lanes)), index(index), block(block), program(program),
      storage(allocateRegisters(program.registerBytes)), registers(storage.get()), counts(block.counts.data()),
      lanesAtStart(alive) {
  fillConstants(registers, program);
  fillParameters(registers, program, block.grid.parameters);
}

void Warp::start() {
  alive = active = lanesAtStart;
  pc = 0;
  groups.clear();
  running = true;
  limit = noLimit;
  rotateFrom = 0;
  stale = 0;
  met = 0;
  fillSpecialRegisters(*this);
}

Warp::State Warp::state() const {
  if (alive == 0)
    return State::Done;
  if (running)
    return State::Ready;
  for (const LaneGroup &group : groups)
    if (group.state == LaneGroup::State::Ready || group.barrier < 0)
      return State::Ready;
  return State::Waiting;
}

void Warp::run(int quantum) {
  polls = 0;
  for (LaneGroup &group : groups)
    if (group.state == LaneGroup::State::Waiting && group.barrier < 0)
      group.state = LaneGroup::State::Ready;
  if (!running)
    reschedule();
  const Instr *code = program.code.data();
  int left = quantum;
  for (; left > 0; --left) {
    if (pc >= limit) [[unlikely]] {
      reschedule();
      if (!running)
        break;
    }
    const Instr &instr = code[pc];
    mask = active;
    if (instr.guard != noSlot)
      mask &= instr.guardInverted ? ~predicate(instr.guard) : predicate(instr.guard);
    InstrCounters &count = counts[pc++];
    if (mask == 0)
      continue;
    count.warps += 1;
    count.threads += static_cast<uint64_t>(std::popcount(mask));
    instr.run(*this, instr);
  }
  if (!block.grid.spend(static_cast<uint64_t>(quantum - left)))
    fault(FaultKind::Budget, "the launch executed more than " + std::to_string(block.grid.settings.instructionBudget) +
                                 " warp instructions");
  progressed = quantum - left > polls;
  stale += quantum - left;
  if (stale > patience && !groups.empty()) {
    stale = 0;
    rotateFrom = pc + 1;
    limit = 0;
  }
}

void Warp::jump(uint32_t taken, uint32_t target) {
  if (taken == active) {
    pc = target;
  } else {
    groups.push_back({target, taken, LaneGroup::State::Ready, -1});
    active &= ~taken;
  }
  if (!groups.empty())
    limit = 0;
}

void Warp::exit() {
  if (!block.copies.checkExit(*this) || !block.checkExit(*this))
    return;
  alive &= ~mask;
  active &= ~mask;
  running = active != 0;
  limit = 0;
  stale = 0;
  for (LaneGroup &group : groups) {
    if (group.waitsInWarp()) // Comes to its barrier again, with fewer lanes to wait for.
      group = {group.pc - 1, group.mask, LaneGroup::State::Ready, 0};
    else if (group.state == LaneGroup::State::Parked)
      group.state = LaneGroup::State::Ready;
  }
  met = 0;
  block.barriers.threadsExited(block);
}

void Warp::park() {
  groups.push_back({pc - 1, active, LaneGroup::State::Parked, 0});
  running = false;
  limit = 0;
}

void Warp::poll() {
  ++polls;
  groups.push_back({pc - 1, active, LaneGroup::State::Waiting, -1});
  running = false;
  limit = 0;
}

void Warp::wait(int barrier) {
  groups.push_back({pc, mask, LaneGroup::State::Waiting, barrier});
  active &= ~mask;
  running = active != 0;
  limit = 0;
  stale = 0;
}

bool Warp::meet(uint32_t wanted) {
  wanted &= alive;
  const uint32_t come = (met | mask) & wanted;
  const int barrier = LaneGroup::firstWarpBarrier + std::countr_zero(wanted | 1u << 31);
  if (come != wanted) {
    met |= mask;
    wait(barrier);
    return false;
  }
  met &= ~wanted;
  release(barrier);
  if (!groups.empty())
    limit = 0; // Groups may have met at one pc.
  return true;
}

void Warp::release(int barrier) {
  for (LaneGroup &group : groups)
    if (group.state == LaneGroup::State::Waiting && group.barrier == barrier)
      group.state = LaneGroup::State::Ready;
}

void Warp::reschedule() {
  if (faulted()) {
    running = false;
    return;
  }
  if (running)
    groups.push_back({pc, active, LaneGroup::State::Ready, 0});
  running = false;
  mergeGroups();
  if (!takeGroup(std::exchange(rotateFrom, 0)))
    reportIfStuck();
}

/// Groups that met at one pc become one; a parked one may now be complete.
void Warp::mergeGroups() {
  for (size_t i = 0; i < groups.size(); ++i) {
    for (size_t j = groups.size() - 1; j > i; --j) {
      LaneGroup &a = groups[i], &b = groups[j];
      if (a.pc != b.pc || a.state == LaneGroup::State::Waiting || b.state == LaneGroup::State::Waiting)
        continue;
      a.mask |= b.mask;
      a.state = LaneGroup::State::Ready;
      groups.erase(groups.begin() + static_cast<ptrdiff_t>(j));
      stale = 0;
    }
  }
}

/// Runs the ready group with the lowest pc that is at least `from`, else the lowest of all.
bool Warp::takeGroup(uint32_t from) {
  size_t best = groups.size();
  auto rank = [from](const LaneGroup &group) { return std::pair(group.pc < from, group.pc); };
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i].state == LaneGroup::State::Ready && (best == groups.size() || rank(groups[i]) < rank(groups[best])))
      best = i;
  if (best == groups.size())
    return false;
  pc = groups[best].pc;
  active = groups[best].mask;
  groups.erase(groups.begin() + static_cast<ptrdiff_t>(best));
  running = true;
  setLimit();
  return true;
}

void Warp::setLimit() {
  limit = noLimit;
  for (const LaneGroup &group : groups)
    if (group.pc > pc && group.state != LaneGroup::State::Waiting)
      limit = std::min(limit, group.pc);
}

/// All groups wait for lanes of this warp, which wait elsewhere.
void Warp::reportIfStuck() {
  const LaneGroup *first = nullptr;
  for (const LaneGroup &group : groups) {
    if (group.state != LaneGroup::State::Parked && !group.waitsInWarp())
      return;
    if (!first || placeOf(group) < placeOf(*first))
      first = &group;
  }
  if (!first)
    return;
  std::string where;
  for (const LaneGroup &group : groups)
    if (&group != first)
      where += (where.empty() ? "" : ", ") + describeLanes(group.mask) + " wait at PTX line " +
               std::to_string(program.origins[placeOf(group)].line);
  pc = placeOf(*first) + 1;
  mask = first->mask;
  fault(FaultKind::Divergence, "only " + describeLanes(mask) + " of the warp came here" +
                                   (where.empty() ? " and the others have exited or are not named" : "; " + where));
}

std::string Warp::describeLanes(uint32_t lanes) {
  char hex[32];
  std::snprintf(hex, sizeof hex, "lanes 0x%08x", lanes);
  return hex;
}

void Warp::fault(FaultKind kind, std::string what, int lane, uint64_t address) {
  block.reportFault(*this, kind, std::move(what), lane >= 0 ? lane : std::countr_zero(mask ? mask : 1u), address);
  limit = 0;
}

bool Warp::faulted() const { return block.grid.faulted(); }

} // namespace fusec::virtualgpu
