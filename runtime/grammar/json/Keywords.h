//===- Keywords.h - the keywords of one schema object ----------------------===//
//
// Reads what a schema says by itself about each type (type, enum, bounds,
// properties, items, ...); keywords that combine schemas are SchemaUnfolder's.
//
//   Alternatives values = readKeywords(document, index, budget);
//
// Threading: one thread. Errors stick in the budget and name the schema path.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/json/SchemaDocument.h"
#include "runtime/grammar/json/ValueSets.h"

namespace fusec::grammar::json {

/// Unsupported for a keyword that would have to be ignored.
Alternatives readKeywords(SchemaDocument &document, SchemaIndex schema, CompileBudget &budget);

/// The one value.
Alternatives readConstant(SchemaDocument &document, SchemaIndex schema, const std::string &below,
                          const nlohmann::json &value, CompileBudget &budget);

} // namespace fusec::grammar::json
