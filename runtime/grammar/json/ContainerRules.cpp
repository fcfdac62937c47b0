//===- ContainerRules.cpp - arrays and objects as rules --------------------===//
#include "runtime/grammar/json/ContainerRules.h"

#include <algorithm>

namespace fusec::grammar::json {

StateId ContainerRules::opened(StateId from, char bracket, OpId op) {
  StateId open = builder.addState(rule), ready = builder.addState(rule);
  auto byte = static_cast<uint8_t>(bracket);
  builder.byteEdge(from, byte, byte, open, op);
  builder.callEdge(open, compiler.whitespace(), ready);
  return ready;
}

void ContainerRules::value(StateId from, const Conjunction &terms, StateId to, OpId op) {
  StateId done = builder.addState(rule);
  builder.callEdge(from, compiler.valueOf(terms).rule, done, op);
  builder.callEdge(done, compiler.whitespace(), to);
}

void ContainerRules::close(StateId from, char bracket, OpId op) {
  auto byte = static_cast<uint8_t>(bracket);
  builder.byteEdge(from, byte, byte, end, op);
}

void ContainerRules::writeArray(const ArraySet &set) {
  end = builder.addState(rule);
  builder.setAccept(end);
  StateId at = opened(builder.start(rule), '[');
  uint32_t fixed = 0;
  for (;; ++fixed) {
    if (fixed >= set.min)
      close(at, ']');
    if (fixed >= set.prefix.size() || fixed >= set.max || !inhabited(set.prefix[fixed]) || !builder.budget.spend(1))
      break;
    StateId item = fixed == 0 ? at : opened(at, ',');
    StateId next = builder.addState(rule);
    value(item, set.prefix[fixed], next);
    at = next;
  }
  if (fixed == set.prefix.size() && fixed < set.max && inhabited(set.rest))
    writeRest(set, fixed, at);
}

void ContainerRules::writeRest(const ArraySet &set, uint32_t fixed, StateId from) {
  uint32_t min = set.min > fixed ? set.min - fixed : 0;
  uint32_t max = set.max == kNone ? kNone : set.max - fixed;
  bool counts = min > 0 || max != kNone;
  OpId increment = counts ? builder.addOp({.kind = OpKind::Increment, .min = min, .max = max}) : 0;
  OpId below = max != kNone ? builder.addOp({.kind = OpKind::Below, .max = max}) : 0;
  if (counts)
    builder.setCounts(rule, min, max);
  StateId loop = builder.addState(rule);
  value(fixed == 0 ? from : opened(from, ','), set.rest, loop, increment);
  value(opened(loop, ',', below), set.rest, loop, increment);
  close(loop, ']', min > 0 ? builder.addOp({.kind = OpKind::AtLeast, .min = min}) : 0);
}

Op ContainerRules::keyOp(const ObjectSet &set, OpKind kind, uint64_t keys, bool others) const {
  return {.kind = kind, .others = others, .min = set.min, .max = set.max, .keys = keys, .required = required};
}

void ContainerRules::writeObject(const ObjectSet &set, KeyAutomaton &keys) {
  end = builder.addState(rule);
  builder.setAccept(end);
  required = 0;
  for (KeyLabel &label : keys.labels) {
    label.usable = inhabited(label.value);
    if (label.declared && set.required.contains(label.name))
      required |= label.bit;
  }
  keys.findReachable();
  if (set.min > 0 || set.max != kNone)
    builder.setCounts(rule, set.min, set.max == kNone ? kNone : 0); // With a maximum no two counts are alike.
  OpId mayClose =
      required != 0 || set.min > 0 ? builder.addOp({.kind = OpKind::Close, .min = set.min, .required = required}) : 0;
  StateId first = opened(builder.start(rule), '{');
  StateId key = builder.addState(rule), afterValue = builder.addState(rule);
  OpId open = openOp(set, keys.states[0].keys, keys.states[0].others);
  close(first, '}', mayClose);
  close(afterValue, '}', mayClose);
  if (keys.states[0].keys == 0 && !keys.states[0].others)
    return;
  builder.byteEdge(first, '"', '"', key, open);
  builder.byteEdge(opened(afterValue, ',', open), '"', '"', key, open);
  writeKeys(set, keys, key, afterValue);
}

OpId ContainerRules::openOp(const ObjectSet &set, uint64_t keys, bool others) {
  if (others && set.max == kNone)
    return 0; // Always open.
  return builder.addOp(keyOp(set, OpKind::KeyOpen, keys, others));
}

void ContainerRules::writeKeys(const ObjectSet &set, const KeyAutomaton &keys, StateId key, StateId afterValue) {
  std::vector<StateId> states{key};
  while (states.size() < keys.states.size())
    states.push_back(builder.addState(rule));
  std::vector<StateId> ends(keys.labels.size(), kNone);
  JsonCharacters characters(builder, rule);
  for (size_t i = 0; i < keys.states.size() && builder.budget.spend(1); ++i) {
    const KeyAutomaton::State &state = keys.states[i];
    std::vector<CharArc> arcs;
    uint64_t later = 0;
    bool laterOthers = false;
    for (const CharDfa::Edge &edge : state.edges) {
      const KeyAutomaton::State &to = keys.states[edge.to];
      OpId open = openOp(set, to.keys, to.others);
      arcs.push_back({edge.low, edge.high, states[edge.to], {open, open}});
      later |= to.keys;
      laterOthers |= to.others;
    }
    characters.add(states[i], arcs, openOp(set, later, laterOthers));
    if (state.label >= 0)
      endKey(set, keys.labels[static_cast<size_t>(state.label)], states[i], ends[static_cast<size_t>(state.label)],
             afterValue);
  }
}

void ContainerRules::endKey(const ObjectSet &set, const KeyLabel &label, StateId from, StateId &after,
                            StateId afterValue) {
  if (!label.usable)
    return;
  if (after == kNone) {
    after = builder.addState(rule);
    StateId colon = builder.addState(rule);
    builder.callEdge(after, compiler.whitespace(), colon);
    value(opened(colon, ':'), label.value, afterValue);
  }
  OpId taken = builder.addOp(keyOp(set, OpKind::KeyTaken, label.bit, label.bit == 0));
  builder.byteEdge(from, '"', '"', after, taken);
}

} // namespace fusec::grammar::json
