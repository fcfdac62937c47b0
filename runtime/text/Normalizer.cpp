//===- Normalizer.cpp - text clean-up before tokenization ------------------===//
#include "runtime/text/Normalizer.h"

#include "runtime/base/Json.h"
#include "runtime/text/Utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace fusec::text {

namespace {

constexpr int kMaxDepth = 16;

bool isAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Result<std::string> unicodeNormalForm(const std::string &text, int form) {
  if (isAscii(text))
    return text;
  utf8proc_uint8_t *mapped = nullptr;
  utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &mapped, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | form));
  if (length < 0)
    return internalError(std::string("Unicode normalization: ") + utf8proc_errmsg(length));
  std::string out(reinterpret_cast<const char *>(mapped), static_cast<size_t>(length));
  std::free(mapped);
  return out;
}

std::string lowercase(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    CodePoint c = decodeUtf8(text, at);
    at += c.length;
    if (c.value == 0x130)
      out += "i\xCC\x87"; // The one character whose full lower case is two.
    else
      appendUtf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.value))));
  }
  return out;
}

std::string stripAccents(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    CodePoint c = decodeUtf8(text, at);
    if (utf8proc_category(static_cast<utf8proc_int32_t>(c.value)) != UTF8PROC_CATEGORY_MN)
      out += text.substr(at, c.length);
    at += c.length;
  }
  return out;
}

std::string strip(std::string_view text, bool left, bool right) {
  size_t begin = text.size(), end = 0;
  for (size_t at = 0; at < text.size();) {
    CodePoint c = decodeUtf8(text, at);
    if (!isWhitespace(c.value)) {
      begin = std::min(begin, at);
      end = at + c.length;
    }
    at += c.length;
  }
  begin = left ? begin : 0;
  end = right ? end : text.size();
  return begin < end ? std::string(text.substr(begin, end - begin)) : std::string();
}

Result<std::string> replaceAll(const Regex &pattern, const std::string &content, const std::string &text) {
  std::vector<TextRange> matches;
  RegexScanner scanner(pattern);
  FUSEC_RETURN_IF_ERROR(scanner.findAll(text, matches));
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  for (const TextRange &match : matches) {
    out.append(text, at, match.begin - at);
    out += content;
    at = match.end;
  }
  return out.append(text, at);
}

} // namespace

Result<Regex> parsePattern(const nlohmann::json &owner, std::string_view what) {
  std::string where(what);
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *pattern, jsonObject(owner, "pattern"));
  bool isRegex = pattern->contains("Regex");
  FUSEC_ASSIGN_OR_RETURN(std::string source, jsonString(*pattern, isRegex ? "Regex" : "String"));
  if (source.empty())
    return invalidArgument(where + ": empty pattern");
  Result<Regex> regex = isRegex ? Regex::compile(source) : Regex::literal(source);
  if (!regex)
    return regex.status().withContext(where);
  return regex;
}

Result<Normalizer> Normalizer::parse(const nlohmann::json *spec) {
  Normalizer normalizer;
  if (spec != nullptr)
    FUSEC_RETURN_IF_ERROR(normalizer.append(*spec, 0));
  return normalizer;
}

Status Normalizer::append(const nlohmann::json &spec, int depth) {
  if (depth > kMaxDepth)
    return unsupported("normalizer: nested deeper than " + std::to_string(kMaxDepth));
  FUSEC_ASSIGN_OR_RETURN(std::string type, jsonString(spec, "type"));
  if (type == "Sequence") {
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *parts, jsonArray(spec, "normalizers"));
    for (const nlohmann::json &part : *parts)
      FUSEC_RETURN_IF_ERROR(append(part, depth + 1));
    return {};
  }
  if (type == "Prepend") {
    FUSEC_ASSIGN_OR_RETURN(std::string content, jsonString(spec, "prepend"));
    steps.push_back({Kind::Prepend, std::move(content)});
    return {};
  }
  if (type == "Replace")
    return appendReplace(spec);
  if (type == "Strip")
    return appendStrip(spec);
  struct Plain {
    std::string_view name;
    Kind kind;
  };
  constexpr std::array<Plain, 6> kPlain{{{"NFC", Kind::Nfc},
                                         {"NFD", Kind::Nfd},
                                         {"NFKC", Kind::Nfkc},
                                         {"NFKD", Kind::Nfkd},
                                         {"Lowercase", Kind::Lowercase},
                                         {"StripAccents", Kind::StripAccents}}};
  for (const Plain &plain : kPlain)
    if (plain.name == type) {
      steps.push_back({plain.kind, {}});
      return {};
    }
  return unsupported("normalizer: type '" + type + "' is not supported");
}

Status Normalizer::appendReplace(const nlohmann::json &spec) {
  FUSEC_ASSIGN_OR_RETURN(Regex pattern, parsePattern(spec, "normalizer Replace"));
  FUSEC_ASSIGN_OR_RETURN(std::string content, jsonString(spec, "content"));
  steps.push_back({Kind::Replace, std::move(content), std::move(pattern)});
  return {};
}

Status Normalizer::appendStrip(const nlohmann::json &spec) {
  FUSEC_ASSIGN_OR_RETURN(bool left, jsonBoolOr(spec, "strip_left", true));
  FUSEC_ASSIGN_OR_RETURN(bool right, jsonBoolOr(spec, "strip_right", true));
  steps.push_back({Kind::Strip, {}, std::nullopt, left, right});
  return {};
}

Result<std::string> Normalizer::applyStep(const Step &step, std::string text) {
  switch (step.kind) {
  case Kind::Nfc:
    return unicodeNormalForm(text, UTF8PROC_COMPOSE);
  case Kind::Nfd:
    return unicodeNormalForm(text, UTF8PROC_DECOMPOSE);
  case Kind::Nfkc:
    return unicodeNormalForm(text, UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
  case Kind::Nfkd:
    return unicodeNormalForm(text, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  case Kind::Lowercase:
    return lowercase(text);
  case Kind::StripAccents:
    return stripAccents(text);
  case Kind::Strip:
    return strip(text, step.stripLeft, step.stripRight);
  case Kind::Prepend:
    return text.empty() ? text : step.content + text;
  case Kind::Replace:
    return replaceAll(*step.pattern, step.content, text);
  }
  return internalError("normalizer: unknown step");
}

Result<std::string> Normalizer::apply(std::string_view text) const {
  std::string current(text);
  for (const Step &step : steps) {
    FUSEC_ASSIGN_OR_RETURN(current, applyStep(step, std::move(current)));
  }
  return current;
}

} // namespace fusec::text
