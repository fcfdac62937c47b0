//===- CallScanner.h - finds calls in JSON that is still being written --------------===//
//
// Follows one JSON value, {"name": ..., "arguments": {...}} or an array of such,
// character by character, and keeps name and arguments of each call as far as
// they have come. It looks at brackets and strings only; whether the whole is
// JSON is for a parser to say.
//
// Threading: one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fusec::serve {

struct ScannedCall {
  std::string name, arguments; ///< The arguments as they were written.
  bool named = false;          ///< The name is complete.
  bool closed = false;         ///< The whole call is.
};

class CallScanner {
public:
  CallScanner(bool list, std::string_view argumentsMember) : member(argumentsMember), callDepth(list ? 2 : 1) {}

  enum class State { Open, Complete, Failed };

  /// Takes the next character. Failed: this begins no call. No more calls after Complete or Failed.
  State feed(char c);
  const std::vector<ScannedCall> &calls() const { return found; }

private:
  State feedOutside(char c);
  State open(char c);
  State close(char c);
  void endString();
  void separate(char c);
  bool inCall() const { return depth == callDepth; }

  const std::string_view member;
  const int callDepth; ///< Brackets that are open within a call.
  std::vector<ScannedCall> found;
  int depth = 0;
  bool inString = false, escaped = false;
  bool expectsKey = false; ///< Of the call's members: before the colon.
  bool capturing = false;  ///< What comes is part of the arguments.
  std::string token;       ///< The string being read within a call, without quotes.
  std::string key;
};

} // namespace fusec::serve
