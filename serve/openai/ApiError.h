//===- ApiError.h - errors in OpenAI's form -------------------------------------===//
//
//   {"error": {"message": "...", "type": "invalid_request_error", "param": "top_p", "code": null}}
//
// The table of kinds is the one place that says which status, type and code an
// error has; docs/serving/api.md lists it.
//
// Values; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "serve/http/Message.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fusec::serve {

enum class ErrorKind {
  InvalidValue,     ///< A parameter has a wrong type or value.
  UnknownParameter, ///< No such parameter.
  Unsupported,      ///< A parameter of OpenAI's that this server does not honour.
  InvalidJson,
  ContextLength, ///< Prompt beyond the model's context or the server's limit.
  Capacity,      ///< Could never finish with the KV memory there is.
  MissingKey,
  InvalidKey,
  AdminDisabled,
  ForbiddenOrigin,
  ModelNotFound,
  UnknownRoute,
  WrongMethod,
  WrongContentType,
  TooManyRequests,
  Draining,
  NotReady,
  Timeout,
  Internal,
};

struct ErrorKindInfo {
  ErrorKind kind;
  int status; ///< HTTP.
  std::string_view type;
  std::string_view code; ///< Empty = null.
  std::string_view when; ///< For the documentation.
};

std::span<const ErrorKindInfo> errorKinds();

struct ApiError {
  ErrorKind kind = ErrorKind::Internal;
  std::string message;
  std::string param = {}; ///< Empty = null.

  int status() const;
  /// {"error": {...}}
  nlohmann::json toJson() const;
  /// With Retry-After where waiting helps.
  http::Response toResponse() const;
};

/// Nothing, or what is wrong.
using Failure = std::optional<ApiError>;

ApiError invalidValue(std::string param, std::string message);

/// An error of the engine. A message that begins with "name:" names its parameter.
ApiError errorFor(const Status &status);

/// JSON as text; bytes that are no UTF-8 become U+FFFD.
std::string dumpJson(const nlohmann::json &value);

} // namespace fusec::serve

/// Returns the error from the enclosing function when there is one.
#define FUSEC_RETURN_FAILURE(expr)                                                                                     \
  do {                                                                                                                 \
    if (::fusec::serve::Failure fusecFailure = (expr))                                                                 \
      return fusecFailure;                                                                                             \
  } while (false)
