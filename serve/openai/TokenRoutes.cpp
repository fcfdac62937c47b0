//===- TokenRoutes.cpp - tokenize, detokenize ---------------------------------------===//
#include "runtime/base/Json.h"
#include "runtime/text/Tokenizer.h"
#include "serve/openai/Api.h"
#include "serve/openai/Prompts.h"

namespace fusec::serve {

using nlohmann::json;

static bool flag(const json &body, std::string_view name, bool fallback) {
  const json *value = jsonFind(body, name);
  return value ? value->get<bool>() : fallback;
}

/// Parses a body and checks it against the table.
static Failure readBody(const std::string &text, Route route, const std::string &modelName, json &body) {
  FUSEC_RETURN_FAILURE(parseBody(text, body));
  FUSEC_RETURN_FAILURE(checkParameters(body, route));
  return checkModel(body, modelName);
}

static Failure tokenizeBody(const std::string &text, const json &body, const Backend &backend,
                            std::vector<text::TokenId> &ids) {
  const json *prompt = jsonFind(body, "prompt");
  const bool chat = jsonFind(body, "messages");
  if (chat && prompt)
    return invalidValue("prompt", "prompt: expected either `prompt` or `messages`, found both");
  ToolUse unused;
  if (chat)
    return encodeChat(text,
                      {.addGenerationPrompt = flag(body, "add_generation_prompt", true),
                       .addSpecial = flag(body, "add_special_tokens", false)},
                      backend, ids, unused);
  if (!prompt)
    return invalidValue("prompt", "prompt: missing, expected a string");
  auto encoded = backend.tokenizer().encode(
      prompt->get_ref<const std::string &>(),
      {.addSpecial = flag(body, "add_special_tokens", true), .parseSpecial = flag(body, "parse_special", true)});
  if (!encoded)
    return invalidValue("prompt", "prompt: " + encoded.status().message());
  ids = std::move(*encoded);
  return {};
}

void Api::tokenize(const Visit &visit) {
  replyFromWorker(visit, [this](const http::Request &request) -> http::Response {
    json body;
    if (Failure failure = readBody(request.body, Route::Tokenize, options.modelName, body))
      return failure->toResponse();
    std::vector<text::TokenId> ids;
    if (Failure failure = tokenizeBody(request.body, body, backend, ids))
      return failure->toResponse();
    json reply = {{"count", ids.size()}, {"max_model_len", backend.contextTokens()}, {"tokens", ids}};
    if (flag(body, "return_token_strs", false)) {
      reply["token_strs"] = json::array();
      for (text::TokenId id : ids)
        reply["token_strs"].push_back(std::string(backend.tokenizer().piece(id)));
    }
    return {.body = dumpJson(reply)};
  });
}

void Api::detokenize(const Visit &visit) {
  replyFromWorker(visit, [this](const http::Request &request) -> http::Response {
    json body;
    if (Failure failure = readBody(request.body, Route::Detokenize, options.modelName, body))
      return failure->toResponse();
    const json *tokens = jsonFind(body, "tokens");
    if (!tokens)
      return invalidValue("tokens", "tokens: missing, expected an array of token ids").toResponse();
    std::vector<text::TokenId> ids;
    if (Failure failure = readTokenIds(*tokens, "tokens", backend.tokenizer().size(), ids))
      return failure->toResponse();
    const std::string text = backend.tokenizer().decode(ids, flag(body, "skip_special_tokens", false));
    return {.body = dumpJson({{"prompt", text}})};
  });
}

} // namespace fusec::serve
