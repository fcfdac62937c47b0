//===- Parameters.h - the table of request parameters ---------------------------===//
//
// Every member that a request body may have, once: its routes, type, range and
// what becomes of it. Parsing, error messages and the table of
// docs/serving/api.md come from here; nothing is ignored silently.
//
//   FUSEC_RETURN_FAILURE(checkParameters(body, Route::Chat));
//   // Now every member of `body` is known, has its type and is in its range.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/openai/ApiError.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fusec::serve {

/// Bodies that differ in their parameters. Bits.
enum Route : uint8_t {
  Completions = 1,
  Chat = 2,
  Embeddings = 4,
  Tokenize = 8,
  Detokenize = 16,
  Generate = Completions | Chat,
};

enum class JsonKind { Boolean, Integer, Number, String, Object, Array, StringOrArray, StringOrObject };

enum class Handling {
  Honoured,
  /// Accepted with the one value that asks for nothing (Parameter::neutral), refused otherwise.
  NeutralOnly,
  Refused,
};

struct Parameter {
  std::string_view name;
  uint8_t routes; ///< Of Route.
  JsonKind kind;
  Handling handling;
  double low, high;         ///< Of numbers; both 0 = any.
  std::string_view neutral; ///< JSON; of NeutralOnly.
  std::string_view help;    ///< What it does, or why it is refused.
};

std::span<const Parameter> parameters();
/// The first row of that name, of any route; null for an unknown one.
const Parameter *findParameter(std::string_view name);

/// Checks that `body` is an object of known parameters of `route` with their types and ranges, none of them refused.
/// null counts as absent.
Failure checkParameters(const nlohmann::json &body, Route route);

/// The table as Markdown, for docs/serving/api.md.
std::string parametersAsMarkdown();

} // namespace fusec::serve
