//===- SchemaUnfolder.h - schemas to their normal form ---------------------===//
//
// Schema keywords are set operations on values: type and the bounds intersect,
// allOf and $ref intersect, anyOf unites, not complements, and
//   oneOf          = for each branch: it, and none of the others
//   if/then/else   = (if and then) or (not if, and else)
//   dependentX     = (key absent) or (key present, and X)
// A complement that has no normal form is refused by name.
//
//   SchemaUnfolder unfolder(document, budget);
//   Alternatives values = unfolder.unfold({document.root()});
//   FUSEC_RETURN_IF_ERROR(budget.status());
//
// Threading: one thread. Errors stick in the budget and name the schema path.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/json/SchemaDocument.h"
#include "runtime/grammar/json/ValueSets.h"

#include <deque>
#include <unordered_map>

namespace fusec::grammar::json {

class SchemaUnfolder {
public:
  SchemaUnfolder(SchemaDocument &d, CompileBudget &b) : document(d), budget(b) {}

  /// The values that satisfy every term.
  Alternatives unfold(const Conjunction &terms);

  SchemaDocument &document;
  CompileBudget &budget;

private:
  /// Unfolded once per schema.
  const Alternatives &ofSchema(SchemaIndex schema);
  Alternatives compute(SchemaIndex schema);
  const Alternatives &ofBranch(SchemaIndex schema, const std::string &below, const nlohmann::json &branch);
  Alternatives complementOf(SchemaIndex schema, const std::string &keyword, const Alternatives &values);
  bool provablyDisjoint(const Alternatives &a, const Alternatives &b);
  bool provablyEmpty(const Alternative &value);
  bool provablyEmpty(const Conjunction &terms);
  bool requiresImpossible(const ObjectSet &set);
  /// values = values and with, within the limit of alternatives.
  void narrow(SchemaIndex schema, Alternatives &values, const Alternatives &with);
  bool isList(SchemaIndex schema, const std::string &keyword, const nlohmann::json &value);
  void fail(SchemaIndex schema, const std::string &keyword, const std::string &what);
  void refuse(SchemaIndex schema, const std::string &keyword, const std::string &what);

  // One per keyword; each narrows `values`.
  void applyAllOf(SchemaIndex schema, const nlohmann::json &value, Alternatives &values);
  void applyAnyOf(SchemaIndex schema, const nlohmann::json &value, Alternatives &values);
  void applyOneOf(SchemaIndex schema, const nlohmann::json &value, Alternatives &values);
  void applyNot(SchemaIndex schema, const nlohmann::json &value, Alternatives &values);
  void applyIf(SchemaIndex schema, const nlohmann::json &value, Alternatives &values);
  void applyRef(SchemaIndex schema, const nlohmann::json &value, Alternatives &values);
  void applyDependentRequired(SchemaIndex schema, const nlohmann::json &value, Alternatives &values);
  void applyDependentSchemas(SchemaIndex schema, const nlohmann::json &value, Alternatives &values);
  void applyDependencies(SchemaIndex schema, const nlohmann::json &value, Alternatives &values);
  /// Without `key`, or with it and then as `then` says.
  void applyDependency(SchemaIndex schema, const std::string &key, const Alternatives &then, Alternatives &values);
  Alternatives requiring(SchemaIndex schema, const std::string &keyword, const nlohmann::json &names);

  std::unordered_map<SchemaIndex, Alternatives> known;
  std::vector<SchemaIndex> open;   ///< Being unfolded: meeting one again is a loop.
  int probing = 0;                 ///< Depth of the questions whether something is empty,
  bool blocked = false;            ///< one of which met an open schema,
  std::deque<Alternatives> probed; ///< and what was unfolded for them alone.
};

} // namespace fusec::grammar::json
