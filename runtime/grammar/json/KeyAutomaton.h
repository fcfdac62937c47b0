//===- KeyAutomaton.h - which schema a property's name selects -------------===//
//
// A deterministic automaton over the characters of a property name. Its labels
// say what the name selects: one declared property or another name, together
// with the patternProperties that match.
//
//   KeyAutomaton keys(objectSet, nameDfa, budget);
//   for (KeyLabel &label : keys.labels) label.usable = inhabited(label.value);
//   keys.findReachable();
//
// Threading: values. Errors stick in the budget.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/CharDfa.h"
#include "runtime/grammar/json/ValueSets.h"

#include <vector>

namespace fusec::grammar::json {

/// What one kind of name selects.
struct KeyLabel {
  Conjunction value; ///< What the property's value satisfies.
  std::string name;  ///< Of a declared property; else empty.
  bool declared = false;
  bool usable = true; ///< Some value satisfies it.
  uint64_t bit = 0;   ///< Of Registers::seen; 0: not tracked.
};

class KeyAutomaton {
public:
  struct State {
    std::vector<CharDfa::Edge> edges;
    int32_t label = -1;  ///< Of the name that ends here; -1: no name does.
    uint64_t keys = 0;   ///< Tracked names that end here or later,
    bool others = false; ///< and whether an untracked one does.
  };

  /// `names`: what propertyNames allows.
  KeyAutomaton(const ObjectSet &set, const CharDfa &names, CompileBudget &budget);

  /// Fills State::keys and others from the usable labels; removes the edges that reach none.
  void findReachable();

  std::vector<State> states; ///< 0 is the start.
  std::vector<KeyLabel> labels;

private:
  using Parts = std::vector<uint32_t>; ///< A state of each automaton; UINT32_MAX: it has given up.
  void explore(CompileBudget &budget);
  uint32_t stateOf(Parts parts);
  int32_t labelOf(const Parts &parts);
  Conjunction valueOf(const std::string *name, const std::vector<bool> &matched) const;

  const ObjectSet &set;
  std::vector<std::string> literals;  ///< Declared and required names, sorted.
  std::vector<std::string> patterns;  ///< Distinct, sorted.
  std::vector<CharDfa> automata;      ///< Literals, names, then the patterns.
  std::vector<std::string> literalAt; ///< Per state of the literals' trie.
  std::map<Parts, uint32_t> ids;
  std::vector<Parts> pending;
  std::map<std::pair<std::string, std::vector<bool>>, int32_t> labelIds;
};

} // namespace fusec::grammar::json
