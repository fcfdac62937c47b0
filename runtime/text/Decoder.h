//===- Decoder.h - the bytes each token stands for -------------------------===//
//
// The `decoder` object of tokenizer.json, reduced to what can be computed once
// per token (ByteLevel, Replace, ByteFallback, Metaspace) plus the number of
// leading spaces stripped at the start of a text (Strip, Metaspace). Decoders
// without that form are refused, because they could not stream.
//
// Threading: immutable after parse.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fusec::text {

/// The byte that a token spelled "<0xXX>" stands for.
std::optional<unsigned char> parseByteToken(std::string_view spelling);

class Decoder {
public:
  /// Null or absent: tokens are their spelling. `byteLevel`: the vocabulary is
  /// spelled in the byte-level alphabet (taken from the pre-tokenizer).
  static Result<Decoder> parse(const nlohmann::json *spec, bool byteLevel);

  std::string bytesOf(const std::string &spelling) const;
  int leadingSpacesStripped() const { return spacesStripped; }

private:
  Status append(const nlohmann::json &spec, int depth);
  Status appendStrip(const nlohmann::json &spec);
  Status appendMetaspace(const nlohmann::json &spec);

  bool byteLevel = false;
  bool byteFallback = false;
  std::vector<std::pair<std::string, std::string>> replacements;
  int spacesStripped = 0;
};

} // namespace fusec::text
