//===- Json.h - checked reading of JSON documents --------------------------===//
//
// Thin accessors over nlohmann::json that never throw: a wrong document gives
// one Status naming the key, what was expected and what was found.
//
//   FUSEC_ASSIGN_OR_RETURN(nlohmann::json config, parseJson(text, "config.json"));
//   FUSEC_ASSIGN_OR_RETURN(int64_t layers, jsonInt(config, "num_hidden_layers"));
//   FUSEC_ASSIGN_OR_RETURN(double eps, jsonFloatOr(config, "rms_norm_eps", 1e-6));
//
// A key whose value is null counts as absent. Errors: CorruptData when a text
// is no JSON, NotFound for a missing key, InvalidArgument for a wrong type.
// Threading: free functions on the caller's values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace fusec {

struct JsonParseOptions {
  /// Refuse objects that hold a key twice (the default keeps the last value).
  bool rejectDuplicateKeys = false;
};

/// Deepest nesting that parseJson accepts: copying, comparing and printing a
/// document recurse, and a hostile file must not exhaust the stack.
inline constexpr int maxJsonNesting = 1000;

/// Parses `text`, naming it `what` in messages. Strict JSON in valid UTF-8.
Result<nlohmann::json> parseJson(std::string_view text, std::string_view what, JsonParseOptions options = {});

/// Reads and parses a whole file; NotFound when it cannot be opened.
Result<nlohmann::json> readJsonFile(const std::filesystem::path &path, JsonParseOptions options = {});

/// "an object", "a string", "null", ... for messages.
std::string_view jsonTypeName(const nlohmann::json &value);

/// The member, or null when `object` is no object, lacks it, or holds null.
const nlohmann::json *jsonFind(const nlohmann::json &object, std::string_view key);

/// Required members.
Result<int64_t> jsonInt(const nlohmann::json &object, std::string_view key);
Result<double> jsonFloat(const nlohmann::json &object, std::string_view key); ///< Any number.
Result<bool> jsonBool(const nlohmann::json &object, std::string_view key);
Result<std::string> jsonString(const nlohmann::json &object, std::string_view key);
Result<const nlohmann::json *> jsonArray(const nlohmann::json &object, std::string_view key);
Result<const nlohmann::json *> jsonObject(const nlohmann::json &object, std::string_view key);

/// Optional members: `fallback` when absent or null, an error on a wrong type.
Result<int64_t> jsonIntOr(const nlohmann::json &object, std::string_view key, int64_t fallback);
Result<double> jsonFloatOr(const nlohmann::json &object, std::string_view key, double fallback);
Result<bool> jsonBoolOr(const nlohmann::json &object, std::string_view key, bool fallback);
Result<std::string> jsonStringOr(const nlohmann::json &object, std::string_view key, std::string fallback);

} // namespace fusec
