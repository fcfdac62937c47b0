//===- Utf8.h - decoding UTF-8 without trusting it -------------------------===//
//
// Ill-formed input follows the Unicode/WHATWG practice: each maximal prefix of
// a character, or else each single byte, counts as one U+FFFD.
//
// Threading: pure functions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fusec::text {

/// A half-open byte range of some text.
struct TextRange {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const TextRange &) const = default;
};

struct CodePoint {
  char32_t value; ///< U+FFFD unless valid.
  uint8_t length; ///< Bytes consumed, at least 1.
  bool valid;
  bool truncated; ///< Invalid only because the text ends inside the character.
};

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// Decodes the character at byte `at` (at < text.size()).
CodePoint decodeUtf8(std::string_view text, size_t at);

/// Length in bytes that the lead byte of a valid character announces.
inline size_t utf8Length(char lead) {
  auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

void appendUtf8(std::string &out, char32_t codePoint);

bool isValidUtf8(std::string_view text);

/// `text` with every ill-formed sequence replaced by U+FFFD.
std::string replaceInvalidUtf8(std::string_view text);

/// Character classes as Rust's `char` and Oniguruma's Unicode tables have them.
bool isWhitespace(char32_t c);    ///< Property White_Space.
bool isNumeric(char32_t c);       ///< Categories Nd, Nl, No.
bool isPunctuation(char32_t c);   ///< ASCII punctuation or categories P*.
bool isWordCharacter(char32_t c); ///< Letters, marks, decimal digits, connectors.

} // namespace fusec::text
