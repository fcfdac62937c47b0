//===- ToolCallReader.h - text of a model to content and calls of functions ---------===//
//
//   ToolCallReader reader(call.tools);
//   for (...) handle(reader.push(delta));
//   handle(reader.finish());
//
// Of a model that may call (tool_choice "auto") a call is given out when it is
// whole and right; what turns out to be none comes as content, with its
// markers. Of one that must call, a grammar sees to what it writes, so name and
// arguments are given out as they come.
//
// Borrows the ToolUse. Threading: one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/openai/CallScanner.h"
#include "serve/openai/ToolFormats.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::serve {

/// What a request wants of calls.
struct ToolUse {
  const ToolFormat *format = nullptr; ///< Null = the answer is text, whatever it holds.
  std::vector<std::string> names;     ///< Functions there are.
  bool forced = false;                ///< The answer is calls and nothing else; begins behind the first marker.
  bool parallel = true;               ///< Else all but the first call are dropped.
  std::string grammar;                ///< When forced: a GrammarKind::JsonSequence.
};

struct AnswerPiece {
  enum class Kind { Content, Call, Arguments } kind = Kind::Content;
  std::string text; ///< Content, the function's name, or more of its arguments.
  int call = 0;     ///< Which call.
  std::string id = {};
};

class ToolCallReader {
public:
  explicit ToolCallReader(const ToolUse &use);

  std::vector<AnswerPiece> push(std::string_view text);
  /// What was held back. No more calls after it.
  std::vector<AnswerPiece> finish();
  /// There are calls, and none is cut off.
  bool called() const { return numCalls > 0 && state != State::Body; }

private:
  enum class State { Text, Body, Close };

  bool step();
  bool readText();
  bool readBody();
  bool readClose();
  void enterBody(size_t begin);
  std::optional<size_t> bareCall() const;
  void endBody(CallScanner::State end);
  bool isRight() const;
  void giveContent(std::string_view text);
  void giveCalls();

  const ToolUse &use;
  State state;
  std::string held;                   ///< Not decided yet.
  std::string raw;                    ///< Of the call being read: all of it, with what stood before it.
  size_t bodyBegin = 0;               ///< In `raw`: where its JSON begins.
  std::optional<CallScanner> scanner; ///< Of the call being read.
  bool mayBeBare = true;              ///< Nothing but calls so far.
  int numCalls = 0;                   ///< Of earlier bodies.
  std::vector<size_t> sent;           ///< Bytes of arguments given out, per call of this body that was begun.
  std::vector<AnswerPiece> out;
};

} // namespace fusec::serve
