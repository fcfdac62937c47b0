//===- NumberParsing.cpp - int(text) and float(text) as Python reads them ----===//
#include "runtime/text/jinja/NumberParsing.h"

#include <charconv>
#include <cmath>
#include <string>

namespace fusec::text::jinja {

namespace {

bool isAlnum(char c) { return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'); }

/// Trims whitespace, takes the sign, drops underscores that stand between digits.
struct Cleaned {
  std::string digits;
  bool negative = false;
};
std::optional<Cleaned> clean(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos)
    return std::nullopt;
  text = text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
  Cleaned out;
  out.negative = text[0] == '-';
  if (text[0] == '-' || text[0] == '+')
    text.remove_prefix(1);
  for (size_t i = 0; i < text.size(); ++i) {
    bool between = i > 0 && i + 1 < text.size() && isAlnum(text[i - 1]) && isAlnum(text[i + 1]);
    if (text[i] == '_' && !between)
      return std::nullopt;
    if (text[i] != '_')
      out.digits += text[i];
  }
  if (out.digits.empty() || out.digits[0] == '-' || out.digits[0] == '+')
    return std::nullopt;
  return out;
}

/// Takes "0x", "0o" or "0b" off when `base` allows it; base 0 takes the prefix's base.
int stripPrefix(std::string &digits, int base) {
  constexpr std::pair<char, int> kPrefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
  for (auto [letter, value] : kPrefixes) {
    bool prefixed = digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == letter;
    if (!prefixed || (base != 0 && base != value))
      continue;
    digits.erase(0, 2);
    return value;
  }
  return base == 0 ? 10 : base;
}

} // namespace

std::optional<int64_t> parsePythonInt(std::string_view text, int base) {
  auto cleaned = clean(text);
  if (!cleaned || base == 1 || base < 0 || base > 36)
    return std::nullopt;
  base = stripPrefix(cleaned->digits, base);
  std::string number = (cleaned->negative ? "-" : "") + cleaned->digits;
  int64_t value = 0;
  auto parsed = std::from_chars(number.data(), number.data() + number.size(), value, base);
  if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size())
    return std::nullopt;
  return value;
}

std::optional<double> parsePythonFloat(std::string_view text) {
  auto cleaned = clean(text);
  if (!cleaned)
    return std::nullopt;
  const std::string &digits = cleaned->digits;
  double value = 0;
  auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ptr != digits.data() + digits.size() || digits.find('(') != digits.npos)
    return std::nullopt;
  // Out of range: from_chars leaves the value alone, Python gives infinity or zero.
  if (parsed.ec == std::errc::result_out_of_range)
    value = std::strtod(digits.c_str(), nullptr);
  else if (parsed.ec != std::errc())
    return std::nullopt;
  return cleaned->negative ? -value : value;
}

} // namespace fusec::text::jinja
