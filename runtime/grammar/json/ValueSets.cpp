//===- ValueSets.cpp - sets of JSON values ---------------------------------===//
#include "runtime/grammar/json/ValueSets.h"

#include <algorithm>
#include <iterator>

namespace fusec::grammar::json {

Conjunction join(const Conjunction &a, const Conjunction &b) {
  Conjunction both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

Alternative allOfType(ValueType type) {
  switch (type) {
  case ValueType::Null:
    return NullSet();
  case ValueType::Boolean:
    return BooleanSet();
  case ValueType::Number:
    return NumberSet();
  case ValueType::String:
    return StringSet();
  case ValueType::Array:
    return ArraySet();
  case ValueType::Object:
    return ObjectSet();
  }
  return NullSet();
}

Alternatives allValues() {
  Alternatives all;
  for (int type = 0; type < kValueTypes; ++type)
    all.push_back(allOfType(static_cast<ValueType>(type)));
  return all;
}

namespace {

using Maybe = std::optional<Alternative>;

Maybe meet(const NullSet &, const NullSet &) { return NullSet(); }

Maybe meet(const BooleanSet &a, const BooleanSet &b) {
  BooleanSet both{a.hasFalse && b.hasFalse, a.hasTrue && b.hasTrue};
  return both.hasFalse || both.hasTrue ? Maybe(both) : std::nullopt;
}

/// The tighter of two bounds; `sign` -1 for upper bounds.
std::optional<NumberSet::Bound> tighter(const std::optional<NumberSet::Bound> &a,
                                        const std::optional<NumberSet::Bound> &b, bool lower) {
  if (!a || !b)
    return a ? a : b;
  if (a->value == b->value)
    return NumberSet::Bound{a->value, a->open || b->open};
  return (a->value > b->value) == lower ? a : b;
}

Maybe meet(const NumberSet &a, const NumberSet &b) {
  NumberSet both;
  both.low = tighter(a.low, b.low, true);
  both.high = tighter(a.high, b.high, false);
  both.integer = a.integer || b.integer;
  both.fractional = a.fractional || b.fractional;
  both.multiples = a.multiples;
  for (const Decimal &multiple : b.multiples)
    if (std::find(both.multiples.begin(), both.multiples.end(), multiple) == both.multiples.end())
      both.multiples.push_back(multiple);
  bool crossed = both.low && both.high &&
                 (both.low->value > both.high->value ||
                  (both.low->value == both.high->value && (both.low->open || both.high->open)));
  return crossed || (both.integer && both.fractional) ? std::nullopt : Maybe(both);
}

Maybe meet(const StringSet &a, const StringSet &b) {
  StringSet both = a;
  both.min = std::max(a.min, b.min);
  both.max = std::min(a.max, b.max);
  both.patterns.insert(b.patterns.begin(), b.patterns.end());
  both.excluded.insert(b.excluded.begin(), b.excluded.end());
  if (!a.literals)
    both.literals = b.literals;
  else if (b.literals)
    std::erase_if(*both.literals, [&](const std::string &literal) { return !b.literals->contains(literal); });
  if (both.literals)
    std::erase_if(*both.literals, [&](const std::string &literal) { return both.excluded.contains(literal); });
  return both.min > both.max || (both.literals && both.literals->empty()) ? std::nullopt : Maybe(both);
}

Maybe meet(const ArraySet &a, const ArraySet &b) {
  ArraySet both;
  for (size_t i = 0; i < std::max(a.prefix.size(), b.prefix.size()); ++i)
    both.prefix.push_back(join(a.at(i), b.at(i)));
  both.rest = join(a.rest, b.rest);
  both.min = std::max(a.min, b.min);
  both.max = std::min(a.max, b.max);
  return both.min > both.max ? std::nullopt : Maybe(both);
}

Maybe meet(const ObjectSet &a, const ObjectSet &b) {
  ObjectSet both = a;
  for (const ObjectSet::Source &source : b.sources)
    if (std::find(a.sources.begin(), a.sources.end(), source) == a.sources.end())
      both.sources.push_back(source);
  both.required.insert(b.required.begin(), b.required.end());
  both.names = join(a.names, b.names);
  both.min = std::max(a.min, b.min);
  both.max = std::min(a.max, b.max);
  return both.min > both.max || both.required.size() > both.max ? std::nullopt : Maybe(both);
}

struct Meet {
  template <typename T> Maybe operator()(const T &a, const T &b) const { return meet(a, b); }
  template <typename T, typename U> Maybe operator()(const T &, const U &) const { return std::nullopt; }
};

} // namespace

Alternatives intersect(const Alternatives &a, const Alternatives &b) {
  Alternatives both;
  for (const Alternative &left : a)
    for (const Alternative &right : b)
      if (Maybe met = std::visit(Meet(), left, right))
        both.push_back(std::move(*met));
  return both;
}

} // namespace fusec::grammar::json
