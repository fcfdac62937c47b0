//===- Unicode.h - code points of UTF-8 text, as Python's str sees them ------===//
//
// Decoding, classes and case mapping with the meaning of Python's str methods.
// Bytes that are not valid UTF-8 count as one character each, so no input can
// make a scan stop or leave the text.
//
// Threading: pure functions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fusec::text::jinja {

/// One decoded character: its value and the bytes it takes. An invalid byte has
/// `valid == false`, length 1 and the byte as value.
struct CodePoint {
  char32_t value = 0;
  uint32_t length = 1;
  bool valid = true;
};

/// The character that starts at byte `pos` (`pos < text.size()`).
CodePoint decodeAt(std::string_view text, size_t pos);
/// Appends `value` as UTF-8; surrogates and values above U+10FFFF become U+FFFD.
void appendUtf8(char32_t value, std::string &out);
/// Number of characters in `text`.
size_t countCodePoints(std::string_view text);
bool isAscii(std::string_view text);
bool isValidUtf8(std::string_view text);

/// Python's str.isspace, isprintable, isalpha, isdigit, isupper, islower on one character.
bool isSpace(char32_t c);
bool isPrintable(char32_t c);
bool isAlpha(char32_t c);
bool isDigit(char32_t c);
bool isNumeric(char32_t c);
bool isUpper(char32_t c);
bool isLower(char32_t c);
inline bool isCased(char32_t c) { return isUpper(c) || isLower(c); }

enum class CaseMap { Lower, Title, Upper };
/// Appends the case-mapped form of `c` (one to three characters) to `out`.
void appendCaseMapped(char32_t c, CaseMap map, std::string &out);

} // namespace fusec::text::jinja
