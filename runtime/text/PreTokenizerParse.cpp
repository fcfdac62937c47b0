//===- PreTokenizerParse.cpp - `pre_tokenizer` of tokenizer.json -----------===//
#include "runtime/text/PreTokenizer.h"

#include "runtime/base/Json.h"
#include "runtime/text/Normalizer.h"
#include "runtime/text/Utf8.h"

#include <array>
#include <string_view>

namespace fusec::text {

namespace {

constexpr int kMaxDepth = 16;

/// GPT-2's words: contractions, letters, digits and symbols with at most one
/// leading space, and white space of which the last space joins the next word.
constexpr std::string_view kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr std::string_view kWordsAndSymbols = R"(\w+|[^\w\s]+)";

} // namespace

Result<PreTokenizer> PreTokenizer::parse(const nlohmann::json *spec) {
  PreTokenizer preTokenizer;
  if (spec != nullptr)
    FUSEC_RETURN_IF_ERROR(preTokenizer.append(*spec, 0));
  std::vector<Step> &steps = preTokenizer.steps;
  for (size_t i = 0; i + 1 < steps.size(); ++i)
    steps[i].spellInAlphabet = steps[i].kind == Kind::ByteLevel;
  return preTokenizer;
}

Status PreTokenizer::append(const nlohmann::json &spec, int depth) {
  if (depth > kMaxDepth)
    return unsupported("pre_tokenizer: nested deeper than " + std::to_string(kMaxDepth));
  FUSEC_ASSIGN_OR_RETURN(std::string type, jsonString(spec, "type"));
  if (type == "Sequence") {
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *parts, jsonArray(spec, "pretokenizers"));
    for (const nlohmann::json &part : *parts)
      FUSEC_RETURN_IF_ERROR(append(part, depth + 1));
    return {};
  }
  if (type == "Whitespace") {
    FUSEC_ASSIGN_OR_RETURN(Regex words, Regex::compile(kWordsAndSymbols));
    steps.push_back({.kind = Kind::Split, .pattern = std::move(words), .behavior = Behavior::Removed, .invert = true});
    return {};
  }
  if (type == "WhitespaceSplit") {
    steps.push_back({.kind = Kind::Split, .characterClass = isWhitespace, .behavior = Behavior::Removed});
    return {};
  }
  using Appender = Status (PreTokenizer::*)(const nlohmann::json &);
  struct Row {
    std::string_view type;
    Appender append;
  };
  static constexpr std::array<Row, 5> kRows{{{"Split", &PreTokenizer::appendSplit},
                                             {"Digits", &PreTokenizer::appendDigits},
                                             {"Punctuation", &PreTokenizer::appendPunctuation},
                                             {"ByteLevel", &PreTokenizer::appendByteLevel},
                                             {"Metaspace", &PreTokenizer::appendMetaspace}}};
  for (const Row &row : kRows)
    if (row.type == type)
      return (this->*row.append)(spec).withContext("pre_tokenizer " + type);
  return unsupported("pre_tokenizer: type '" + type + "' is not supported");
}

Result<PreTokenizer::Behavior> PreTokenizer::parseBehavior(const nlohmann::json &spec, const char *fallback) {
  FUSEC_ASSIGN_OR_RETURN(std::string name, jsonStringOr(spec, "behavior", fallback));
  constexpr std::array<std::string_view, 5> kNames{"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                                   "Contiguous"};
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name)
      return static_cast<Behavior>(i);
  return unsupported("behavior '" + name + "' is not supported");
}

Status PreTokenizer::appendSplit(const nlohmann::json &spec) {
  FUSEC_ASSIGN_OR_RETURN(Regex pattern, parsePattern(spec, "pattern"));
  FUSEC_ASSIGN_OR_RETURN(Behavior behavior, parseBehavior(spec, "Isolated"));
  FUSEC_ASSIGN_OR_RETURN(bool invert, jsonBoolOr(spec, "invert", false));
  steps.push_back({.kind = Kind::Split, .pattern = std::move(pattern), .behavior = behavior, .invert = invert});
  return {};
}

Status PreTokenizer::appendDigits(const nlohmann::json &spec) {
  FUSEC_ASSIGN_OR_RETURN(bool individual, jsonBoolOr(spec, "individual_digits", false));
  Behavior behavior = individual ? Behavior::Isolated : Behavior::Contiguous;
  steps.push_back({.kind = Kind::Split, .characterClass = isNumeric, .behavior = behavior});
  return {};
}

Status PreTokenizer::appendPunctuation(const nlohmann::json &spec) {
  FUSEC_ASSIGN_OR_RETURN(Behavior behavior, parseBehavior(spec, "Isolated"));
  steps.push_back({.kind = Kind::Split, .characterClass = isPunctuation, .behavior = behavior});
  return {};
}

Status PreTokenizer::appendByteLevel(const nlohmann::json &spec) {
  if (byteLevel)
    return unsupported("more than one ByteLevel");
  FUSEC_ASSIGN_OR_RETURN(bool addPrefixSpace, jsonBoolOr(spec, "add_prefix_space", true));
  FUSEC_ASSIGN_OR_RETURN(bool useRegex, jsonBoolOr(spec, "use_regex", true));
  byteLevel = true;
  steps.push_back({.kind = Kind::ByteLevel, .addPrefixSpace = addPrefixSpace});
  if (useRegex) {
    FUSEC_ASSIGN_OR_RETURN(Regex words, Regex::compile(kGpt2Words));
    steps.back().pattern = std::move(words);
  }
  return {};
}

Status PreTokenizer::appendMetaspace(const nlohmann::json &spec) {
  FUSEC_ASSIGN_OR_RETURN(std::string replacement, jsonString(spec, "replacement"));
  if (replacement.empty() || decodeUtf8(replacement, 0).length != replacement.size())
    return invalidArgument("'replacement': expected one character, found '" + replacement + "'");
  FUSEC_ASSIGN_OR_RETURN(bool addPrefix, jsonBoolOr(spec, "add_prefix_space", true));
  FUSEC_ASSIGN_OR_RETURN(std::string scheme, jsonStringOr(spec, "prepend_scheme", addPrefix ? "always" : "never"));
  if (scheme != "always" && scheme != "first" && scheme != "never")
    return unsupported("prepend_scheme '" + scheme + "' is not supported");
  FUSEC_ASSIGN_OR_RETURN(bool cut, jsonBoolOr(spec, "split", true));
  Step step{.kind = Kind::Metaspace, .behavior = Behavior::MergedWithNext, .replacement = replacement};
  step.prependScheme = scheme == "always"  ? PrependScheme::Always
                       : scheme == "first" ? PrependScheme::First
                                           : PrependScheme::Never;
  if (cut) {
    FUSEC_ASSIGN_OR_RETURN(Regex pattern, Regex::literal(replacement));
    step.pattern = std::move(pattern);
  }
  steps.push_back(std::move(step));
  return {};
}

} // namespace fusec::text
