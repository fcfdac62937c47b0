//===- Json.cpp - checked reading of JSON documents ------------------------===//

#include "runtime/base/Json.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <vector>

using nlohmann::json;

namespace fusec {
namespace {

/// Watches the parser's events for a key seen twice in one object.
class DuplicateKeys {
public:
  bool operator()(int, json::parse_event_t event, json &parsed) {
    if (event == json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == json::parse_event_t::object_end)
      open.pop_back();
    else if (event == json::parse_event_t::key && found.empty() &&
             !open.back().insert(parsed.get_ref<const std::string &>()).second)
      found = parsed.get_ref<const std::string &>();
    return true;
  }
  const std::string &duplicate() const { return found; }

private:
  std::vector<std::set<std::string>> open;
  std::string found;
};

/// Brackets open at once, not counting those inside strings. Needs no valid JSON.
int nesting(std::string_view text) {
  int depth = 0, deepest = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString && c == '\\')
      ++i;
    else if (c == '"')
      inString = !inString;
    else if (!inString && (c == '[' || c == '{'))
      deepest = std::max(deepest, ++depth);
    else if (!inString && (c == ']' || c == '}'))
      --depth;
  }
  return deepest;
}

Status wrongType(std::string_view key, std::string_view expected, const json &found) {
  return invalidArgument("key '" + std::string(key) + "': expected " + std::string(expected) + ", found " +
                         std::string(jsonTypeName(found)));
}

Result<const json *> required(const json &object, std::string_view key, std::string_view expected) {
  if (!object.is_object())
    return invalidArgument("expected an object with key '" + std::string(key) + "', found " +
                           std::string(jsonTypeName(object)));
  if (const json *value = jsonFind(object, key))
    return value;
  return notFound("key '" + std::string(key) + "': missing, expected " + std::string(expected));
}

bool fitsInt64(const json &value) {
  return !value.is_number_unsigned() ||
         value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

} // namespace

Result<json> parseJson(std::string_view text, std::string_view what, JsonParseOptions options) {
  if (nesting(text) > maxJsonNesting)
    return corruptData(std::string(what) + ": nested deeper than " + std::to_string(maxJsonNesting) + " levels");
  if (!options.rejectDuplicateKeys) {
    json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (value.is_discarded())
      return corruptData(std::string(what) + ": not valid JSON (UTF-8)");
    return value;
  }
  DuplicateKeys keys;
  json value = json::parse(text, std::ref(keys), /*allow_exceptions=*/false);
  if (value.is_discarded())
    return corruptData(std::string(what) + ": not valid JSON (UTF-8)");
  if (!keys.duplicate().empty())
    return corruptData(std::string(what) + ": key '" + keys.duplicate() + "' occurs twice");
  return value;
}

Result<json> readJsonFile(const std::filesystem::path &path, JsonParseOptions options) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path))
    return notFound(path.string() + ": cannot be opened");
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return parseJson(text, path.string(), options);
}

std::string_view jsonTypeName(const json &value) {
  switch (value.type()) {
  case json::value_t::null:
    return "null";
  case json::value_t::object:
    return "an object";
  case json::value_t::array:
    return "an array";
  case json::value_t::string:
    return "a string";
  case json::value_t::boolean:
    return "a boolean";
  case json::value_t::number_integer:
  case json::value_t::number_unsigned:
    return "an integer";
  case json::value_t::number_float:
    return "a fractional number";
  case json::value_t::binary:
    return "binary data";
  case json::value_t::discarded:
    return "nothing";
  }
  return "nothing";
}

const json *jsonFind(const json &object, std::string_view key) {
  if (!object.is_object())
    return nullptr;
  auto it = object.find(key);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

Result<int64_t> jsonInt(const json &object, std::string_view key) {
  FUSEC_ASSIGN_OR_RETURN(const json *value, required(object, key, "an integer"));
  if (!value->is_number_integer() || !fitsInt64(*value))
    return wrongType(key, "an integer", *value);
  return value->get<int64_t>();
}

Result<double> jsonFloat(const json &object, std::string_view key) {
  FUSEC_ASSIGN_OR_RETURN(const json *value, required(object, key, "a number"));
  if (!value->is_number())
    return wrongType(key, "a number", *value);
  return value->get<double>();
}

Result<bool> jsonBool(const json &object, std::string_view key) {
  FUSEC_ASSIGN_OR_RETURN(const json *value, required(object, key, "a boolean"));
  if (!value->is_boolean())
    return wrongType(key, "a boolean", *value);
  return value->get<bool>();
}

Result<std::string> jsonString(const json &object, std::string_view key) {
  FUSEC_ASSIGN_OR_RETURN(const json *value, required(object, key, "a string"));
  if (!value->is_string())
    return wrongType(key, "a string", *value);
  return value->get<std::string>();
}

Result<const json *> jsonArray(const json &object, std::string_view key) {
  FUSEC_ASSIGN_OR_RETURN(const json *value, required(object, key, "an array"));
  if (!value->is_array())
    return wrongType(key, "an array", *value);
  return value;
}

Result<const json *> jsonObject(const json &object, std::string_view key) {
  FUSEC_ASSIGN_OR_RETURN(const json *value, required(object, key, "an object"));
  if (!value->is_object())
    return wrongType(key, "an object", *value);
  return value;
}

Result<int64_t> jsonIntOr(const json &object, std::string_view key, int64_t fallback) {
  return jsonFind(object, key) ? jsonInt(object, key) : Result<int64_t>(fallback);
}

Result<double> jsonFloatOr(const json &object, std::string_view key, double fallback) {
  return jsonFind(object, key) ? jsonFloat(object, key) : Result<double>(fallback);
}

Result<bool> jsonBoolOr(const json &object, std::string_view key, bool fallback) {
  return jsonFind(object, key) ? jsonBool(object, key) : Result<bool>(fallback);
}

Result<std::string> jsonStringOr(const json &object, std::string_view key, std::string fallback) {
  return jsonFind(object, key) ? jsonString(object, key) : Result<std::string>(std::move(fallback));
}

} // namespace fusec
