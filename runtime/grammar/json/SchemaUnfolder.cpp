//===- SchemaUnfolder.cpp - schemas to their normal form -------------------===//
#include "runtime/grammar/json/SchemaUnfolder.h"

#include "runtime/grammar/json/Complement.h"
#include "runtime/grammar/json/Keywords.h"
#include "runtime/grammar/json/NumberAutomaton.h"
#include "runtime/grammar/json/StringRules.h"

#include <algorithm>
#include <utility>

namespace fusec::grammar::json {

namespace {

/// Required properties inside one another that a proof of emptiness looks through.
constexpr int kMaxProbes = 6;

Alternatives nonObjects() {
  Alternatives values = allValues();
  values.pop_back();
  return values;
}

} // namespace

void SchemaUnfolder::fail(SchemaIndex schema, const std::string &keyword, const std::string &what) {
  budget.fail(invalidArgument("schema " + document.path(schema) + "/" + keyword + ": " + what));
}

void SchemaUnfolder::refuse(SchemaIndex schema, const std::string &keyword, const std::string &what) {
  budget.fail(unsupported("schema " + document.path(schema) + "/" + keyword + ": " + what));
}

void SchemaUnfolder::narrow(SchemaIndex schema, Alternatives &values, const Alternatives &with) {
  size_t limit = budget.limits.alternatives;
  if (values.size() * with.size() <= 32 * limit && budget.spend(values.size() * with.size())) {
    values = intersect(values, with);
    if (values.size() <= limit)
      return;
  }
  budget.fail(resourceExhausted("schema " + document.path(schema) + ": unfolds into more than " +
                                std::to_string(limit) + " alternatives"));
  values.clear();
}

Alternatives SchemaUnfolder::unfold(const Conjunction &terms) {
  Alternatives values = allValues();
  for (SchemaTerm term : terms) {
    if (budget.exhausted())
      break;
    if (term >= 0)
      narrow(term, values, ofSchema(term));
    else
      narrow(~term, values, complementOf(~term, "", ofSchema(~term)));
  }
  return values;
}

const Alternatives &SchemaUnfolder::ofSchema(SchemaIndex schema) {
  static const Alternatives nothing, everything = allValues();
  if (auto found = known.find(schema); found != known.end())
    return found->second;
  bool loop = std::find(open.begin(), open.end(), schema) != open.end();
  if (loop && probing) {
    blocked = true;
    return everything;
  }
  if (loop || open.size() > static_cast<size_t>(budget.limits.nesting)) {
    budget.fail(loop ? invalidArgument("schema " + document.path(schema) + ": its references form a loop")
                     : resourceExhausted("schema " + document.path(schema) + ": combinations nest deeper than " +
                                         std::to_string(budget.limits.nesting)));
    return nothing;
  }
  open.push_back(schema);
  Alternatives values = compute(schema);
  open.pop_back();
  if (blocked) { // Part of it is unknown for now: good for this probe only.
    probed.push_back(std::move(values));
    return probed.back();
  }
  return known.emplace(schema, std::move(values)).first->second;
}

Alternatives SchemaUnfolder::compute(SchemaIndex schema) {
  using Apply = void (SchemaUnfolder::*)(SchemaIndex, const nlohmann::json &, Alternatives &);
  static constexpr std::pair<std::string_view, Apply> combining[] = {
      {"$ref", &SchemaUnfolder::applyRef},
      {"allOf", &SchemaUnfolder::applyAllOf},
      {"anyOf", &SchemaUnfolder::applyAnyOf},
      {"oneOf", &SchemaUnfolder::applyOneOf},
      {"not", &SchemaUnfolder::applyNot},
      {"if", &SchemaUnfolder::applyIf},
      {"dependentRequired", &SchemaUnfolder::applyDependentRequired},
      {"dependentSchemas", &SchemaUnfolder::applyDependentSchemas},
      {"dependencies", &SchemaUnfolder::applyDependencies},
  };
  const nlohmann::json &value = document.schema(schema);
  if (value.is_boolean())
    return value.get<bool>() ? allValues() : Alternatives();
  if (!value.is_object()) {
    budget.fail(invalidArgument("schema " + document.path(schema) + ": expected an object or a boolean, found " +
                                std::string(jsonTypeName(value))));
    return {};
  }
  Alternatives values = readKeywords(document, schema, budget);
  for (const auto &[keyword, apply] : combining)
    if (auto found = value.find(keyword); found != value.end() && !budget.exhausted())
      (this->*apply)(schema, *found, values);
  return values;
}

const Alternatives &SchemaUnfolder::ofBranch(SchemaIndex schema, const std::string &below,
                                             const nlohmann::json &branch) {
  return ofSchema(document.child(schema, below, branch));
}

void SchemaUnfolder::applyRef(SchemaIndex schema, const nlohmann::json &value, Alternatives &values) {
  if (!value.is_string())
    return fail(schema, "$ref", "expected a string");
  Result<SchemaIndex> target = document.resolve(schema, value.get<std::string>());
  if (!target)
    return budget.fail(target.status());
  narrow(schema, values, ofSchema(*target));
}

bool SchemaUnfolder::isList(SchemaIndex schema, const std::string &keyword, const nlohmann::json &value) {
  if (value.is_array() && !value.empty())
    return true;
  fail(schema, keyword, "expected a list of schemas");
  return false;
}

void SchemaUnfolder::applyAllOf(SchemaIndex schema, const nlohmann::json &value, Alternatives &values) {
  if (!isList(schema, "allOf", value))
    return;
  for (size_t i = 0; i < value.size() && !budget.exhausted(); ++i)
    narrow(schema, values, ofBranch(schema, "allOf/" + std::to_string(i), value[i]));
}

void SchemaUnfolder::applyAnyOf(SchemaIndex schema, const nlohmann::json &value, Alternatives &values) {
  if (!isList(schema, "anyOf", value))
    return;
  Alternatives any;
  for (size_t i = 0; i < value.size() && !budget.exhausted(); ++i) {
    const Alternatives &branch = ofBranch(schema, "anyOf/" + std::to_string(i), value[i]);
    any.insert(any.end(), branch.begin(), branch.end());
  }
  narrow(schema, values, any);
}

void SchemaUnfolder::applyOneOf(SchemaIndex schema, const nlohmann::json &value, Alternatives &values) {
  if (!isList(schema, "oneOf", value))
    return;
  std::vector<Alternatives> branches;
  for (size_t i = 0; i < value.size() && !budget.exhausted(); ++i)
    branches.push_back(ofBranch(schema, "oneOf/" + std::to_string(i), value[i]));
  Alternatives one;
  for (size_t i = 0; i < branches.size() && !budget.exhausted(); ++i) {
    Alternatives only = branches[i];
    for (size_t other = 0; other < branches.size() && budget.spend(1); ++other)
      if (other != i && !provablyDisjoint(only, branches[other]))
        narrow(schema, only, complementOf(schema, "oneOf", branches[other]));
    one.insert(one.end(), only.begin(), only.end());
  }
  narrow(schema, values, one);
}

void SchemaUnfolder::applyNot(SchemaIndex schema, const nlohmann::json &value, Alternatives &values) {
  narrow(schema, values, complementOf(schema, "not", ofBranch(schema, "not", value)));
}

void SchemaUnfolder::applyIf(SchemaIndex schema, const nlohmann::json &value, Alternatives &values) {
  const nlohmann::json &object = document.schema(schema);
  auto then = object.find("then"), otherwise = object.find("else");
  if (then == object.end() && otherwise == object.end())
    return;
  Alternatives yes = ofBranch(schema, "if", value);
  Alternatives no = complementOf(schema, "if", yes);
  if (then != object.end())
    narrow(schema, yes, ofBranch(schema, "then", *then));
  if (otherwise != object.end())
    narrow(schema, no, ofBranch(schema, "else", *otherwise));
  yes.insert(yes.end(), no.begin(), no.end());
  narrow(schema, values, yes);
}

void SchemaUnfolder::applyDependency(SchemaIndex schema, const std::string &key, const Alternatives &then,
                                     Alternatives &values) {
  ObjectSet absent, present;
  absent.sources = {{.properties = {{key, {document.never()}}}, .patterns = {}, .additional = {}}};
  present.required = {key};
  Alternatives with{present};
  narrow(schema, with, then);
  Alternatives any = nonObjects();
  any.push_back(absent);
  any.insert(any.end(), with.begin(), with.end());
  narrow(schema, values, any);
}

Alternatives SchemaUnfolder::requiring(SchemaIndex schema, const std::string &keyword, const nlohmann::json &names) {
  ObjectSet set;
  for (const nlohmann::json &name : names)
    if (name.is_string())
      set.required.insert(name.get<std::string>());
    else
      fail(schema, keyword, "expected lists of strings");
  return {set};
}

void SchemaUnfolder::applyDependentRequired(SchemaIndex schema, const nlohmann::json &value, Alternatives &values) {
  if (!value.is_object())
    return fail(schema, "dependentRequired", "expected an object");
  for (const auto &[key, names] : value.items())
    if (!names.is_array())
      return fail(schema, "dependentRequired", "expected lists of strings");
    else if (!budget.exhausted())
      applyDependency(schema, key, requiring(schema, "dependentRequired", names), values);
}

void SchemaUnfolder::applyDependentSchemas(SchemaIndex schema, const nlohmann::json &value, Alternatives &values) {
  if (!value.is_object())
    return fail(schema, "dependentSchemas", "expected an object");
  for (const auto &[key, branch] : value.items())
    if (!budget.exhausted())
      applyDependency(schema, key, ofBranch(schema, "dependentSchemas/" + key, branch), values);
}

void SchemaUnfolder::applyDependencies(SchemaIndex schema, const nlohmann::json &value, Alternatives &values) {
  if (!value.is_object())
    return fail(schema, "dependencies", "expected an object");
  for (const auto &[key, then] : value.items())
    if (!budget.exhausted())
      applyDependency(schema, key,
                      then.is_array() ? requiring(schema, "dependencies", then)
                                      : ofBranch(schema, "dependencies/" + key, then),
                      values);
}

Alternatives SchemaUnfolder::complementOf(SchemaIndex schema, const std::string &keyword, const Alternatives &values) {
  std::string obstacle;
  std::optional<Alternatives> rest = complement(values, document, budget.limits.alternatives, obstacle);
  if (rest)
    return std::move(*rest);
  refuse(schema, keyword,
         "the values that do not satisfy a schema with " + obstacle +
             " cannot be expressed (needed for not, if, or a "
             "oneOf whose branches may overlap)");
  return {};
}

bool SchemaUnfolder::provablyDisjoint(const Alternatives &a, const Alternatives &b) {
  if (!budget.spend(a.size() * b.size()))
    return false;
  Alternatives both = intersect(a, b);
  return std::all_of(both.begin(), both.end(), [&](const Alternative &value) { return provablyEmpty(value); });
}

bool SchemaUnfolder::requiresImpossible(const ObjectSet &set) {
  return std::any_of(set.required.begin(), set.required.end(), [&](const std::string &key) {
    Conjunction value;
    for (const ObjectSet::Source &source : set.sources)
      if (auto found = source.properties.find(key); found != source.properties.end())
        value = join(value, found->second);
      else if (source.patterns.empty())
        value = join(value, source.additional);
    return provablyEmpty(value);
  });
}

bool SchemaUnfolder::provablyEmpty(const Alternative &value) {
  if (budget.exhausted() || probing >= kMaxProbes)
    return false;
  if (const auto *number = std::get_if<NumberSet>(&value)) {
    NumberAutomaton automaton(*number, budget.limits);
    return automaton.problem().ok() && !automaton.inhabited(budget);
  }
  if (const auto *string = std::get_if<StringSet>(&value))
    return !StringPlan::of(*string, budget).inhabited();
  if (const auto *object = std::get_if<ObjectSet>(&value))
    return requiresImpossible(*object);
  if (const auto *array = std::get_if<ArraySet>(&value))
    for (size_t i = 0; i < std::min<size_t>(array->min, array->prefix.size() + 1); ++i)
      if (provablyEmpty(array->at(i)))
        return true;
  return false;
}

bool SchemaUnfolder::provablyEmpty(const Conjunction &terms) {
  // Schemas that are being unfolded further up are unknown here: not provable.
  bool outer = std::exchange(blocked, false);
  ++probing;
  Alternatives values = unfold(terms);
  bool empty = !blocked && std::all_of(values.begin(), values.end(),
                                       [&](const Alternative &alternative) { return provablyEmpty(alternative); });
  --probing;
  blocked = outer;
  if (probing == 0)
    probed.clear();
  return empty;
}

} // namespace fusec::grammar::json
