//===- EmbeddingCall.cpp - an embedding request, understood -----------------------===//
#include "serve/openai/EmbeddingCall.h"

#include "runtime/base/Json.h"
#include "runtime/text/Tokenizer.h"
#include "serve/openai/Prompts.h"

namespace fusec::serve {

using nlohmann::json;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static Failure checkLength(size_t tokens, const std::string &name, const CallContext &context) {
  const int64_t window = context.backend.contextTokens(), limit = context.options.maxPromptTokens;
  const auto found = static_cast<int64_t>(tokens);
  if (tokens == 0)
    return invalidValue("input", name + ": expected at least one token, found none");
  if (found > window)
    return ApiError{ErrorKind::ContextLength,
                    "This model's maximum context length is " + std::to_string(window) + " tokens. However, " + name +
                        " has " + std::to_string(found) + " tokens.",
                    "input"};
  if (limit > 0 && found > limit)
    return ApiError{ErrorKind::ContextLength,
                    "This server accepts inputs of at most " + std::to_string(limit) +
                        " tokens (--max-prompt-tokens). However, " + name + " has " + std::to_string(found) +
                        " tokens.",
                    "input"};
  return {};
}

static Failure encodeText(const std::string &text, const std::string &name, const CallContext &context,
                          std::vector<text::TokenId> &ids) {
  if (text.empty())
    return invalidValue("input", name + ": expected a string that is not empty");
  // What is embedded is data: control tokens spelled in it are text.
  auto encoded = context.backend.tokenizer().encode(text, {.addSpecial = true, .parseSpecial = false});
  if (!encoded)
    return invalidValue("input", name + ": " + encoded.status().message());
  ids = std::move(*encoded);
  return {};
}

/// A string or an array of token ids.
static Failure addInput(const json &one, const std::string &name, const CallContext &context, EmbeddingCall &call) {
  std::vector<text::TokenId> ids;
  if (one.is_string()) {
    FUSEC_RETURN_FAILURE(encodeText(one.get_ref<const std::string &>(), name, context, ids));
  } else if (Failure failure = readTokenIds(one, name, context.backend.tokenizer().size(), ids)) {
    failure->param = "input";
    return failure;
  }
  FUSEC_RETURN_FAILURE(checkLength(ids.size(), name, context));
  if (context.options.logPrompts)
    call.texts.push_back(context.backend.tokenizer().decode(ids, /*skipSpecial=*/false));
  call.inputs.push_back(std::move(ids));
  return {};
}

static Failure readInputs(const json &body, const CallContext &context, EmbeddingCall &call) {
  const json *input = jsonFind(body, "input");
  if (!input)
    return invalidValue("input", "input: missing, expected a string or an array");
  if (input->is_array() && input->empty())
    return invalidValue("input", "input: expected an input, found an empty array");
  if (input->is_string() || input->front().is_number())
    return addInput(*input, "input", context, call);
  if (static_cast<int>(input->size()) > context.options.maxInputs)
    return invalidValue("input", "input: expected at most " + std::to_string(context.options.maxInputs) +
                                     " inputs, found " + std::to_string(input->size()));
  for (size_t i = 0; i < input->size(); ++i) {
    const json &one = (*input)[i];
    const std::string name = "input[" + std::to_string(i) + "]";
    if (one.type() != input->front().type() || !(one.is_string() || one.is_array()))
      return invalidValue("input", name + ": expected all strings, or all arrays of token ids, found " +
                                       std::string(jsonTypeName(one)));
    FUSEC_RETURN_FAILURE(addInput(one, name, context, call));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

static Failure readFormat(const json &body, EmbeddingFormat &format) {
  const json *given = jsonFind(body, "encoding_format");
  if (!given || *given == "float")
    return {};
  if (*given != "base64")
    return invalidValue("encoding_format",
                        "encoding_format: expected \"float\" or \"base64\", found " + dumpJson(*given).substr(0, 60));
  format = EmbeddingFormat::Base64;
  return {};
}

static Failure readDimensions(const json &body, int64_t width, int64_t &dimensions) {
  const json *given = jsonFind(body, "dimensions");
  dimensions = given ? given->get<int64_t>() : width;
  if (dimensions <= width)
    return {};
  return invalidValue("dimensions", "dimensions: expected at most " + std::to_string(width) +
                                        ", which is what the model gives, found " + std::to_string(dimensions));
}

Failure readEmbeddingCall(const std::string &body, const CallContext &context, EmbeddingCall &call) {
  json document;
  FUSEC_RETURN_FAILURE(parseBody(body, document));
  FUSEC_RETURN_FAILURE(checkParameters(document, Route::Embeddings));
  FUSEC_RETURN_FAILURE(checkModel(document, context.modelName));
  const std::optional<runtime::EmbeddingInfo> &embedding = context.backend.model().embedding;
  if (!embedding)
    return ApiError{ErrorKind::Unsupported,
                    "The model `" + context.modelName +
                        "` does not support embeddings: it was compiled to generate text; start the server with "
                        "--embeddings",
                    "model"};
  FUSEC_RETURN_FAILURE(readFormat(document, call.format));
  FUSEC_RETURN_FAILURE(readDimensions(document, embedding->width, call.dimensions));
  if (const json *user = jsonFind(document, "user"))
    call.user = user->get<std::string>();
  return readInputs(document, context, call);
}

} // namespace fusec::serve
