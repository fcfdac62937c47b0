//===- Complement.h - all values that are not in a set ---------------------===//
//
//   std::string obstacle;
//   std::optional<Alternatives> rest = complement(values, document, obstacle);
//   if (!rest) ... obstacle is the keyword that has no complement here
//
// Threading: pure functions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/json/SchemaDocument.h"
#include "runtime/grammar/json/ValueSets.h"

#include <optional>
#include <string>

namespace fusec::grammar::json {

/// nullopt, and the obstacle's name, where the rest is no union of alternatives
/// (for example "not every item is ...") or has more than `limit` of them.
std::optional<Alternatives> complement(const Alternatives &values, SchemaDocument &document, size_t limit,
                                       std::string &obstacle);

} // namespace fusec::grammar::json
