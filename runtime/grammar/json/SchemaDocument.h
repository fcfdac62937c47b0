//===- SchemaDocument.h - a schema's text, its places and references -------===//
//
// Schemas get an index when they are first named; the index is what the rest of
// the compiler passes around.
//
//   FUSEC_ASSIGN_OR_RETURN(SchemaDocument document, SchemaDocument::parse(text));
//   FUSEC_ASSIGN_OR_RETURN(int32_t target, document.resolve(schema, "#/$defs/node"));
//   document.path(target);                         // "#/$defs/node", for messages
//
// References: "#...", JSON pointers, $anchor names and $id of this document;
// anything else is remote and refused.
//
// Threading: one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Json.h"
#include "runtime/grammar/Limits.h"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fusec::grammar::json {

using SchemaIndex = int32_t;

class SchemaDocument {
public:
  /// CorruptData (no JSON), Unsupported (a number that would be rounded, another
  /// dialect, too deep nesting).
  static Result<SchemaDocument> parse(std::string_view text, const Limits &limits);

  SchemaIndex root() const { return 0; }
  const nlohmann::json &schema(SchemaIndex index) const { return *entries[static_cast<size_t>(index)].schema; }
  /// Where it stands, as a JSON pointer: "#/properties/a".
  const std::string &path(SchemaIndex index) const { return entries[static_cast<size_t>(index)].path; }

  /// The index of `schema`, which stands at parent's path + "/" + `below`.
  SchemaIndex child(SchemaIndex parent, const std::string &below, const nlohmann::json &schema);
  /// The index of the schema {"const": value}, made for this document.
  SchemaIndex constant(SchemaIndex parent, const std::string &below, const nlohmann::json &value);
  /// The index of the schema `false`.
  SchemaIndex never();

  /// What `reference` in `from` refers to. Unsupported: remote; InvalidArgument: nothing there.
  Result<SchemaIndex> resolve(SchemaIndex from, const std::string &reference);

private:
  struct Entry {
    const nlohmann::json *schema;
    std::string path;
    std::string base; ///< URI of the resource it belongs to.
  };

  SchemaDocument() = default;
  void collectIds();
  SchemaIndex add(const nlohmann::json *schema, std::string path, std::string base);
  Result<SchemaIndex> walkPointer(SchemaIndex resource, const std::string &pointer, const std::string &reference);

  std::unique_ptr<nlohmann::json> document;
  std::vector<std::unique_ptr<nlohmann::json>> made;
  std::vector<Entry> entries;
  std::unordered_map<const nlohmann::json *, SchemaIndex> indexes;
  std::unordered_map<std::string, SchemaIndex> byUri; ///< Resources, and anchors as "uri#name".
  SchemaIndex neverIndex = -1;
};

/// `reference` against `base` (RFC 3986 without dot segments in the middle).
std::string resolveUri(const std::string &base, const std::string &reference);

} // namespace fusec::grammar::json
