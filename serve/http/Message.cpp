//===- Message.cpp - an HTTP request and its answer as plain data ------------===//
#include "serve/http/Message.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fusec::serve::http {

std::string_view Request::header(std::string_view name) const {
  auto found = std::find_if(headers.begin(), headers.end(), [&](const Header &header) { return header.name == name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->value);
}

static constexpr std::pair<int, std::string_view> phrases[] = {
    {100, "Continue"},
    {200, "OK"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

std::string_view reasonPhrase(int status) {
  auto found = std::find_if(std::begin(phrases), std::end(phrases), [&](auto &row) { return row.first == status; });
  return found == std::end(phrases) ? "Unknown" : found->second;
}

} // namespace fusec::serve::http
