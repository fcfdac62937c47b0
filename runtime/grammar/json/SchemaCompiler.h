//===- SchemaCompiler.h - a JSON schema as rules of a machine --------------===//
//
// Three steps, each a loop over a worklist:
//   1. unfold every combination of schemas that some value must satisfy;
//   2. find those that some value satisfies (inhabited), so that no key or item
//      is offered whose value could never be completed;
//   3. write one rule for each.
//
//   FUSEC_ASSIGN_OR_RETURN(RuleId root, json::buildSchema(text, builder));
//
// What is accepted, exactly: docs/serving/structured-output.md.
//
// Threading: one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/json/KeyAutomaton.h"
#include "runtime/grammar/json/SchemaUnfolder.h"
#include "runtime/grammar/json/StringRules.h"

#include <deque>
#include <map>
#include <optional>

namespace fusec::grammar::json {

/// Adds the rules of a schema; the result matches one JSON value, with
/// whitespace before it. Errors name the schema path.
Result<RuleId> buildSchema(std::string_view text, MachineBuilder &builder);

/// One alternative on its way to a rule.
struct PlannedAlternative {
  Alternative value;
  std::optional<StringPlan> string;
  std::optional<KeyAutomaton> keys;
  bool inhabited = false;
};

/// Values that satisfy a conjunction of schemas.
struct PlannedValue {
  std::deque<PlannedAlternative> alternatives; ///< Never moved: the automata refer to their sets.
  bool inhabited = false;
  RuleId rule = kNone;
};

class SchemaCompiler {
public:
  SchemaCompiler(SchemaUnfolder &u, MachineBuilder &b) : unfolder(u), builder(b), budget(b.budget) {}

  Result<RuleId> compile(SchemaIndex root);

private:
  friend class ContainerRules;
  PlannedValue &valueOf(const Conjunction &terms);
  void plan(const Conjunction &terms, PlannedValue &value);
  void planObject(const Conjunction &terms, PlannedAlternative &alternative);
  std::optional<CharDfa> nameDfa(const Conjunction &terms);
  void planString(const Conjunction &terms, const StringSet &set, PlannedAlternative &alternative);
  void planNumber(const Conjunction &terms, PlannedAlternative &alternative);
  void findInhabited();
  bool nowInhabited(PlannedAlternative &alternative);
  bool arrayInhabited(const ArraySet &set);
  bool objectInhabited(const ObjectSet &set, const KeyAutomaton &keys);
  void writeRule(PlannedValue &value);
  void writeAlternative(PlannedAlternative &alternative, StateId from, StateId end);
  void writeText(std::string_view text, StateId from, StateId end);
  RuleId whitespace();
  std::string where(const Conjunction &terms) const;

  SchemaUnfolder &unfolder;
  MachineBuilder &builder;
  CompileBudget &budget;
  std::map<Conjunction, PlannedValue> values;
  std::vector<const Conjunction *> pending;
  RuleId whitespaceRule = kNone;
};

} // namespace fusec::grammar::json
