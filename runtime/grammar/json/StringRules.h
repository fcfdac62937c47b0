//===- StringRules.h - JSON spellings of sets of strings -------------------===//
//
// A character of a JSON string may stand as itself or as an escape; both are
// accepted everywhere, so every spelling of a string in the set matches.
//
//   StringPlan plan = StringPlan::of(set, budget);
//   if (plan.inhabited()) plan.addTo(builder, rule);
//
// Threading: values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/BytePaths.h"
#include "runtime/grammar/CharDfa.h"
#include "runtime/grammar/json/ValueSets.h"

#include <span>

namespace fusec::grammar::json {

/// The characters low ... high lead to the state `to`.
struct CharArc {
  char32_t low, high;
  StateId to;
  PathOps ops; ///< `check`: may this character be begun? `last`: when it is complete.
};

/// Writes the edges of characters inside a JSON string.
class JsonCharacters {
public:
  JsonCharacters(MachineBuilder &b, RuleId r) : builder(b), rule(r), paths(b, r) {}

  /// `any`: may some character be begun at `from`?
  void add(StateId from, std::span<const CharArc> arcs, OpId any);

private:
  void addEscapes(StateId from, std::span<const CharArc> arcs, OpId any);

  MachineBuilder &builder;
  RuleId rule;
  BytePaths paths;
};

/// How a set of strings becomes an automaton: characters that pass `dfa`, and
/// a count of them between `min` and `max` beside it.
class StringPlan {
public:
  /// Unsupported (in the budget): a pattern together with lengths that need too many states.
  static StringPlan of(const StringSet &set, CompileBudget &budget);

  bool inhabited() const { return !dfa.empty() && min <= max; }
  /// The strings with their lengths, as one automaton.
  CharDfa names(CompileBudget &budget) const;
  /// Adds a whole string with its quotes to the empty `rule`.
  void addTo(MachineBuilder &builder, RuleId rule) const;

private:
  bool counts() const { return min > 0 || max != kNone; }
  static bool countable(const CharDfa &dfa, uint32_t min);
  OpId increment(MachineBuilder &builder, uint32_t distance, bool onlyCheck) const;

  CharDfa dfa;
  uint32_t min = 0, max = kNone;
};

} // namespace fusec::grammar::json
