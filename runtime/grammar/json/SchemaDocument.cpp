//===- SchemaDocument.cpp - a schema's text, its places and references -----===//
#include "runtime/grammar/json/SchemaDocument.h"

#include "runtime/grammar/json/Decimal.h"

#include <algorithm>

namespace fusec::grammar::json {

namespace {

/// The dialects whose keywords fusec knows.
constexpr std::string_view kDialects[] = {
    "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-06/schema"};

/// Where subschemas stand: directly, in a list, or by name.
constexpr std::string_view kSingleSchemas[] = {"additionalProperties",
                                               "items",
                                               "contains",
                                               "not",
                                               "if",
                                               "then",
                                               "else",
                                               "propertyNames",
                                               "additionalItems",
                                               "unevaluatedItems",
                                               "unevaluatedProperties"};
constexpr std::string_view kSchemaLists[] = {"allOf", "anyOf", "oneOf", "prefixItems", "items"};
constexpr std::string_view kSchemaMaps[] = {"properties",  "patternProperties", "$defs",
                                            "definitions", "dependentSchemas",  "dependencies"};

/// Finds numbers that a double would round.
class RoundingCheck : public nlohmann::json_sax<nlohmann::json> {
public:
  std::string rounded; ///< The first one; empty: none.

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t value, const string_t &text) override {
    std::optional<Decimal> exact = Decimal::parse(text), stored = Decimal::parse(nlohmann::json(value).dump());
    if (!exact || !stored || !(*exact == *stored))
      rounded = text;
    return rounded.empty();
  }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t &) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &) override { return false; }
};

std::string escapePointer(std::string_view name) {
  std::string out;
  for (char c : name)
    out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

int hexValue(char c) {
  return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

std::string percentDecoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%' && i + 2 < text.size() && hexValue(text[i + 1]) >= 0 && hexValue(text[i + 2]) >= 0) {
      out += static_cast<char>(hexValue(text[i + 1]) * 16 + hexValue(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  return out;
}

std::string unescapePointer(std::string_view token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i)
    if (token[i] == '~' && i + 1 < token.size())
      out += token[++i] == '1' ? '/' : '~';
    else
      out += token[i];
  return out;
}

const nlohmann::json *member(const nlohmann::json &value, const std::string &token) {
  if (value.is_object()) {
    auto found = value.find(token);
    return found == value.end() ? nullptr : &*found;
  }
  bool number = !token.empty() && token.size() < 9 && token.find_first_not_of("0123456789") == std::string::npos;
  if (!value.is_array() || !number)
    return nullptr;
  size_t index = std::stoul(token);
  return index < value.size() ? &value[index] : nullptr;
}

Status checkDialect(const nlohmann::json &schema) {
  const nlohmann::json *dialect = jsonFind(schema, "$schema");
  if (!dialect)
    return {};
  std::string name = dialect->is_string() ? dialect->get<std::string>() : "";
  if (name.ends_with("#"))
    name.pop_back();
  if (std::find(std::begin(kDialects), std::end(kDialects), name) != std::end(kDialects))
    return {};
  return unsupported("schema #/$schema: the dialect " + dialect->dump() +
                     " is not supported; expected draft 2020-12, 2019-09, 7 or 6");
}

size_t schemeLength(std::string_view uri) {
  size_t colon = uri.find(':');
  size_t other = uri.find_first_of("/?#");
  return colon == std::string_view::npos || (other != std::string_view::npos && other < colon) ? 0 : colon + 1;
}

} // namespace

std::string resolveUri(const std::string &base, const std::string &reference) {
  if (schemeLength(reference) > 0)
    return reference;
  std::string stem = base.substr(0, base.find('#'));
  if (reference.empty() || reference[0] == '#')
    return stem + reference;
  size_t authority = schemeLength(stem);
  if (stem.compare(authority, 2, "//") == 0)
    authority = std::min(stem.find('/', authority + 2), stem.size());
  if (reference.starts_with("./"))
    return resolveUri(base, reference.substr(2));
  if (reference[0] == '/')
    return stem.substr(0, authority) + reference;
  size_t slash = stem.rfind('/');
  return slash == std::string::npos || slash < authority ? stem.substr(0, authority) + "/" + reference
                                                         : stem.substr(0, slash + 1) + reference;
}

Result<SchemaDocument> SchemaDocument::parse(std::string_view text, const Limits &limits) {
  SchemaDocument result;
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json json, parseJson(text, "schema", {.rejectDuplicateKeys = true}));
  RoundingCheck check;
  nlohmann::json::sax_parse(text, &check);
  if (!check.rounded.empty())
    return unsupported("schema: the number " + check.rounded + " has more digits than fusec keeps");
  FUSEC_RETURN_IF_ERROR(checkDialect(json));
  result.document = std::make_unique<nlohmann::json>(std::move(json));
  result.add(result.document.get(), "#", "");
  (void)limits;
  result.collectIds();
  return result;
}

SchemaIndex SchemaDocument::add(const nlohmann::json *schema, std::string path, std::string base) {
  auto [entry, isNew] = indexes.try_emplace(schema, static_cast<SchemaIndex>(entries.size()));
  if (!isNew)
    return entry->second;
  const nlohmann::json *id = jsonFind(*schema, "$id");
  bool resource = entries.empty();
  if (id && id->is_string()) {
    base = resolveUri(base, id->get<std::string>());
    base = base.substr(0, base.find('#'));
    resource = true;
  }
  if (resource)
    byUri.try_emplace(base, entry->second);
  for (const char *keyword : {"$anchor", "$dynamicAnchor"})
    if (const nlohmann::json *anchor = jsonFind(*schema, keyword); anchor && anchor->is_string())
      byUri.try_emplace(base + "#" + anchor->get<std::string>(), entry->second);
  entries.push_back({schema, std::move(path), std::move(base)});
  return entry->second;
}

/// Gives every schema an index, so that each $id and $anchor is known.
void SchemaDocument::collectIds() {
  for (size_t i = 0; i < entries.size(); ++i) {
    auto index = static_cast<SchemaIndex>(i);
    const nlohmann::json &schema = *entries[i].schema;
    if (!schema.is_object())
      continue;
    auto visit = [&](const std::string &below, const nlohmann::json &value) {
      if (value.is_object() || value.is_boolean())
        child(index, below, value);
    };
    for (std::string_view name : kSingleSchemas)
      if (auto found = schema.find(name); found != schema.end())
        visit(std::string(name), *found);
    for (std::string_view name : kSchemaLists)
      if (auto found = schema.find(name); found != schema.end() && found->is_array())
        for (size_t item = 0; item < found->size(); ++item)
          visit(std::string(name) + "/" + std::to_string(item), (*found)[item]);
    for (std::string_view name : kSchemaMaps)
      if (auto found = schema.find(name); found != schema.end() && found->is_object())
        for (const auto &[key, value] : found->items())
          visit(std::string(name) + "/" + escapePointer(key), value);
  }
}

SchemaIndex SchemaDocument::child(SchemaIndex parent, const std::string &below, const nlohmann::json &schema) {
  const Entry &entry = entries[static_cast<size_t>(parent)];
  return add(&schema, entry.path + "/" + below, entry.base);
}

SchemaIndex SchemaDocument::constant(SchemaIndex parent, const std::string &below, const nlohmann::json &value) {
  made.push_back(std::make_unique<nlohmann::json>(nlohmann::json{{"const", value}}));
  return child(parent, below, *made.back());
}

SchemaIndex SchemaDocument::never() {
  if (neverIndex < 0) {
    made.push_back(std::make_unique<nlohmann::json>(false));
    neverIndex = add(made.back().get(), "#", "");
  }
  return neverIndex;
}

Result<SchemaIndex> SchemaDocument::walkPointer(SchemaIndex resource, const std::string &pointer,
                                                const std::string &reference) {
  SchemaIndex at = resource;
  const nlohmann::json *value = &schema(resource);
  std::string below;
  for (size_t begin = 1; begin <= pointer.size() && !pointer.empty();) {
    size_t end = std::min(pointer.find('/', begin), pointer.size());
    std::string token = unescapePointer(std::string_view(pointer).substr(begin, end - begin));
    value = member(*value, token);
    if (!value)
      return invalidArgument("schema " + path(resource) + ": the reference '" + reference + "' leads nowhere");
    below += (below.empty() ? "" : "/") + escapePointer(token);
    if (auto known = indexes.find(value); known != indexes.end()) {
      at = known->second; // Bases change at each $id on the way.
      below.clear();
    }
    begin = end + 1;
  }
  if (!value->is_object() && !value->is_boolean())
    return invalidArgument("schema " + path(resource) + ": the reference '" + reference + "' leads to no schema");
  return below.empty() ? at : child(at, below, *value);
}

Result<SchemaIndex> SchemaDocument::resolve(SchemaIndex from, const std::string &reference) {
  std::string uri = resolveUri(entries[static_cast<size_t>(from)].base, reference);
  size_t hash = std::min(uri.find('#'), uri.size());
  std::string fragment = percentDecoded(std::string_view(uri).substr(std::min(hash + 1, uri.size())));
  auto resource = byUri.find(uri.substr(0, hash));
  if (resource == byUri.end())
    return unsupported("schema " + path(from) + "/$ref: '" + reference +
                       "' is not in this schema; remote schemas are not loaded");
  if (fragment.empty() || fragment[0] == '/')
    return walkPointer(resource->second, fragment, reference);
  auto anchor = byUri.find(uri.substr(0, hash) + "#" + fragment);
  if (anchor == byUri.end())
    return invalidArgument("schema " + path(from) + "/$ref: there is no $anchor '" + fragment + "'");
  return anchor->second;
}

} // namespace fusec::grammar::json
