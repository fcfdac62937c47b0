//===- Unicode.cpp - code points of UTF-8 text, as Python's str sees them ----===//
#include "runtime/text/jinja/Unicode.h"

#include <algorithm>
#include <iterator>
#include <utf8proc.h>

namespace fusec::text::jinja {

namespace {

struct SpecialCase {
  char32_t value;
  const char *lower, *title, *upper;
};
constexpr SpecialCase kSpecialCases[] = {
#define FUSEC_SPECIAL_CASE(value, lower, title, upper) {value, lower, title, upper},
#include "runtime/text/jinja/SpecialCasing.def"
#undef FUSEC_SPECIAL_CASE
};

const SpecialCase *findSpecialCase(char32_t c) {
  const SpecialCase *row = std::lower_bound(std::begin(kSpecialCases), std::end(kSpecialCases), c,
                                            [](const SpecialCase &s, char32_t v) { return s.value < v; });
  return row != std::end(kSpecialCases) && row->value == c ? row : nullptr;
}

utf8proc_category_t categoryOf(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool isContinuation(unsigned char c) { return (c & 0xC0) == 0x80; }

/// Bytes a lead byte announces; 0 for a byte that cannot lead.
uint32_t sequenceLength(unsigned char lead) {
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead < 0xE0)
    return 2;
  if (lead >= 0xE0 && lead < 0xF0)
    return 3;
  if (lead >= 0xF0 && lead < 0xF5)
    return 4;
  return 0;
}

} // namespace

CodePoint decodeAt(std::string_view text, size_t pos) {
  auto lead = static_cast<unsigned char>(text[pos]);
  const CodePoint invalid{lead, 1, false};
  uint32_t length = sequenceLength(lead);
  if (length == 1)
    return {lead, 1, true};
  if (length == 0 || length > text.size() - pos)
    return invalid;
  char32_t value = lead & (0xFF >> (length + 1));
  for (uint32_t i = 1; i < length; ++i) {
    auto next = static_cast<unsigned char>(text[pos + i]);
    if (!isContinuation(next))
      return invalid;
    value = (value << 6) | (next & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = value >= 0xD800 && value < 0xE000;
  if (value < kSmallest[length] || value > 0x10FFFF || surrogate)
    return invalid;
  return {value, length, true};
}

void appendUtf8(char32_t c, std::string &out) {
  if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
    c = 0xFFFD;
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  int continuation = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr unsigned char kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kLead[continuation] | (c >> (6 * continuation)));
  for (int i = continuation - 1; i >= 0; --i)
    out += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3F));
}

bool isAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

size_t countCodePoints(std::string_view text) {
  size_t count = 0;
  for (size_t pos = 0; pos < text.size(); ++count)
    pos += decodeAt(text, pos).length;
  return count;
}

bool isValidUtf8(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    CodePoint c = decodeAt(text, pos);
    if (!c.valid)
      return false;
    pos += c.length;
  }
  return true;
}

bool isSpace(char32_t c) {
  if (c < 0x80)
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool isPrintable(char32_t c) {
  if (c < 0x80)
    return c >= 0x20 && c < 0x7F;
  switch (categoryOf(c)) {
  case UTF8PROC_CATEGORY_CN:
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_CS:
  case UTF8PROC_CATEGORY_CO:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
  case UTF8PROC_CATEGORY_ZS:
    return false;
  default:
    return true;
  }
}

bool isAlpha(char32_t c) {
  utf8proc_category_t category = categoryOf(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}
bool isDigit(char32_t c) { return categoryOf(c) == UTF8PROC_CATEGORY_ND; }
bool isNumeric(char32_t c) {
  utf8proc_category_t category = categoryOf(c);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}
bool isUpper(char32_t c) { return categoryOf(c) == UTF8PROC_CATEGORY_LU; }
bool isLower(char32_t c) { return categoryOf(c) == UTF8PROC_CATEGORY_LL; }

void appendCaseMapped(char32_t c, CaseMap map, std::string &out) {
  if (const SpecialCase *row = c < 0x80 ? nullptr : findSpecialCase(c)) {
    out += map == CaseMap::Lower ? row->lower : map == CaseMap::Title ? row->title : row->upper;
    return;
  }
  auto value = static_cast<utf8proc_int32_t>(c);
  utf8proc_int32_t mapped = map == CaseMap::Lower   ? utf8proc_tolower(value)
                            : map == CaseMap::Title ? utf8proc_totitle(value)
                                                    : utf8proc_toupper(value);
  appendUtf8(static_cast<char32_t>(mapped), out);
}

} // namespace fusec::text::jinja
