//===- GenerationCall.h - a completion or chat request, understood ---------------===//
//
// From the body of a request to engine requests. Runs on a worker thread:
// tokenizing megabytes or compiling a grammar must hold up nobody.
//
//   GenerationCall call;
//   if (Failure failure = readGenerationCall(Route::Chat, request.body, context, call))
//     return failure;
//   for (const std::vector<TokenId> &prompt : call.prompts) ...
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Request.h"
#include "serve/Backend.h"
#include "serve/openai/ApiOptions.h"
#include "serve/openai/Parameters.h"
#include "serve/openai/ToolCallReader.h"

#include <string>
#include <string_view>
#include <vector>

namespace fusec::serve {

struct GenerationCall {
  bool chat = false;
  bool stream = false, includeUsage = false;
  bool echo = false;
  /// max_tokens was 0: the engine generates a token all the same, which is not shown.
  bool hideText = false;
  bool explain = false, returnTokenIds = false;
  int logprobs = -1; ///< Rows beside the token's own; -1 = none.
  std::string user;  ///< For the log.
  ToolUse tools;
  std::vector<std::vector<text::TokenId>> prompts;
  std::vector<std::string> promptTexts; ///< As given, or decoded; only with echo or for the log.
  /// All that the prompts have in common; its `prompt` is empty.
  runtime::Request request;
};

struct CallContext {
  const Backend &backend;
  const ApiOptions &options;
  std::string modelName;
};

Failure readGenerationCall(Route route, const std::string &body, const CallContext &context, GenerationCall &call);

/// Parses a body: an object without doubled keys.
Failure parseBody(const std::string &text, nlohmann::json &body);
/// `model`, when given, must be the served one.
Failure checkModel(const nlohmann::json &body, const std::string &served);

} // namespace fusec::serve
