//===- ApiError.cpp - errors in OpenAI's form -----------------------------------===//
#include "serve/openai/ApiError.h"

#include "serve/openai/Parameters.h"

#include <iterator>

namespace fusec::serve {

static constexpr std::string_view invalid = "invalid_request_error";

static constexpr ErrorKindInfo kinds[] = {
    {ErrorKind::InvalidValue, 400, invalid, "invalid_value", "a parameter has a wrong type or value"},
    {ErrorKind::UnknownParameter, 400, invalid, "unknown_parameter", "there is no such parameter"},
    {ErrorKind::Unsupported, 400, invalid, "unsupported_parameter", "the parameter is not honoured"},
    {ErrorKind::InvalidJson, 400, invalid, "invalid_json", "the body is no JSON object, or a key occurs twice"},
    {ErrorKind::ContextLength, 400, invalid, "context_length_exceeded", "the prompt leaves no room for an answer"},
    {ErrorKind::Capacity, 400, invalid, "capacity_exceeded", "the KV memory could never hold the request"},
    {ErrorKind::MissingKey, 401, "authentication_error", "missing_api_key", "a key is needed and none was given"},
    {ErrorKind::InvalidKey, 401, "authentication_error", "invalid_api_key", "the key is not one of the server's"},
    {ErrorKind::AdminDisabled, 403, "permission_error", "admin_disabled",
     "the server was started without an admin key"},
    {ErrorKind::ForbiddenOrigin, 403, "permission_error", "forbidden_origin", "a web page of another origin asks"},
    {ErrorKind::ModelNotFound, 404, invalid, "model_not_found", "`model` is not the one being served"},
    {ErrorKind::UnknownRoute, 404, invalid, "unknown_url", "there is no such path"},
    {ErrorKind::WrongMethod, 405, invalid, "method_not_allowed", "the path has other methods"},
    {ErrorKind::WrongContentType, 415, invalid, "unsupported_media_type", "the body is not sent as application/json"},
    {ErrorKind::TooManyRequests, 429, "rate_limit_error", "too_many_requests", "a limit on requests is reached"},
    {ErrorKind::Draining, 503, "server_error", "draining", "the server finishes what it has and takes no more"},
    {ErrorKind::NotReady, 503, "server_error", "engine_unavailable", "the engine does not get on"},
    {ErrorKind::Timeout, 504, "server_error", "request_timeout", "the request took longer than --request-timeout"},
    {ErrorKind::Internal, 500, "server_error", "internal_error", "a defect of fusec"},
};

std::span<const ErrorKindInfo> errorKinds() { return kinds; }

static const ErrorKindInfo &infoOf(ErrorKind kind) { return kinds[static_cast<size_t>(kind)]; }

// infoOf goes by position.
static_assert(kinds[static_cast<size_t>(ErrorKind::Internal)].kind == ErrorKind::Internal &&
              std::size(kinds) == static_cast<size_t>(ErrorKind::Internal) + 1);

int ApiError::status() const { return infoOf(kind).status; }

static nlohmann::json orNull(std::string_view text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

nlohmann::json ApiError::toJson() const {
  const ErrorKindInfo &info = infoOf(kind);
  return {
      {"error", {{"message", message}, {"type", info.type}, {"param", orNull(param)}, {"code", orNull(info.code)}}}};
}

http::Response ApiError::toResponse() const {
  http::Response response{.status = status(), .body = dumpJson(toJson())};
  if (kind == ErrorKind::TooManyRequests)
    response.headers.push_back({"Retry-After", "1"});
  if (kind == ErrorKind::Draining || kind == ErrorKind::NotReady)
    response.headers.push_back({"Retry-After", "5"});
  if (response.status == 401)
    response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

ApiError invalidValue(std::string param, std::string message) {
  return {ErrorKind::InvalidValue, std::move(message), std::move(param)};
}

static ErrorKind kindFor(ErrorCode code) {
  switch (code) {
  case ErrorCode::InvalidArgument:
  case ErrorCode::CorruptData:
  case ErrorCode::NotFound:
    return ErrorKind::InvalidValue;
  case ErrorCode::Unsupported:
    return ErrorKind::Unsupported;
  case ErrorCode::ResourceExhausted:
    return ErrorKind::Capacity;
  case ErrorCode::Unavailable:
  case ErrorCode::Cancelled:
    return ErrorKind::NotReady;
  case ErrorCode::Ok:
  case ErrorCode::Internal:
    return ErrorKind::Internal;
  }
  return ErrorKind::Internal;
}

ApiError errorFor(const Status &status) {
  ApiError error{kindFor(status.code()), status.message()};
  const std::string name = error.message.substr(0, error.message.find_first_of(":["));
  if (findParameter(name))
    error.param = name;
  return error;
}

std::string dumpJson(const nlohmann::json &value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

} // namespace fusec::serve
