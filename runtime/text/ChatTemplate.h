//===- ChatTemplate.h - messages to prompt text ------------------------------===//
//
// A model's chat template in the Jinja dialect of Transformers' sandboxed
// environment (trim_blocks, lstrip_blocks, loop controls, `tojson` as
// json.dumps, `raise_exception`, `strftime_now`, `{% generation %}`).
//
//   FUSEC_ASSIGN_OR_RETURN(auto chat, ChatTemplate::compile(source));
//   FUSEC_ASSIGN_OR_RETURN(auto parts, chat.renderSegments(
//       {{"messages", messages}, {"add_generation_prompt", true}, {"bos_token", "<s>"}}));
//
// Templates are untrusted programs: rendering is bounded by Limits and cannot
// reach anything but the variables it is given.
//
// Threading: immutable after compile; any number of threads may render.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/jinja/Budget.h"

#include <nlohmann/json.hpp>

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fusec::text {

/// Adjacent text of one origin. `fromTemplate` text was written by the template
/// (or is a special token's name): control tokens spelled in it are meant. All
/// other text came from the request and must be tokenised as plain text, so
/// that a user who types `<|im_end|>` does not end the turn.
struct Segment {
  std::string text;
  bool fromTemplate;
};

struct RenderOptions {
  jinja::Limits limits;
  /// What `strftime_now` shows; the local time of the call when not set.
  std::optional<std::tm> now;
};

class ChatTemplate {
public:
  /// Parses `source`. Errors: CorruptData "chat template: line N: what".
  static Result<ChatTemplate> compile(std::string source);

  /// The rendered text. `context` holds the variables: messages, tools,
  /// add_generation_prompt, bos_token, eos_token, ... in the order given (tools
  /// print in that order, hence ordered_json). Errors: InvalidArgument with
  /// "chat template: line N: what" for whatever the template refuses, also by
  /// raise_exception; ResourceExhausted beyond the limits.
  Result<std::string> render(const nlohmann::ordered_json &context, const RenderOptions &options = {}) const;

  /// The same text as segments: neighbours differ in origin, none is empty.
  Result<std::vector<Segment>> renderSegments(const nlohmann::ordered_json &context,
                                              const RenderOptions &options = {}) const;

  const std::string &source() const { return text; }

private:
  struct Parsed;
  struct ParsedDeleter {
    void operator()(const Parsed *parsed) const;
  };
  ChatTemplate() = default;

  std::string text;
  std::unique_ptr<const Parsed, ParsedDeleter> parsed;
};

} // namespace fusec::text
