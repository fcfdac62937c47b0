//===- Stacks.cpp - the parses of a text, byte by byte ---------------------===//
#include "runtime/grammar/Stacks.h"

#include <algorithm>
#include <unordered_map>

namespace fusec::grammar {

namespace {

uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

} // namespace

Frames::Frames() : index(64, kNone) { frames.push_back({kBottom, kNone, {}, 0}), visited.push_back(0); }

size_t Frames::bytes() const {
  return frames.capacity() * sizeof(Frame) + (index.capacity() + visited.capacity()) * sizeof(uint32_t);
}

size_t Frames::slotOf(FrameId parent, StateId state, const Registers &registers) const {
  uint64_t hash = mix(mix(mix(parent, state), registers.seen), registers.count);
  size_t slot = hash & (index.size() - 1);
  while (index[slot] != kNone) {
    const Frame &frame = frames[index[slot]];
    if (frame.parent == parent && frame.state == state && frame.registers == registers)
      break;
    slot = (slot + 1) & (index.size() - 1);
  }
  return slot;
}

void Frames::grow() {
  index.assign(index.size() * 2, kNone);
  for (FrameId id = 1; id < frames.size(); ++id)
    index[slotOf(frames[id].parent, frames[id].state, frames[id].registers)] = id;
}

FrameId Frames::intern(FrameId parent, StateId state, const Registers &registers) {
  size_t slot = slotOf(parent, state, registers);
  if (index[slot] != kNone)
    return index[slot];
  auto id = static_cast<FrameId>(frames.size());
  frames.push_back({parent, state, registers, frames[parent].depth + 1});
  visited.push_back(0);
  index[slot] = id;
  if (frames.size() * 2 > index.size())
    grow();
  return id;
}

void Frames::beginClosure(StackSet &set) {
  set.clear();
  work.clear();
  ++closure;
}

void Frames::push(FrameId id) {
  if (visited[id] != closure)
    work.push_back(id);
  visited[id] = closure;
}

void Frames::follow(const Machine &machine, FrameId id) {
  const Frame frame = frames[id]; // A copy: interning may move the frames.
  if (machine.accepts(frame.state))
    push(frame.parent);
  for (const SilentEdge &edge : machine.silents(frame.state)) {
    Registers registers = frame.registers;
    if (!machine.op(edge.op).apply(registers))
      continue;
    if (edge.callee == kNone) {
      push(intern(frame.parent, edge.target, registers));
      continue;
    }
    FrameId back = machine.onlyReturns(edge.target) ? frame.parent : intern(frame.parent, edge.target, registers);
    push(intern(back, machine.startOf(edge.callee), {}));
  }
}

bool Frames::finishClosure(const Machine &machine, size_t limit, StackSet &set) {
  // Frames on the way are few per head, but a hostile grammar may make them many.
  for (size_t visits = 0; !work.empty(); ++visits) {
    FrameId id = work.back();
    work.pop_back();
    if (id == kBottom || !machine.bytes(frames[id].state).empty())
      set.push_back(id);
    if (set.size() > limit || visits > 64 * limit)
      return false;
    if (id != kBottom)
      follow(machine, id);
  }
  std::sort(set.begin(), set.end());
  return true;
}

bool Frames::open(const Machine &machine, size_t limit, StackSet &set) {
  return close(machine, intern(kBottom, machine.start(), {}), limit, set);
}

bool Frames::close(const Machine &machine, FrameId id, size_t limit, StackSet &set) {
  beginClosure(set);
  push(id);
  return finishClosure(machine, limit, set);
}

bool Frames::step(const Machine &machine, const StackSet &set, uint8_t byte, size_t limit, StackSet &next) {
  beginClosure(next);
  for (FrameId head : set) {
    if (head == kBottom)
      continue;
    const Frame frame = frames[head];
    for (const ByteEdge &edge : machine.bytes(frame.state)) {
      Registers registers = frame.registers;
      if (byte >= edge.low && byte <= edge.high && machine.op(edge.op).apply(registers))
        push(intern(frame.parent, edge.target, registers));
    }
  }
  return finishClosure(machine, limit, next);
}

void Frames::compact(StackSet &set) {
  Frames kept;
  std::unordered_map<FrameId, FrameId> moved{{kBottom, kBottom}};
  for (FrameId &head : set) {
    std::vector<FrameId> chain;
    for (FrameId id = head; !moved.contains(id); id = frames[id].parent)
      chain.push_back(id);
    for (size_t i = chain.size(); i-- > 0;) {
      const Frame &frame = frames[chain[i]];
      moved[chain[i]] = kept.intern(moved[frame.parent], frame.state, frame.registers);
    }
    head = moved[head];
  }
  std::sort(set.begin(), set.end());
  *this = std::move(kept);
}

} // namespace fusec::grammar
