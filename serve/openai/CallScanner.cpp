//===- CallScanner.cpp - finds calls in JSON that is still being written ------------===//
#include "serve/openai/CallScanner.h"

#include <nlohmann/json.hpp>

namespace fusec::serve {

static bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// The text of a JSON string; names may be spelled with escapes.
static std::string unescaped(const std::string &token) {
  if (token.find('\\') == std::string::npos)
    return token;
  const auto parsed = nlohmann::json::parse('"' + token + '"', nullptr, /*allow_exceptions=*/false);
  return parsed.is_string() ? parsed.get<std::string>() : token;
}

CallScanner::State CallScanner::feed(char c) {
  if (!inString)
    return feedOutside(c);
  if (capturing)
    found.back().arguments += c;
  if (!escaped && c == '"')
    endString();
  else if (inCall())
    token += c;
  escaped = !escaped && c == '\\';
  return State::Open;
}

CallScanner::State CallScanner::feedOutside(char c) {
  if (c == '{' || c == '[')
    return open(c);
  if (c == '}' || c == ']')
    return close(c);
  if (isSpace(c)) {
    if (capturing && !found.back().arguments.empty())
      found.back().arguments += c;
    return State::Open;
  }
  if (depth < callDepth) // Between the calls of a list.
    return depth > 0 && c == ',' ? State::Open : State::Failed;
  if (inCall() && (c == ',' || c == ':')) {
    separate(c);
    return State::Open;
  }
  if (c == '"') {
    inString = true;
    token.clear();
  }
  if (capturing)
    found.back().arguments += c;
  return State::Open;
}

CallScanner::State CallScanner::open(char c) {
  if (depth < callDepth && (c == '{') != (depth + 1 == callDepth))
    return State::Failed;
  if (++depth == callDepth) {
    found.emplace_back();
    expectsKey = true;
    key.clear();
  } else if (capturing) {
    found.back().arguments += c;
  }
  return State::Open;
}

CallScanner::State CallScanner::close(char c) {
  if (depth == 0)
    return State::Failed;
  if (inCall()) {
    found.back().closed = true;
    capturing = false;
  } else if (capturing) {
    found.back().arguments += c;
  }
  --depth;
  if (inCall())
    capturing = false; // The arguments' own bracket.
  return depth == 0 ? State::Complete : State::Open;
}

void CallScanner::endString() {
  inString = false;
  if (!inCall())
    return;
  if (expectsKey) {
    key = unescaped(token);
  } else if (key == "name") {
    found.back().name = unescaped(token);
    found.back().named = true;
  }
}

void CallScanner::separate(char c) {
  expectsKey = c == ',';
  capturing = c == ':' && key == member;
}

} // namespace fusec::serve
