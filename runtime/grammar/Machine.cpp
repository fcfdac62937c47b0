//===- Machine.cpp - building the internal form ----------------------------===//
#include "runtime/grammar/Machine.h"

#include "runtime/grammar/MachineCheck.h"

#include <algorithm>
#include <bit>

namespace fusec::grammar {

bool Op::keyOpen(const Registers &registers) const {
  uint64_t missing = required & ~registers.seen;
  bool room = max == kNone || registers.count + static_cast<uint32_t>(std::popcount(missing)) < max;
  uint64_t open = keys & ~registers.seen;
  // Without room for a free choice only the properties that are still required fit.
  return room ? others || open != 0 : (open & missing) != 0;
}

bool Op::apply(Registers &registers) const {
  switch (kind) {
  case OpKind::Pass:
    return true;
  case OpKind::Increment:
    if (registers.count >= max)
      return false;
    registers.count = max == kNone ? std::min(registers.count + 1, min) : registers.count + 1;
    return true;
  case OpKind::Below:
    return registers.count < max;
  case OpKind::AtLeast:
    return registers.count >= min;
  case OpKind::KeyOpen:
    return keyOpen(registers);
  case OpKind::KeyTaken:
    if (!keyOpen(registers))
      return false;
    registers.seen |= keys;
    registers.count = max == kNone ? std::min(registers.count + 1, min) : registers.count + 1;
    return true;
  case OpKind::Close:
    return (required & ~registers.seen) == 0 && registers.count >= min;
  }
  return false;
}

size_t Machine::bytesHeld() const {
  return states.size() * sizeof(State) + byteEdges.size() * sizeof(ByteEdge) + silentEdges.size() * sizeof(SilentEdge) +
         ops.size() * sizeof(Op) + rules.size() * sizeof(Rule);
}

RuleId MachineBuilder::addRule(std::string name) {
  auto id = static_cast<RuleId>(rules.size());
  rules.push_back({std::move(name), 0});
  rules.back().start = addState(id);
  return id;
}

StateId MachineBuilder::addState(RuleId rule) {
  budget.spend(1);
  states.push_back({{}, {}, rule});
  return static_cast<StateId>(states.size() - 1);
}

void MachineBuilder::byteEdge(StateId from, uint8_t low, uint8_t high, StateId to, OpId op) {
  states[from].bytes.push_back({low, high, op, to});
}

void MachineBuilder::silentEdge(StateId from, StateId to, OpId op) { states[from].silents.push_back({op, to, kNone}); }

void MachineBuilder::callEdge(StateId from, RuleId callee, StateId to, OpId op) {
  states[from].silents.push_back({op, to, callee});
}

OpId MachineBuilder::addOp(const Op &op) {
  // Recent ones first: equal Ops are added next to one another.
  for (size_t i = ops.size(), tries = 0; i-- > 0 && tries < 64; ++tries)
    if (ops[i] == op)
      return static_cast<OpId>(i);
  ops.push_back(op);
  return static_cast<OpId>(ops.size() - 1);
}

void MachineBuilder::setCounts(RuleId rule, uint32_t min, uint32_t max) {
  rules[rule].countMin = min;
  rules[rule].countMax = max;
}

Machine MachineBuilder::freeze(RuleId root) const {
  Machine machine;
  machine.ops = ops;
  machine.rules = rules;
  machine.root = root;
  for (const State &state : states) {
    machine.states.push_back({static_cast<uint32_t>(machine.byteEdges.size()),
                              static_cast<uint32_t>(machine.silentEdges.size()), state.rule, state.accept});
    machine.byteEdges.insert(machine.byteEdges.end(), state.bytes.begin(), state.bytes.end());
    machine.silentEdges.insert(machine.silentEdges.end(), state.silents.begin(), state.silents.end());
  }
  machine.states.push_back(
      {static_cast<uint32_t>(machine.byteEdges.size()), static_cast<uint32_t>(machine.silentEdges.size()), 0, false});
  return machine;
}

Result<Machine> MachineBuilder::finish(RuleId root) {
  FUSEC_RETURN_IF_ERROR(budget.status());
  MachineCheck check(*this);
  check.removeDeadEnds();
  if (!check.productive(root))
    return invalidArgument(rules[root].name + ": no text can satisfy it");
  FUSEC_RETURN_IF_ERROR(check.findLeftRecursion());
  return freeze(root);
}

} // namespace fusec::grammar
