//===- Context.h - a request as template variables ---------------------------===//
//
// Turns the JSON of a chat request into values. Text of the request is marked
// untrusted, except what only the server chooses: the special tokens' names
// (`bos_token`, `eos_token`, ...) and roles from a fixed list, because templates
// build markers such as `<|user|>` from them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/jinja/Value.h"

#include <nlohmann/json.hpp>

#include <span>

namespace fusec::text::jinja {

/// Roles a template may build markers from.
std::span<const std::string_view> trustedRoles();

/// The variables of `context`, a JSON object in the order of its keys. Errors:
/// InvalidArgument when it is no object, ResourceExhausted beyond the budget or
/// kMaxValueDepth.
Result<Dict> contextFromJson(Budget &budget, const nlohmann::ordered_json &context);

} // namespace fusec::text::jinja
