//===- Stacks.h - the parses of a text, byte by byte -----------------------===//
//
// A parse is a stack of open rules, kept as a linked list of frames; equal
// frames have one id, so equal parses are found by comparing ids, and parses
// share their lower parts. A nondeterministic or ambiguous grammar has several
// parses at once: a StackSet.
//
//   Frames frames;
//   StackSet set;
//   frames.open(machine, limit, set);                       // before the first byte
//   for (uint8_t byte : text)
//     if (frames.step(machine, set, byte, limit, next) ...) // next.empty(): refused
//
// Threading: one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Machine.h"

#include <cstdint>
#include <vector>

namespace fusec::grammar {

using FrameId = uint32_t;

/// Below every stack: a parse at kBottom has completed the root rule.
inline constexpr FrameId kBottom = 0;

/// Sorted. Each head is kBottom or a frame in a state with byte edges.
using StackSet = std::vector<FrameId>;

struct Frame {
  FrameId parent;
  StateId state; ///< Where the rule is; below the top: where it continues after the call.
  Registers registers;
  uint32_t depth; ///< Frames below this one.
};

class Frames {
public:
  Frames();

  const Frame &operator[](FrameId id) const { return frames[id]; }
  /// The frame's only id.
  FrameId intern(FrameId parent, StateId state, const Registers &registers);
  size_t size() const { return frames.size(); }
  size_t bytes() const;

  /// The parses before the first byte. False: more than `limit`.
  bool open(const Machine &machine, size_t limit, StackSet &set);
  /// `next`: the parses of `set` that consume `byte`. False: more than `limit`.
  bool step(const Machine &machine, const StackSet &set, uint8_t byte, size_t limit, StackSet &next);
  /// Follows the silent edges of `id` to everything that can happen before the next byte.
  bool close(const Machine &machine, FrameId id, size_t limit, StackSet &set);
  /// Forgets frames that `set` doesn't need; its ids change.
  void compact(StackSet &set);

private:
  void beginClosure(StackSet &set);
  void push(FrameId id);
  void follow(const Machine &machine, FrameId id);
  bool finishClosure(const Machine &machine, size_t limit, StackSet &set);
  size_t slotOf(FrameId parent, StateId state, const Registers &registers) const;
  void grow();

  std::vector<Frame> frames;
  std::vector<FrameId> index;    ///< Open addressing; kNone is free.
  std::vector<uint32_t> visited; ///< Per frame: the closure that saw it last.
  std::vector<FrameId> work;
  uint32_t closure = 0;
};

} // namespace fusec::grammar
