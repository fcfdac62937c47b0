//===- GenerationCall.cpp - a completion or chat request, understood -------------===//
#include "serve/openai/GenerationCall.h"

#include "runtime/base/Json.h"
#include "runtime/text/Tokenizer.h"
#include "serve/openai/Grammars.h"
#include "serve/openai/Prompts.h"

#include <charconv>
#include <random>

namespace fusec::serve {

using nlohmann::json;

Failure parseBody(const std::string &text, json &body) {
  if (text.empty())
    return ApiError{ErrorKind::InvalidJson, "the body is empty; expected a JSON object"};
  Result<json> parsed = parseJson(text, "the body", {.rejectDuplicateKeys = true});
  if (!parsed)
    return ApiError{ErrorKind::InvalidJson, parsed.status().message()};
  body = std::move(*parsed);
  if (!body.is_object())
    return ApiError{ErrorKind::InvalidJson, "the body must be a JSON object, found " + std::string(jsonTypeName(body))};
  return {};
}

Failure checkModel(const json &body, const std::string &served) {
  const json *model = jsonFind(body, "model");
  if (!model || model->get_ref<const std::string &>() == served)
    return {};
  return ApiError{ErrorKind::ModelNotFound,
                  "The model `" + model->get_ref<const std::string &>().substr(0, 100) +
                      "` does not exist; this server has `" + served + "`",
                  "model"};
}

// The table has checked types and ranges: a member that is there can be taken.
template <typename T> static T valueOr(const json &body, std::string_view name, T fallback) {
  const json *value = jsonFind(body, name);
  return value ? value->get<T>() : fallback;
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

static uint64_t randomSeed() {
  std::random_device device;
  return uint64_t(device()) << 32 | device();
}

static Failure readLogitBias(const json &body, int64_t vocabulary, runtime::SamplingParams &sampling) {
  const json *bias = jsonFind(body, "logit_bias");
  if (!bias)
    return {};
  for (const auto &[key, value] : bias->items()) {
    int64_t id = -1;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size() || id < 0 || id >= vocabulary)
      return invalidValue("logit_bias", "logit_bias: expected token ids from 0 to " + std::to_string(vocabulary - 1) +
                                            " as keys, found '" + key.substr(0, 60) + "'");
    if (!value.is_number() || !(value.get<double>() >= -100 && value.get<double>() <= 100))
      return invalidValue("logit_bias", "logit_bias: expected a number from -100 to 100 for token " + key + ", found " +
                                            dumpJson(value).substr(0, 60));
    sampling.logitBias[static_cast<text::TokenId>(id)] = value.get<float>();
  }
  return {};
}

static Failure readSampling(const json &body, const Backend &backend, runtime::SamplingParams &sampling) {
  sampling = runtime::SamplingParams::defaultsFor(backend.model());
  sampling.temperature = valueOr(body, "temperature", sampling.temperature);
  sampling.topP = valueOr(body, "top_p", sampling.topP);
  sampling.topK = valueOr(body, "top_k", sampling.topK);
  sampling.minP = valueOr(body, "min_p", sampling.minP);
  sampling.presencePenalty = valueOr(body, "presence_penalty", sampling.presencePenalty);
  sampling.frequencyPenalty = valueOr(body, "frequency_penalty", sampling.frequencyPenalty);
  sampling.repetitionPenalty = valueOr(body, "repetition_penalty", sampling.repetitionPenalty);
  const json *seed = jsonFind(body, "seed");
  sampling.seed = seed ? static_cast<uint64_t>(seed->get<int64_t>()) : randomSeed();
  return readLogitBias(body, backend.tokenizer().size(), sampling);
}

//===----------------------------------------------------------------------===//
// Where the text ends
//===----------------------------------------------------------------------===//

static Failure readStops(const json &body, int64_t vocabulary, runtime::Request &request) {
  if (const json *stop = jsonFind(body, "stop")) {
    const json list = stop->is_string() ? json::array({*stop}) : *stop;
    if (list.size() > runtime::Request::maxStopStrings)
      return invalidValue("stop", "stop: expected at most " + std::to_string(runtime::Request::maxStopStrings) +
                                      " strings, found " + std::to_string(list.size()));
    for (const json &text : list) {
      if (!text.is_string() || text.get_ref<const std::string &>().empty())
        return invalidValue("stop", "stop: expected strings that are not empty");
      request.stopStrings.push_back(text.get<std::string>());
    }
  }
  if (const json *ids = jsonFind(body, "stop_token_ids"))
    return readTokenIds(*ids, "stop_token_ids", vocabulary, request.stopIds);
  return {};
}

static Failure readLengths(const json &body, GenerationCall &call) {
  const json *older = jsonFind(body, "max_tokens"), *newer = jsonFind(body, "max_completion_tokens");
  if (older && newer)
    return invalidValue("max_tokens", "max_tokens and max_completion_tokens name the same limit: give one of them");
  const int64_t unlimited = -1;
  const int64_t absent = call.chat ? unlimited : 16; // OpenAI's defaults.
  const json *given = newer ? newer : older;
  call.request.maxTokens = given ? given->get<int64_t>() : absent;
  if (call.request.maxTokens == 0 && !call.echo)
    return invalidValue("max_tokens", "max_tokens: expected at least 1 (0 is for `echo`), found 0");
  call.hideText = call.request.maxTokens == 0;
  if (call.hideText)
    call.request.maxTokens = 1; // The prompt's log-probabilities come with a step.
  call.request.minTokens = valueOr<int64_t>(body, "min_tokens", 0);
  if (call.request.maxTokens >= 0 && call.request.minTokens > call.request.maxTokens)
    return invalidValue("min_tokens", "min_tokens: expected at most max_tokens (" +
                                          std::to_string(call.request.maxTokens) + "), found " +
                                          std::to_string(call.request.minTokens));
  return {};
}

static Failure readChoices(const json &body, const ApiOptions &options, GenerationCall &call) {
  runtime::Request &request = call.request;
  request.n = valueOr(body, "n", 1);
  request.bestOf = valueOr(body, "best_of", 0);
  const auto limit = [&](const char *name, int value) -> Failure {
    if (value <= options.maxN)
      return {};
    return invalidValue(name, std::string(name) + ": expected at most " + std::to_string(options.maxN) +
                                  " (--max-n), found " + std::to_string(value));
  };
  FUSEC_RETURN_FAILURE(limit("n", request.n));
  FUSEC_RETURN_FAILURE(limit("best_of", request.bestOf));
  if (request.bestOf == 0)
    return {};
  if (request.bestOf < request.n)
    return invalidValue("best_of", "best_of: expected at least n (" + std::to_string(request.n) + "), found " +
                                       std::to_string(request.bestOf));
  if (request.bestOf > request.n && call.stream)
    return invalidValue("best_of", "best_of: the best texts are known at the end only, so they cannot be streamed");
  return {};
}

//===----------------------------------------------------------------------===//
// What comes back
//===----------------------------------------------------------------------===//

static Failure readStreamOptions(const json &body, GenerationCall &call) {
  const json *options = jsonFind(body, "stream_options");
  if (!options)
    return {};
  if (!call.stream)
    return invalidValue("stream_options", "stream_options: only allowed with `stream`: true");
  for (const auto &[name, value] : options->items()) {
    const std::string full = "stream_options." + name.substr(0, 60);
    if (name == "include_obfuscation" && value == false)
      continue;
    if (name != "include_usage")
      return ApiError{ErrorKind::UnknownParameter, "Unrecognized request argument supplied: " + full, full};
    if (!value.is_boolean())
      return invalidValue(full, full + ": expected a boolean, found " + std::string(jsonTypeName(value)));
    call.includeUsage = value.get<bool>();
  }
  return {};
}

static Failure readLogprobs(const json &body, GenerationCall &call) {
  const json *top = jsonFind(body, "top_logprobs");
  if (!call.chat)
    call.logprobs = valueOr(body, "logprobs", -1);
  else if (valueOr(body, "logprobs", false))
    call.logprobs = top ? top->get<int>() : 0;
  else if (top)
    return invalidValue("top_logprobs", "top_logprobs: only allowed with `logprobs`: true");
  call.request.sampling.logprobs = call.logprobs;
  if (!call.echo || call.logprobs < 0)
    return {};
  if (call.stream)
    return invalidValue("echo", "echo: the prompt's log-probabilities are known at the end only, so `echo` with "
                                "`logprobs` cannot be streamed");
  call.request.promptLogprobs = call.logprobs;
  return {};
}

static Failure readOutput(const json &body, GenerationCall &call) {
  call.stream = valueOr(body, "stream", false);
  call.echo = valueOr(body, "echo", false);
  call.explain = valueOr(body, "explain", false);
  call.returnTokenIds = valueOr(body, "return_token_ids", false);
  if (call.returnTokenIds && call.stream)
    return invalidValue("return_token_ids", "return_token_ids: not available with `stream`");
  call.user = valueOr(body, "user", valueOr(body, "safety_identifier", std::string()));
  FUSEC_RETURN_FAILURE(readStreamOptions(body, call));
  return readLogprobs(body, call);
}

static void readServing(const json &body, runtime::Request &request) {
  request.priority = valueOr(body, "priority", 0);
  request.skipPrefixCache = valueOr(body, "skip_prefix_cache", false);
  request.ignoreEos = valueOr(body, "ignore_eos", false);
  request.includeStop = valueOr(body, "include_stop_str_in_output", false);
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

static Failure checkLengths(const CallContext &context, const GenerationCall &call) {
  const int64_t window = context.backend.contextTokens();
  const int64_t limit = context.options.maxPromptTokens;
  for (const auto &prompt : call.prompts) {
    const auto tokens = static_cast<int64_t>(prompt.size());
    const char *param = call.chat ? "messages" : "prompt";
    if (tokens == 0)
      return invalidValue(param, "the prompt is empty: at least one token is needed");
    if (tokens >= window)
      return ApiError{ErrorKind::ContextLength,
                      "This model's maximum context length is " + std::to_string(window) +
                          " tokens, of which at least "
                          "one is for the answer. However, the prompt has " +
                          std::to_string(tokens) + " tokens.",
                      param};
    if (limit > 0 && tokens > limit)
      return ApiError{ErrorKind::ContextLength,
                      "This server accepts prompts of at most " + std::to_string(limit) +
                          " tokens (--max-prompt-tokens). However, the prompt has " + std::to_string(tokens) +
                          " tokens.",
                      param};
  }
  return {};
}

static Failure checkGenerates(const CallContext &context) {
  if (!context.backend.model().embedding)
    return {};
  return ApiError{ErrorKind::Unsupported,
                  "The model `" + context.modelName +
                      "` was compiled for embeddings and generates no text: use POST /v1/embeddings, or start the "
                      "server without --embeddings",
                  "model"};
}

Failure readGenerationCall(Route route, const std::string &body, const CallContext &context, GenerationCall &call) {
  json document;
  FUSEC_RETURN_FAILURE(parseBody(body, document));
  FUSEC_RETURN_FAILURE(checkParameters(document, route));
  FUSEC_RETURN_FAILURE(checkModel(document, context.modelName));
  FUSEC_RETURN_FAILURE(checkGenerates(context));
  call.chat = route == Route::Chat;
  FUSEC_RETURN_FAILURE(readSampling(document, context.backend, call.request.sampling));
  FUSEC_RETURN_FAILURE(readOutput(document, call));
  FUSEC_RETURN_FAILURE(readLengths(document, call));
  FUSEC_RETURN_FAILURE(readChoices(document, context.options, call));
  FUSEC_RETURN_FAILURE(readStops(document, context.backend.tokenizer().size(), call.request));
  readServing(document, call.request);
  FUSEC_RETURN_FAILURE(call.chat ? readChatPrompt(body, context, call) : readTextPrompts(document, context, call));
  FUSEC_RETURN_FAILURE(checkLengths(context, call));
  // Last: it may take seconds.
  return call.tools.forced ? readCallGrammar(body, document, context.backend, call.tools, call.request.constraint)
                           : readGrammar(body, document, context.backend, call.request.constraint);
}

} // namespace fusec::serve
