//===- Utf8.cpp - decoding UTF-8 without trusting it -----------------------===//
#include "runtime/text/Utf8.h"

#include <utf8proc.h>

#include <cstring>

namespace fusec::text {

namespace {

/// What a lead byte allows: total length and the range of the second byte,
/// which excludes overlong forms, surrogates and values above U+10FFFF.
struct LeadByte {
  uint8_t length;
  uint8_t secondMin;
  uint8_t secondMax;
};

LeadByte classifyLead(unsigned char lead) {
  if (lead < 0x80)
    return {1, 0, 0};
  if (lead < 0xC2)
    return {0, 0, 0};
  if (lead < 0xE0)
    return {2, 0x80, 0xBF};
  if (lead < 0xF0)
    return {3, static_cast<uint8_t>(lead == 0xE0 ? 0xA0 : 0x80), static_cast<uint8_t>(lead == 0xED ? 0x9F : 0xBF)};
  if (lead < 0xF5)
    return {4, static_cast<uint8_t>(lead == 0xF0 ? 0x90 : 0x80), static_cast<uint8_t>(lead == 0xF4 ? 0x8F : 0xBF)};
  return {0, 0, 0};
}

constexpr char32_t kInvalid = 0xFFFD;

} // namespace

CodePoint decodeUtf8(std::string_view text, size_t at) {
  auto lead = static_cast<unsigned char>(text[at]);
  LeadByte form = classifyLead(lead);
  if (form.length == 1)
    return {lead, 1, true, false};
  if (form.length == 0)
    return {kInvalid, 1, false, false};
  char32_t value = lead & (0xFFu >> (form.length + 1));
  for (uint8_t i = 1; i < form.length; ++i) {
    if (at + i >= text.size())
      return {kInvalid, i, false, true};
    auto byte = static_cast<unsigned char>(text[at + i]);
    uint8_t low = i == 1 ? form.secondMin : 0x80, high = i == 1 ? form.secondMax : 0xBF;
    if (byte < low || byte > high)
      return {kInvalid, i, false, false};
    value = (value << 6) | (byte & 0x3F);
  }
  return {value, form.length, true, false};
}

void appendUtf8(std::string &out, char32_t c) {
  auto push = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    push(c);
  } else if (c < 0x800) {
    push(0xC0 | (c >> 6));
    push(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    push(0xE0 | (c >> 12));
    push(0x80 | ((c >> 6) & 0x3F));
    push(0x80 | (c & 0x3F));
  } else {
    push(0xF0 | (c >> 18));
    push(0x80 | ((c >> 12) & 0x3F));
    push(0x80 | ((c >> 6) & 0x3F));
    push(0x80 | (c & 0x3F));
  }
}

bool isValidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    CodePoint c = decodeUtf8(text, at);
    if (!c.valid)
      return false;
    at += c.length;
  }
  return true;
}

std::string replaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    CodePoint c = decodeUtf8(text, at);
    out += c.valid ? text.substr(at, c.length) : kReplacementCharacter;
    at += c.length;
  }
  return out;
}

bool isWhitespace(char32_t c) {
  if (c < 0x80)
    return c == ' ' || (c >= '\t' && c <= '\r');
  utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return c == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool isNumeric(char32_t c) {
  if (c < 0x80)
    return c >= '0' && c <= '9';
  utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool isPunctuation(char32_t c) {
  if (c < 0x80)
    return c > ' ' && c < 0x7F && std::strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", static_cast<int>(c)) != nullptr;
  utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool isWordCharacter(char32_t c) {
  utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) || category == UTF8PROC_CATEGORY_PC;
}

} // namespace fusec::text
