//===- Decoder.cpp - the bytes each token stands for -----------------------===//
#include "runtime/text/Decoder.h"

#include "runtime/base/Json.h"
#include "runtime/text/ByteLevel.h"

namespace fusec::text {

namespace {

constexpr int kMaxDepth = 16;

int hexValue(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return -1;
}

std::string replaceEach(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t at = 0;
  for (size_t hit; (hit = text.find(from, at)) != std::string_view::npos; at = hit + from.size()) {
    out += text.substr(at, hit - at);
    out += to;
  }
  return out += text.substr(at);
}

} // namespace

std::optional<unsigned char> parseByteToken(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>')
    return std::nullopt;
  int high = hexValue(spelling[3]), low = hexValue(spelling[4]);
  if (high < 0 || low < 0)
    return std::nullopt;
  return static_cast<unsigned char>(high * 16 + low);
}

Result<Decoder> Decoder::parse(const nlohmann::json *spec, bool byteLevel) {
  Decoder decoder;
  decoder.byteLevel = byteLevel;
  if (spec != nullptr)
    FUSEC_RETURN_IF_ERROR(decoder.append(*spec, 0));
  return decoder;
}

Status Decoder::append(const nlohmann::json &spec, int depth) {
  if (depth > kMaxDepth)
    return unsupported("decoder: nested deeper than " + std::to_string(kMaxDepth));
  FUSEC_ASSIGN_OR_RETURN(std::string type, jsonString(spec, "type"));
  if (type == "Sequence") {
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *parts, jsonArray(spec, "decoders"));
    for (const nlohmann::json &part : *parts)
      FUSEC_RETURN_IF_ERROR(append(part, depth + 1));
    return {};
  }
  if (type == "Replace") {
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *pattern, jsonObject(spec, "pattern"));
    FUSEC_ASSIGN_OR_RETURN(std::string from, jsonString(*pattern, "String"));
    FUSEC_ASSIGN_OR_RETURN(std::string to, jsonString(spec, "content"));
    if (from.empty())
      return invalidArgument("decoder Replace: empty pattern");
    replacements.emplace_back(std::move(from), std::move(to));
    return {};
  }
  if (type == "Strip")
    return appendStrip(spec);
  if (type == "Metaspace")
    return appendMetaspace(spec);
  if (type == "ByteLevel")
    byteLevel = true;
  else if (type == "ByteFallback")
    byteFallback = true;
  else if (type != "Fuse") // Joining is what we do anyway.
    return unsupported("decoder: type '" + type + "' is not supported");
  return {};
}

Status Decoder::appendStrip(const nlohmann::json &spec) {
  FUSEC_ASSIGN_OR_RETURN(std::string content, jsonStringOr(spec, "content", " "));
  FUSEC_ASSIGN_OR_RETURN(int64_t start, jsonIntOr(spec, "start", 0));
  FUSEC_ASSIGN_OR_RETURN(int64_t stop, jsonIntOr(spec, "stop", 0));
  if (content != " " || stop != 0 || start < 0 || start > 16)
    return unsupported("decoder Strip: only up to 16 leading spaces can be stripped");
  spacesStripped = static_cast<int>(start);
  return {};
}

Status Decoder::appendMetaspace(const nlohmann::json &spec) {
  FUSEC_ASSIGN_OR_RETURN(std::string replacement, jsonString(spec, "replacement"));
  FUSEC_ASSIGN_OR_RETURN(bool addPrefix, jsonBoolOr(spec, "add_prefix_space", true));
  FUSEC_ASSIGN_OR_RETURN(std::string scheme, jsonStringOr(spec, "prepend_scheme", addPrefix ? "always" : "never"));
  if (replacement.empty())
    return invalidArgument("decoder Metaspace: empty replacement");
  replacements.emplace_back(std::move(replacement), " ");
  spacesStripped = scheme == "never" ? 0 : 1;
  return {};
}

std::string Decoder::bytesOf(const std::string &spelling) const {
  std::string text = spelling;
  for (const auto &[from, to] : replacements)
    text = replaceEach(text, from, to);
  if (byteFallback)
    if (std::optional<unsigned char> byte = parseByteToken(text))
      return std::string(1, static_cast<char>(*byte));
  if (byteLevel)
    return alphabetToBytes(text).value_or(text);
  return text;
}

} // namespace fusec::text
