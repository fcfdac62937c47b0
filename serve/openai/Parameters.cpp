//===- Parameters.cpp - the table of request parameters -------------------------===//
#include "serve/openai/Parameters.h"

#include "runtime/base/Json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fusec::serve {

using nlohmann::json;
using enum JsonKind;
using enum Handling;

static constexpr double most = 9007199254740992; // 2^53: every integer up to here is exact in JSON.
static constexpr double int32Most = 2147483647;

static constexpr Parameter table[] = {
    // What to continue.
    {"model", Generate | Embeddings, String, Honoured, 0, 0, "", "The served model's name; may be left out."},
    {"prompt", Completions, StringOrArray, Honoured, 0, 0, "",
     "A string, an array of strings, an array of token ids, or an array of such arrays. Control tokens may be "
     "spelled."},
    {"prompt", Tokenize, String, Honoured, 0, 0, "", "The text to tokenize."},
    {"messages", Chat | Tokenize, Array, Honoured, 0, 0, "",
     "The conversation. Content is plain text: control tokens spelled in it are not control tokens."},
    {"suffix", Completions, String, Refused, 0, 0, "", "Text is only continued, not filled in."},
    {"echo", Completions, Boolean, Honoured, 0, 0, "", "Begin the text with the prompt."},
    {"add_special_tokens", Completions | Tokenize, Boolean, Honoured, 0, 0, "",
     "Extension. Add BOS where the tokenizer does; default true (false with `messages`)."},
    {"tools", Chat | Tokenize, Array, Honoured, 0, 0, "",
     "Functions that the model may call, shown to it by its chat template; refused when the template has no tools."},
    {"tool_choice", Chat, StringOrObject, Honoured, 0, 0, "",
     "`none` hides the tools, `auto` shows them; `required` or a function: the answer is bound to be calls."},
    {"parallel_tool_calls", Chat, Boolean, Honoured, 0, 0, "", "With `false` an answer has one call at most."},
    {"functions", Chat, Array, Refused, 0, 0, "", "Deprecated; use `tools`."},
    {"function_call", Chat, StringOrObject, Refused, 0, 0, "", "Deprecated; use `tool_choice`."},
    {"chat_template_kwargs", Chat | Tokenize, Object, Honoured, 0, 0, "",
     "Extension. Further variables for the chat template, such as `enable_thinking`."},
    {"chat_template", Chat | Tokenize, String, Refused, 0, 0, "",
     "Templates are programs; only the model's own is run."},
    {"reasoning_effort", Chat, String, Honoured, 0, 0, "",
     "Given to a chat template that asks for it; refused otherwise."},

    // How much.
    {"max_tokens", Generate, Integer, Honoured, 0, most, "",
     "Most tokens to generate; for completions 16 when absent, for chat what the context holds. 0 only with `echo`."},
    {"max_completion_tokens", Chat, Integer, Honoured, 1, most, "", "The newer name of `max_tokens`."},
    {"min_tokens", Generate, Integer, Honoured, 0, most, "", "Extension. Nothing stops the text before."},
    {"n", Generate, Integer, Honoured, 1, int32Most, "", "Texts per prompt; at most --max-n."},
    {"best_of", Completions, Integer, Honoured, 1, int32Most, "",
     "Texts generated, the best `n` are returned; at most --max-n, and not streamed."},
    {"stop", Generate, StringOrArray, Honoured, 0, 0, "", "Up to 16 strings; the text ends before the first of them."},
    {"include_stop_str_in_output", Generate, Boolean, Honoured, 0, 0, "", "Extension. The text ends behind it."},
    {"stop_token_ids", Generate, Array, Honoured, 0, 0, "", "Extension. Further tokens that end the text."},
    {"ignore_eos", Generate, Boolean, Honoured, 0, 0, "", "Extension. Go on after the model's end token."},

    // Which tokens.
    {"temperature", Generate, Number, Honoured, 0, 100, "", "0 = always the likeliest token."},
    {"top_p", Generate, Number, Honoured, 0, 1, "", "Keep the likeliest tokens that reach it; 0 keeps one."},
    {"top_k", Generate, Integer, Honoured, -1, int32Most, "", "Extension. Keep the k likeliest; 0 or -1 = off."},
    {"min_p", Generate, Number, Honoured, 0, 1, "", "Extension. Drop what is less likely than this share of the best."},
    {"presence_penalty", Generate, Number, Honoured, -2, 2, "", "Subtracted once from generated tokens."},
    {"frequency_penalty", Generate, Number, Honoured, -2, 2, "", "Subtracted per earlier generation."},
    {"repetition_penalty", Generate, Number, Honoured, 1e-6, 1e6, "", "Extension. Above 1 discourages seen tokens."},
    {"logit_bias", Generate, Object, Honoured, 0, 0, "", "Token id to bias, from -100 to 100."},
    {"seed", Generate, Integer, Honoured, -most, most, "", "Equal seeds give equal text; drawn when absent."},
    {"response_format", Generate, Object, Honoured, 0, 0, "",
     "`text`, `json_object` or `json_schema`: enforced while generating."},
    {"guided_json", Generate, StringOrObject, Honoured, 0, 0, "", "Extension. A JSON schema."},
    {"guided_regex", Generate, String, Honoured, 0, 0, "", "Extension. A regular expression for the whole text."},
    {"guided_choice", Generate, Array, Honoured, 0, 0, "", "Extension. The text is one of these strings."},
    {"guided_grammar", Generate, String, Honoured, 0, 0, "", "Extension. A GBNF grammar."},
    {"use_beam_search", Generate, Boolean, NeutralOnly, 0, 0, "false", "There is no beam search."},
    {"prediction", Chat, Object, Refused, 0, 0, "", "Predicted output is not used."},

    // What comes back.
    {"stream", Generate, Boolean, Honoured, 0, 0, "", "Server-sent events."},
    {"stream_options", Generate, Object, Honoured, 0, 0, "", "`include_usage`; only with `stream`."},
    {"logprobs", Completions, Integer, Honoured, 0, 20, "", "Log-probabilities of the tokens and of so many others."},
    {"logprobs", Chat, Boolean, Honoured, 0, 0, "", "Log-probabilities of the tokens."},
    {"top_logprobs", Chat, Integer, Honoured, 0, 20, "", "And of so many others; only with `logprobs`."},
    {"return_token_ids", Generate, Boolean, Honoured, 0, 0, "",
     "Extension. Adds `prompt_token_ids` and `token_ids` to each choice; not in streams."},
    {"explain", Generate, Boolean, Honoured, 0, 0, "",
     "Extension. Adds a `fusec` object: where the time went. Also by the header `x-fusec-explain: 1`."},
    {"modalities", Chat, Array, NeutralOnly, 0, 0, R"(["text"])", "Only text."},
    {"audio", Chat, Object, Refused, 0, 0, "", "Only text."},
    {"verbosity", Chat, String, Refused, 0, 0, "", "Ask for it in the messages."},
    {"web_search_options", Chat, Object, Refused, 0, 0, "", "The server fetches nothing."},

    // How it is served.
    {"priority", Generate, Integer, Honoured, -int32Most, int32Most, "",
     "Extension. Lower is served earlier, with --policy priority."},
    {"skip_prefix_cache", Generate, Boolean, Honoured, 0, 0, "", "Extension. Compute the whole prompt."},
    {"cache_salt", Generate, String, Refused, 0, 0, "", "The server separates tenants by their API key."},
    {"user", Generate | Embeddings, String, Honoured, 0, 0, "", "Appears in the server's log."},
    {"safety_identifier", Chat, String, Honoured, 0, 0, "", "As `user`."},
    {"prompt_cache_key", Chat, String, Refused, 0, 0, "", "Prefixes are found by their tokens; no key is needed."},
    {"service_tier", Chat, String, NeutralOnly, 0, 0, R"("auto")", "There is one tier."},
    {"store", Chat, Boolean, NeutralOnly, 0, 0, "false", "Nothing is stored."},
    {"metadata", Chat, Object, NeutralOnly, 0, 0, "{}", "Nothing is stored."},

    // Other routes.
    {"model", Tokenize | Detokenize, String, Honoured, 0, 0, "", "As above."},
    {"parse_special", Tokenize, Boolean, Honoured, 0, 0, "",
     "Control tokens may be spelled in `prompt`; default true, as in completions."},
    {"add_generation_prompt", Tokenize, Boolean, Honoured, 0, 0, "", "With `messages`; default true."},
    {"return_token_strs", Tokenize, Boolean, Honoured, 0, 0, "", "Adds `token_strs`."},
    {"tokens", Detokenize, Array, Honoured, 0, 0, "", "Token ids."},
    {"skip_special_tokens", Detokenize, Boolean, Honoured, 0, 0, "", "Leave out control tokens; default false."},
    {"input", Embeddings, StringOrArray, Honoured, 0, 0, "",
     "A string, an array of strings, an array of token ids, or an array of such arrays; none empty, at most 2048. "
     "Control tokens spelled in a string are text."},
    {"encoding_format", Embeddings, String, Honoured, 0, 0, "",
     "`float` (the default), or `base64` of little-endian 32-bit floats."},
    {"dimensions", Embeddings, Integer, Honoured, 1, int32Most, "",
     "Only the first so many numbers, brought to length 1 again; at most what the model gives."},
};

std::span<const Parameter> parameters() { return table; }

const Parameter *findParameter(std::string_view name) {
  auto row = std::find_if(std::begin(table), std::end(table), [&](const Parameter &p) { return p.name == name; });
  return row == std::end(table) ? nullptr : row;
}

static const Parameter *findParameter(std::string_view name, Route route) {
  auto row = std::find_if(std::begin(table), std::end(table),
                          [&](const Parameter &p) { return p.name == name && (p.routes & route); });
  return row == std::end(table) ? nullptr : row;
}

static std::string_view kindName(JsonKind kind) {
  switch (kind) {
  case Boolean:
    return "a boolean";
  case Integer:
    return "an integer";
  case Number:
    return "a number";
  case String:
    return "a string";
  case Object:
    return "an object";
  case Array:
    return "an array";
  case StringOrArray:
    return "a string or an array";
  case StringOrObject:
    return "a string or an object";
  }
  return "";
}

static bool isOfKind(const json &value, JsonKind kind) {
  switch (kind) {
  case Boolean:
    return value.is_boolean();
  case Integer:
    return value.is_number_integer();
  case Number:
    return value.is_number();
  case String:
    return value.is_string();
  case Object:
    return value.is_object();
  case Array:
    return value.is_array();
  case StringOrArray:
    return value.is_string() || value.is_array();
  case StringOrObject:
    return value.is_string() || value.is_object();
  }
  return false;
}

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  double shorter = 0;
  char brief[32];
  std::snprintf(brief, sizeof brief, "%.6g", value);
  std::sscanf(brief, "%lf", &shorter);
  return shorter == value ? brief : text;
}

/// "a number from 0 to 1".
static std::string expectation(const Parameter &row) {
  std::string text(kindName(row.kind));
  if (row.low == 0 && row.high == 0)
    return text;
  return text + " from " + number(row.low) + " to " + number(row.high);
}

/// A value for an error message: short, however long it is.
static std::string shown(const json &value) {
  if (value.is_structured())
    return std::string(jsonTypeName(value));
  std::string text = dumpJson(value);
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

static Failure checkValue(const std::string &name, const json &value, const Parameter &row) {
  if (row.handling == Refused)
    return ApiError{ErrorKind::Unsupported, name + " is not supported: " + std::string(row.help), name};
  const bool ranged = row.low != 0 || row.high != 0;
  const bool fits =
      isOfKind(value, row.kind) && (!ranged || (value.get<double>() >= row.low && value.get<double>() <= row.high));
  if (!fits)
    return invalidValue(name, name + ": expected " + expectation(row) + ", found " + shown(value));
  if (row.handling == NeutralOnly && value != json::parse(row.neutral))
    return ApiError{ErrorKind::Unsupported,
                    name + " is only supported as " + std::string(row.neutral) + ": " + std::string(row.help), name};
  return {};
}

Failure checkParameters(const json &body, Route route) {
  if (!body.is_object())
    return ApiError{ErrorKind::InvalidJson, "the body must be a JSON object, found " + std::string(jsonTypeName(body))};
  for (const auto &[name, value] : body.items()) {
    const Parameter *row = findParameter(name, route);
    if (!row)
      return ApiError{ErrorKind::UnknownParameter, "Unrecognized request argument supplied: " + name.substr(0, 100),
                      name.substr(0, 100)};
    if (!value.is_null())
      FUSEC_RETURN_FAILURE(checkValue(name, value, *row));
  }
  return {};
}

static std::string routeNames(uint8_t routes) {
  static constexpr std::pair<Route, std::string_view> names[] = {{Completions, "completions"},
                                                                 {Chat, "chat"},
                                                                 {Embeddings, "embeddings"},
                                                                 {Tokenize, "tokenize"},
                                                                 {Detokenize, "detokenize"}};
  std::string text;
  for (auto [route, name] : names)
    if (routes & route)
      text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::string parametersAsMarkdown() {
  std::string text = "| parameter | routes | value | what becomes of it |\n| --- | --- | --- | --- |\n";
  for (const Parameter &row : table) {
    std::string handling;
    if (row.handling == Refused)
      handling = "**refused**: ";
    if (row.handling == NeutralOnly)
      handling = "only `" + std::string(row.neutral) + "`, else **refused**: ";
    text += "| `" + std::string(row.name) + "` | " + routeNames(row.routes) + " | " + expectation(row) + " | " +
            handling + std::string(row.help) + " |\n";
  }
  return text;
}

} // namespace fusec::serve
