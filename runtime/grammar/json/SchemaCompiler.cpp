//===- SchemaCompiler.cpp - a JSON schema as rules of a machine ------------===//
#include "runtime/grammar/json/SchemaCompiler.h"

#include "runtime/grammar/json/ContainerRules.h"
#include "runtime/grammar/json/NumberAutomaton.h"

#include <algorithm>
#include <bit>

namespace fusec::grammar::json {

namespace {

/// Bits of Registers::seen.
constexpr size_t kMaxTracked = 64;

} // namespace

std::string SchemaCompiler::where(const Conjunction &terms) const {
  if (terms.empty())
    return "schema #";
  SchemaTerm term = terms.front() >= 0 ? terms.front() : ~terms.front();
  return "schema " + unfolder.document.path(term);
}

PlannedValue &SchemaCompiler::valueOf(const Conjunction &terms) {
  auto [entry, isNew] = values.try_emplace(terms);
  if (isNew)
    pending.push_back(&entry->first);
  return entry->second;
}

Result<RuleId> SchemaCompiler::compile(SchemaIndex root) {
  PlannedValue &whole = valueOf({root});
  for (size_t i = 0; i < pending.size() && !budget.exhausted(); ++i)
    plan(*pending[i], values.at(*pending[i]));
  FUSEC_RETURN_IF_ERROR(budget.status());
  findInhabited();
  if (!whole.inhabited)
    return invalidArgument("schema #: no JSON value satisfies it");
  for (const Conjunction *terms : pending)
    if (PlannedValue &value = values.at(*terms); value.inhabited)
      value.rule = builder.addRule(where(*terms));
  for (const Conjunction *terms : pending)
    if (PlannedValue &value = values.at(*terms); value.inhabited && !budget.exhausted())
      writeRule(value);
  RuleId rule = builder.addRule("schema #");
  StateId value = builder.addState(rule), end = builder.addState(rule);
  builder.callEdge(builder.start(rule), whitespace(), value);
  builder.callEdge(value, whole.rule, end);
  builder.setAccept(end);
  FUSEC_RETURN_IF_ERROR(budget.status());
  return rule;
}

void SchemaCompiler::plan(const Conjunction &terms, PlannedValue &value) {
  for (Alternative &unfolded : unfolder.unfold(terms)) {
    if (!budget.spend(1))
      return;
    PlannedAlternative &alternative = value.alternatives.emplace_back();
    alternative.value = std::move(unfolded);
    if (const auto *string = std::get_if<StringSet>(&alternative.value))
      planString(terms, *string, alternative);
    else if (const auto *array = std::get_if<ArraySet>(&alternative.value)) {
      for (size_t i = 0; i <= array->prefix.size(); ++i)
        if (i < array->max)
          valueOf(array->at(i));
    } else if (std::holds_alternative<ObjectSet>(alternative.value))
      planObject(terms, alternative);
    else if (std::holds_alternative<NumberSet>(alternative.value))
      planNumber(terms, alternative);
  }
}

void SchemaCompiler::planString(const Conjunction &terms, const StringSet &set, PlannedAlternative &alternative) {
  alternative.string = StringPlan::of(set, budget);
  if (budget.exhausted())
    budget.addContext(where(terms));
}

void SchemaCompiler::planNumber(const Conjunction &terms, PlannedAlternative &alternative) {
  NumberAutomaton automaton(std::get<NumberSet>(alternative.value), budget.limits);
  if (!automaton.problem().ok())
    budget.fail(automaton.problem().withContext(where(terms)));
}

/// The names that a conjunction of schemas allows, which must come to one set of strings.
std::optional<CharDfa> SchemaCompiler::nameDfa(const Conjunction &terms) {
  CharDfa names = CharDfa::all();
  if (terms.empty())
    return names;
  std::vector<StringSet> sets;
  for (const Alternative &value : unfolder.unfold(terms))
    if (const auto *string = std::get_if<StringSet>(&value))
      sets.push_back(*string);
  if (sets.size() > 1) {
    budget.fail(unsupported(where(terms) + ": property names of several alternatives are not supported"));
    return std::nullopt;
  }
  StringSet none;
  none.literals.emplace();
  StringPlan plan = StringPlan::of(sets.empty() ? none : sets[0], budget);
  return plan.names(budget);
}

void SchemaCompiler::planObject(const Conjunction &terms, PlannedAlternative &alternative) {
  const ObjectSet &set = std::get<ObjectSet>(alternative.value);
  std::optional<CharDfa> names = nameDfa(set.names);
  if (!names || budget.exhausted())
    return;
  KeyAutomaton &keys = alternative.keys.emplace(set, *names, budget);
  size_t tracked = 0;
  auto track = [&](bool required) {
    for (KeyLabel &label : keys.labels)
      if (label.declared && set.required.contains(label.name) == required && tracked < kMaxTracked)
        label.bit = uint64_t{1} << tracked++;
  };
  track(true);
  if (set.required.size() > kMaxTracked)
    budget.fail(unsupported(where(terms) + ": more than 64 required properties are not supported"));
  track(false);
  bool untracked = std::any_of(keys.labels.begin(), keys.labels.end(), [](const KeyLabel &l) { return l.bit == 0; });
  // An undeclared name might be repeated, and then count twice.
  if (set.min > 1 && set.min > set.required.size() && untracked)
    budget.fail(unsupported(where(terms) + ": minProperties above 1 is supported only where every possible property "
                                           "is declared (additionalProperties: false)"));
  for (const KeyLabel &label : keys.labels)
    valueOf(label.value);
}

bool SchemaCompiler::arrayInhabited(const ArraySet &set) {
  for (size_t i = 0; i < std::min<size_t>(set.min, set.prefix.size() + 1); ++i)
    if (!valueOf(set.at(i)).inhabited)
      return false;
  return true;
}

bool SchemaCompiler::objectInhabited(const ObjectSet &set, const KeyAutomaton &keys) {
  size_t required = 0, possible = 0;
  bool unlimited = false;
  for (const KeyLabel &label : keys.labels) {
    if (!values.at(label.value).inhabited)
      continue;
    required += label.declared && set.required.contains(label.name);
    possible += label.declared;
    unlimited |= !label.declared;
  }
  return required == set.required.size() && required <= set.max && (unlimited || possible >= set.min);
}

bool SchemaCompiler::nowInhabited(PlannedAlternative &alternative) {
  if (alternative.string)
    return alternative.string->inhabited();
  if (const auto *number = std::get_if<NumberSet>(&alternative.value))
    return NumberAutomaton(*number, budget.limits).inhabited(budget);
  if (const auto *array = std::get_if<ArraySet>(&alternative.value))
    return arrayInhabited(*array);
  if (alternative.keys)
    return objectInhabited(std::get<ObjectSet>(alternative.value), *alternative.keys);
  return true;
}

/// The least fixed point: a value is inhabited when it can be built from inhabited ones.
void SchemaCompiler::findInhabited() {
  for (bool first = true, changed = true; changed && !budget.exhausted(); first = false) {
    changed = false;
    for (const Conjunction *terms : pending) {
      PlannedValue &value = values.at(*terms);
      for (PlannedAlternative &alternative : value.alternatives) {
        bool scalar = alternative.value.index() < static_cast<size_t>(ValueType::Array);
        if (alternative.inhabited || (scalar && !first) || !budget.spend(1) || !nowInhabited(alternative))
          continue;
        alternative.inhabited = value.inhabited = changed = true;
      }
    }
  }
}

void SchemaCompiler::writeText(std::string_view text, StateId from, StateId end) {
  for (size_t i = 0; i < text.size(); ++i) {
    StateId to = i + 1 == text.size() ? end : builder.addState(builder.ruleOf(from));
    builder.byteEdge(from, static_cast<uint8_t>(text[i]), static_cast<uint8_t>(text[i]), to);
    from = to;
  }
}

void SchemaCompiler::writeRule(PlannedValue &value) {
  StateId start = builder.start(value.rule), end = builder.addState(value.rule);
  builder.setAccept(end);
  for (PlannedAlternative &alternative : value.alternatives)
    if (alternative.inhabited && !budget.exhausted())
      writeAlternative(alternative, start, end);
}

void SchemaCompiler::writeAlternative(PlannedAlternative &alternative, StateId from, StateId end) {
  if (std::holds_alternative<NullSet>(alternative.value))
    return writeText("null", from, end);
  if (const auto *boolean = std::get_if<BooleanSet>(&alternative.value)) {
    if (boolean->hasFalse)
      writeText("false", from, end);
    if (boolean->hasTrue)
      writeText("true", from, end);
    return;
  }
  RuleId rule = builder.addRule("value");
  builder.callEdge(from, rule, end);
  if (const auto *number = std::get_if<NumberSet>(&alternative.value))
    NumberAutomaton(*number, budget.limits).addTo(builder, rule);
  else if (alternative.string)
    alternative.string->addTo(builder, rule);
  else if (const auto *array = std::get_if<ArraySet>(&alternative.value))
    ContainerRules(*this, rule).writeArray(*array);
  else
    ContainerRules(*this, rule).writeObject(std::get<ObjectSet>(alternative.value), *alternative.keys);
}

/// Up to Limits::whitespace spaces, tabs and line ends.
RuleId SchemaCompiler::whitespace() {
  if (whitespaceRule != kNone)
    return whitespaceRule;
  whitespaceRule = builder.addRule("whitespace");
  StateId at = builder.start(whitespaceRule);
  builder.setAccept(at);
  for (int i = 0; i < budget.limits.whitespace; ++i) {
    StateId next = builder.addState(whitespaceRule);
    builder.setAccept(next);
    for (char space : std::string_view(" \t\n\r"))
      builder.byteEdge(at, static_cast<uint8_t>(space), static_cast<uint8_t>(space), next);
    at = next;
  }
  return whitespaceRule;
}

Result<RuleId> buildSchema(std::string_view text, MachineBuilder &builder) {
  FUSEC_ASSIGN_OR_RETURN(SchemaDocument document, SchemaDocument::parse(text, builder.budget.limits));
  SchemaUnfolder unfolder(document, builder.budget);
  return SchemaCompiler(unfolder, builder).compile(document.root());
}

} // namespace fusec::grammar::json
