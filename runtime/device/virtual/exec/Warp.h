//===- Warp.h - 32 lanes that run a program ----------------------------------===//
//
// Lanes that took different branches form groups, each with its own pc. The
// group with the lowest pc runs first, and groups that meet at one pc merge. A
// group at an instruction that needs more lanes (shuffle, mma) is parked until
// they come; one at a barrier waits. When a group spins, the others get turns.
//
// Handlers (ops/) see the lanes to work on in `mask`, registers through lanes(),
// and report trouble with fault(): the launch ends at the next instruction.
//
// Threading: one thread per block.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/exec/Counters.h"
#include "runtime/device/virtual/exec/Fault.h"
#include "runtime/device/virtual/exec/Program.h"

#include <bit>
#include <cstdint>
#include <vector>

namespace fusec::virtualgpu {

class Block;

/// Lanes of a warp with one pc.
struct LaneGroup {
  enum class State { Ready, Parked, Waiting };
  uint32_t pc = 0;
  uint32_t mask = 0;
  State state = State::Ready;
  /// Of a Waiting group: a barrier of the block; -1 = polls again; firstWarpBarrier + l: lane l and others.
  int barrier = -1;
  static constexpr int firstWarpBarrier = 100;
  bool waitsInWarp() const { return state == State::Waiting && barrier >= firstWarpBarrier; }
};

class Warp {
public:
  /// What a slice of run() ended with.
  enum class State { Ready, Waiting, Done };

  Warp(Block &block, const Program &program, uint32_t index, uint32_t lanes);

  /// Fills constants and special registers and puts all lanes at the entry.
  void start();
  /// Runs up to `quantum` instructions.
  void run(int quantum);
  State state() const;

  // --- for handlers ---------------------------------------------------------
  template <typename T> T *lanes(uint32_t slot) { return reinterpret_cast<T *>(registers + slot); }
  uint32_t &predicate(uint32_t slot) { return *reinterpret_cast<uint32_t *>(registers + slot); }
  /// The lanes that execute this instruction: active and not switched off by its guard.
  uint32_t mask = 0;
  /// The lanes of the running group.
  uint32_t active = 0;
  /// Lanes that have not exited.
  uint32_t alive = 0;
  /// Of the next instruction; branches set it through jump().
  uint32_t pc = 0;
  const uint32_t index; ///< In the block.
  Block &block;
  const Program &program;

  uint32_t firstThread() const { return index * warpLanes; }
  const Instr &current() const { return program.code[pc - 1]; }

  /// Sends the lanes `taken` to `target`; the other active ones go on.
  void jump(uint32_t taken, uint32_t target);
  /// Ends the lanes in `mask`.
  void exit();
  /// Repeats this instruction when more lanes have come to it.
  void park();
  /// Repeats this instruction until it stops calling this: another warp must act first.
  void poll();
  /// Stops the group after this instruction until release(barrier).
  void wait(int barrier);
  void release(int barrier);
  /// bar.warp.sync of the lanes in `mask`, which may come from several places. True when all of `wanted` that
  /// live have come; else the group waits.
  bool meet(uint32_t wanted);
  /// True when all of `wanted` that live are active; else parks the group.
  bool converged(uint32_t wanted) {
    if ((wanted & alive & ~active) == 0) [[likely]]
      return true;
    park();
    return false;
  }
  /// Ends the launch; the first fault is kept. `lane` < 0: the first of `mask`.
  void fault(FaultKind kind, std::string what, int lane = -1, uint64_t address = 0);
  bool faulted() const;
  InstrCounters &counters() { return counts[pc - 1]; }

  const std::vector<LaneGroup> &waitingGroups() const { return groups; }
  bool hasProgressed() const { return progressed; }

  static std::string describeLanes(uint32_t lanes);

private:
  void reschedule();
  void mergeGroups();
  bool takeGroup(uint32_t from);
  void setLimit();
  void reportIfStuck();

  std::unique_ptr<uint8_t[], void (*)(void *)> storage;
  uint8_t *registers = nullptr;
  InstrCounters *counts = nullptr;
  std::vector<LaneGroup> groups; ///< All but the running one.
  uint32_t limit = 0;            ///< reschedule() when pc gets here; 0 = now.
  uint32_t rotateFrom = 0;       ///< Lowest pc to look at when a group had a long turn.
  int stale = 0;                 ///< Instructions since groups merged, waited or exited.
  uint32_t met = 0;              ///< Lanes that wait in meet().
  int polls = 0;                 ///< Of the current slice.
  const uint32_t lanesAtStart;
  bool running = false;
  bool progressed = false; ///< Something but polls ran in the last slice.
};

} // namespace fusec::virtualgpu
