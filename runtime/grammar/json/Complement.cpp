//===- Complement.cpp - all values that are not in a set -------------------===//
#include "runtime/grammar/json/Complement.h"

namespace fusec::grammar::json {

namespace {

/// The complement of one alternative within its own type: one alternative per
/// condition that may be violated.
class Violations {
public:
  explicit Violations(SchemaDocument &d) : document(d) {}

  Alternatives found;
  std::string obstacle;

  void operator()(const NullSet &) {}

  void operator()(const BooleanSet &set) {
    if (!set.hasFalse || !set.hasTrue)
      found.push_back(BooleanSet{!set.hasFalse, !set.hasTrue});
  }

  void operator()(const NumberSet &set) {
    if (!set.multiples.empty())
      obstacle = "multipleOf";
    if (set.low)
      number().high = NumberSet::Bound{set.low->value, !set.low->open};
    if (set.high)
      number().low = NumberSet::Bound{set.high->value, !set.high->open};
    if (set.integer)
      number().fractional = true;
    if (set.fractional)
      number().integer = true;
  }

  void operator()(const StringSet &set) {
    if (set.min > 0)
      string().max = set.min - 1;
    if (set.max != kNone)
      string().min = set.max + 1;
    for (StringSet::Pattern pattern : set.patterns) {
      pattern.negated = !pattern.negated;
      string().patterns.insert(pattern);
    }
    if (set.literals)
      string().excluded = *set.literals;
    if (!set.excluded.empty())
      string().literals = set.excluded;
  }

  void operator()(const ArraySet &set) {
    if (set.min > 0)
      array().max = set.min - 1;
    if (set.max != kNone)
      array().min = set.max + 1;
    for (size_t i = 0; i < set.prefix.size(); ++i)
      for (SchemaTerm term : set.prefix[i]) {
        ArraySet &violation = array();
        violation.prefix.resize(i);
        violation.prefix.push_back({~term});
        violation.min = static_cast<uint32_t>(i + 1);
      }
    if (set.rest == Conjunction{document.never()})
      array().min = static_cast<uint32_t>(set.prefix.size() + 1);
    else if (!set.rest.empty())
      obstacle = "items";
  }

  void operator()(const ObjectSet &set) {
    if (set.min > 0)
      object().max = set.min - 1;
    if (set.max != kNone)
      object().min = set.max + 1;
    for (const std::string &key : set.required)
      object().sources = {{.properties = {{key, {document.never()}}}, .patterns = {}, .additional = {}}};
    for (const ObjectSet::Source &source : set.sources)
      ofSource(source);
    if (!set.names.empty())
      obstacle = "propertyNames";
  }

private:
  void ofSource(const ObjectSet::Source &source) {
    if (!source.patterns.empty())
      obstacle = "patternProperties";
    if (!source.additional.empty())
      obstacle = "additionalProperties";
    for (const auto &[key, value] : source.properties)
      for (SchemaTerm term : value) {
        ObjectSet &violation = object();
        violation.required = {key};
        violation.sources = {{.properties = {{key, {~term}}}, .patterns = {}, .additional = {}}};
      }
  }

  template <typename Set> Set &add() { return std::get<Set>(found.emplace_back(Set())); }
  NumberSet &number() { return add<NumberSet>(); }
  StringSet &string() { return add<StringSet>(); }
  ArraySet &array() { return add<ArraySet>(); }
  ObjectSet &object() { return add<ObjectSet>(); }

  SchemaDocument &document;
};

} // namespace

std::optional<Alternatives> complement(const Alternatives &values, SchemaDocument &document, size_t limit,
                                       std::string &obstacle) {
  Alternatives rest = allValues();
  for (const Alternative &alternative : values) {
    Violations violations(document);
    std::visit(violations, alternative);
    if (!violations.obstacle.empty()) {
      obstacle = violations.obstacle;
      return std::nullopt;
    }
    for (int type = 0; type < kValueTypes; ++type)
      if (static_cast<size_t>(type) != alternative.index())
        violations.found.push_back(allOfType(static_cast<ValueType>(type)));
    rest = intersect(rest, violations.found);
    if (rest.size() > limit) {
      obstacle = "this many alternatives";
      return std::nullopt;
    }
  }
  return rest;
}

} // namespace fusec::grammar::json
