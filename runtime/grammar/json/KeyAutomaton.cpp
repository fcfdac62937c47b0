//===- KeyAutomaton.cpp - which schema a property's name selects -----------===//
#include "runtime/grammar/json/KeyAutomaton.h"

#include "runtime/text/Utf8.h"

#include <algorithm>

namespace fusec::grammar::json {

namespace {

constexpr uint32_t kGone = UINT32_MAX;
constexpr size_t kLiterals = 0, kNames = 1, kPatterns = 2;

/// The state of `dfa` after `text`, which it knows.
uint32_t stateAfter(const CharDfa &dfa, const std::string &text) {
  uint32_t at = 0;
  for (size_t i = 0; i < text.size() && at != kGone;) {
    text::CodePoint point = text::decodeUtf8(text, i);
    i += point.length;
    at = dfa.next(at, point.value);
  }
  return at;
}

} // namespace

KeyAutomaton::KeyAutomaton(const ObjectSet &s, const CharDfa &names, CompileBudget &budget) : set(s) {
  std::set<std::string> literalNames(set.required), patternTexts;
  for (const ObjectSet::Source &source : set.sources) {
    for (const auto &[name, value] : source.properties)
      literalNames.insert(name);
    for (const auto &[pattern, value] : source.patterns)
      patternTexts.insert(pattern);
  }
  literals.assign(literalNames.begin(), literalNames.end());
  patterns.assign(patternTexts.begin(), patternTexts.end());
  automata.push_back(CharDfa::ofLiterals(literals, budget));
  automata.push_back(names);
  for (const std::string &pattern : patterns)
    automata.push_back(CharDfa::ofPattern(pattern, budget));
  if (budget.exhausted())
    return;
  literalAt.resize(automata[kLiterals].states.size());
  for (const std::string &name : literals)
    literalAt[stateAfter(automata[kLiterals], name)] = name;
  explore(budget);
}

uint32_t KeyAutomaton::stateOf(Parts parts) {
  auto [entry, isNew] = ids.try_emplace(std::move(parts), static_cast<uint32_t>(states.size()));
  if (isNew) {
    states.emplace_back();
    states.back().label = labelOf(entry->first);
    pending.push_back(entry->first);
  }
  return entry->second;
}

void KeyAutomaton::explore(CompileBudget &budget) {
  stateOf(Parts(automata.size(), 0));
  for (size_t i = 0; i < pending.size() && budget.spend(automata.size()); ++i) {
    Parts parts = pending[i];
    CharCuts cuts;
    cuts.add(0, kLastCodePoint);
    for (size_t a = 0; a < automata.size(); ++a)
      if (parts[a] != kGone)
        cuts.add(automata[a].states[parts[a]]);
    cuts.forEach([&](char32_t low, char32_t high) {
      Parts next(parts.size(), kGone);
      for (size_t a = 0; a < automata.size(); ++a)
        if (parts[a] != kGone)
          next[a] = automata[a].next(parts[a], low);
      if (next[kNames] == kGone || !budget.spend(1))
        return;
      uint32_t to = stateOf(std::move(next));
      appendEdge(states[i].edges, {low, high, to});
    });
  }
}

int32_t KeyAutomaton::labelOf(const Parts &parts) {
  auto accepted = [&](size_t a) { return parts[a] != kGone && automata[a].states[parts[a]].accept; };
  if (!accepted(kNames))
    return -1;
  bool declared = accepted(kLiterals);
  std::string name = declared ? literalAt[parts[kLiterals]] : "";
  std::vector<bool> matched;
  for (size_t a = kPatterns; a < automata.size(); ++a)
    matched.push_back(accepted(a));
  std::vector<bool> key = matched;
  key.push_back(declared); // A property may be declared with the empty name.
  auto [entry, isNew] = labelIds.try_emplace({name, key}, static_cast<int32_t>(labels.size()));
  if (isNew)
    labels.push_back({valueOf(declared ? &name : nullptr, matched), name, declared});
  return entry->second;
}

Conjunction KeyAutomaton::valueOf(const std::string *name, const std::vector<bool> &matched) const {
  Conjunction value;
  for (const ObjectSet::Source &source : set.sources) {
    bool found = false;
    if (auto property = name ? source.properties.find(*name) : source.properties.end();
        property != source.properties.end()) {
      value = join(value, property->second);
      found = true;
    }
    for (const auto &[pattern, schema] : source.patterns) {
      auto index = static_cast<size_t>(std::lower_bound(patterns.begin(), patterns.end(), pattern) - patterns.begin());
      if (!matched[index])
        continue;
      value = join(value, schema);
      found = true;
    }
    if (!found)
      value = join(value, source.additional);
  }
  return value;
}

void KeyAutomaton::findReachable() {
  std::vector<std::vector<uint32_t>> sources(states.size());
  std::vector<uint32_t> work;
  for (uint32_t s = 0; s < states.size(); ++s) {
    for (const CharDfa::Edge &edge : states[s].edges)
      sources[edge.to].push_back(s);
    int32_t label = states[s].label;
    if (label >= 0 && labels[static_cast<size_t>(label)].usable) {
      states[s].keys = labels[static_cast<size_t>(label)].bit;
      states[s].others = states[s].keys == 0;
      work.push_back(s);
    }
  }
  while (!work.empty()) { // At most 65 visits per state: what it reaches only grows.
    uint32_t s = work.back();
    work.pop_back();
    for (uint32_t from : sources[s]) {
      uint64_t keys = states[from].keys | states[s].keys;
      bool others = states[from].others || states[s].others;
      if (keys == states[from].keys && others == states[from].others)
        continue;
      states[from].keys = keys;
      states[from].others = others;
      work.push_back(from);
    }
  }
  for (State &state : states)
    std::erase_if(state.edges,
                  [&](const CharDfa::Edge &edge) { return states[edge.to].keys == 0 && !states[edge.to].others; });
}

} // namespace fusec::grammar::json
