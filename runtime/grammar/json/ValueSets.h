//===- ValueSets.h - sets of JSON values -----------------------------------===//
//
// The normal form of a schema: a union of alternatives, each a set of values of
// one type. Keywords, allOf and $ref intersect; anyOf and oneOf unite. What is
// inside arrays and objects stays a list of schemas (Conjunction), unfolded
// when it is needed, so recursive schemas have a finite form.
//
//   Alternatives both = intersect(unfold(a), unfold(b));
//
// Threading: values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Machine.h"
#include "runtime/grammar/json/Decimal.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace fusec::grammar::json {

/// A schema of a SchemaDocument: its index, or ~index for "does not satisfy it".
using SchemaTerm = int32_t;

/// Values that satisfy every term; sorted, without repetition. Empty: any value.
using Conjunction = std::vector<SchemaTerm>;
Conjunction join(const Conjunction &a, const Conjunction &b);

struct NullSet {};

struct BooleanSet {
  bool hasFalse = true, hasTrue = true;
};

struct NumberSet {
  struct Bound {
    Decimal value;
    bool open = false; ///< The bound itself is out.
  };
  std::optional<Bound> low, high;
  bool integer = false;           ///< Integers only (1.0 is one).
  bool fractional = false;        ///< Integers are out.
  std::vector<Decimal> multiples; ///< Positive.
};

struct StringSet {
  /// Strings in which `text` matches, or doesn't.
  struct Pattern {
    std::string text;
    bool negated = false;
    auto operator<=>(const Pattern &) const = default;
  };
  uint32_t min = 0, max = kNone; ///< Length in code points.
  std::set<Pattern> patterns;
  std::optional<std::set<std::string>> literals; ///< Only these.
  std::set<std::string> excluded;                ///< None of these.
};

struct ArraySet {
  std::vector<Conjunction> prefix;
  Conjunction rest; ///< Items after the prefix.
  uint32_t min = 0, max = kNone;

  const Conjunction &at(size_t i) const { return i < prefix.size() ? prefix[i] : rest; }
};

struct ObjectSet {
  /// One schema's properties, patternProperties and additionalProperties.
  struct Source {
    std::map<std::string, Conjunction> properties;
    std::vector<std::pair<std::string, Conjunction>> patterns;
    Conjunction additional;
    bool operator==(const Source &) const = default;
  };
  std::vector<Source> sources; ///< A property satisfies what each says of it.
  std::set<std::string> required;
  Conjunction names; ///< What property names satisfy, as strings.
  uint32_t min = 0, max = kNone;
};

using Alternative = std::variant<NullSet, BooleanSet, NumberSet, StringSet, ArraySet, ObjectSet>;
using Alternatives = std::vector<Alternative>;

/// The order of the variant.
enum class ValueType { Null, Boolean, Number, String, Array, Object };
inline constexpr int kValueTypes = 6;

/// All values, or all of one type.
Alternatives allValues();
Alternative allOfType(ValueType type);

/// Without the pairs that are plainly empty (types differ, bounds cross).
Alternatives intersect(const Alternatives &a, const Alternatives &b);

} // namespace fusec::grammar::json
