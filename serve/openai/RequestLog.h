//===- RequestLog.h - one line of JSON per request --------------------------------===//
//
//   {"time":"2026-01-02T03:04:05.678Z","id":"req-...","method":"POST","path":"/v1/completions","status":200,
//    "key":0,"prompt_tokens":12,...,"total_ms":345.6}
//
// Never the text of a prompt or an answer, unless the server was asked to.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace fusec::serve {

/// Takes one line, without its end. Called on the event loop.
using LogSink = std::function<void(std::string_view line)>;

/// UTC now, to the millisecond.
std::string timestamp();
/// `prefix` and 96 random bits in hexadecimal.
std::string randomId(std::string_view prefix);
/// The client's request id when it is a short plain word, else a new one.
std::string requestIdFor(std::string_view fromClient);

} // namespace fusec::serve
