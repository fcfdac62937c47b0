//===- Access.cpp - who may ask ------------------------------------------------===//
#include "serve/openai/Access.h"

#include "runtime/base/Digest.h"

#include <algorithm>
#include <cctype>

namespace fusec::serve {

bool equalInConstantTime(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < b.size(); ++i)
    difference |= static_cast<unsigned char>(i < a.size() ? a[i] : 0) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

/// The key of "Authorization: Bearer KEY" or "X-Api-Key: KEY"; empty without one.
static std::string_view keyOf(const http::Request &request) {
  const std::string_view header = request.header("authorization");
  constexpr std::string_view scheme = "bearer ";
  const bool bearer = header.size() > scheme.size() &&
                      std::equal(scheme.begin(), scheme.end(), header.begin(), [](char expected, char found) {
                        return expected == std::tolower(static_cast<unsigned char>(found));
                      });
  return bearer ? header.substr(scheme.size()) : request.header("x-api-key");
}

//===----------------------------------------------------------------------===//
// Origins
//===----------------------------------------------------------------------===//

static std::string_view withoutPort(std::string_view host) {
  const size_t colon = host.rfind(':');
  const bool inBrackets = host.find(']', colon == std::string_view::npos ? 0 : colon) != std::string_view::npos;
  return colon == std::string_view::npos || inBrackets ? host : host.substr(0, colon);
}

/// An IP address or localhost: no name that an attacker's DNS could point here.
static bool isLiteral(std::string_view host) {
  host = withoutPort(host);
  if (host == "localhost" || host.starts_with('['))
    return true;
  return !host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos;
}

static bool isOwnOrigin(std::string_view origin, std::string_view host) {
  const size_t slashes = origin.find("://");
  return slashes != std::string_view::npos && origin.substr(slashes + 3) == host && isLiteral(host);
}

static bool isListed(std::string_view origin, const std::vector<std::string> &list) {
  return std::any_of(list.begin(), list.end(), [&](const std::string &one) { return one == "*" || one == origin; });
}

Failure Access::checkOrigin(const http::Request &request) const {
  const std::string_view origin = request.header("origin");
  if (origin.empty() || isListed(origin, options.corsOrigins) || isOwnOrigin(origin, request.header("host")))
    return {};
  return ApiError{ErrorKind::ForbiddenOrigin,
                  "requests from pages of " + std::string(origin.substr(0, 100)) + " are not allowed (--cors-origin)"};
}

std::string Access::allowedOrigin(const http::Request &request) const {
  const std::string_view origin = request.header("origin");
  return isListed(origin, options.corsOrigins) ? std::string(origin) : std::string();
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

Failure Access::admit(const http::Request &request, Guard guard, Caller &caller) const {
  FUSEC_RETURN_FAILURE(checkOrigin(request));
  const std::string_view key = keyOf(request);
  // Every key is compared, so that the time says nothing about which one matched.
  for (size_t i = 0; i < options.apiKeys.size(); ++i)
    if (equalInConstantTime(key, options.apiKeys[i]))
      caller.keyIndex = static_cast<int>(i);
  if (caller.keyIndex >= 0)
    caller.tenant = digestText("tenant " + options.apiKeys[static_cast<size_t>(caller.keyIndex)]);
  const bool isAdmin = !options.adminKey.empty() && equalInConstantTime(key, options.adminKey);
  if (guard == Guard::Open || isAdmin)
    return {};
  if (guard == Guard::Admin && options.adminKey.empty())
    return ApiError{ErrorKind::AdminDisabled, "this route needs the admin key, and the server has none (--admin-key)"};
  if (guard == Guard::User && (options.apiKeys.empty() || caller.keyIndex >= 0))
    return {};
  if (key.empty())
    return ApiError{ErrorKind::MissingKey, "You didn't provide an API key: send it as `Authorization: Bearer KEY`"};
  return ApiError{ErrorKind::InvalidKey,
                  guard == Guard::Admin ? "Incorrect admin key provided" : "Incorrect API key provided"};
}

} // namespace fusec::serve
