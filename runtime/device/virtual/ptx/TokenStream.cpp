//===- TokenStream.cpp - literals of PTX -------------------------------------===//

#include "runtime/device/virtual/ptx/TokenStream.h"

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>

namespace fusec::virtualgpu::ptx {
namespace {

Status badNumber(const Token &token) {
  return corruptData("PTX line " + std::to_string(token.line) + ": cannot read the number '" + std::string(token.text) +
                     "'");
}

/// 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX: the bits of a float or double.
Result<Number> parseBits(const Token &token, bool isDouble) {
  std::string_view digits = token.text.substr(2);
  uint64_t bits = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.size() != (isDouble ? 16u : 8u))
    return badNumber(token);
  Number number{.isFloat = true, .doubleBits = isDouble};
  number.floating = isDouble ? std::bit_cast<double>(bits) : std::bit_cast<float>(static_cast<uint32_t>(bits));
  number.integer = static_cast<int64_t>(bits);
  return number;
}

} // namespace

Result<Number> parseNumber(const Token &token) {
  std::string_view text = token.text;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'f' || text[1] == 'F'))
    return parseBits(token, false);
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'd' || text[1] == 'D'))
    return parseBits(token, true);
  if (text.find('.') != std::string_view::npos)
    return Number{.isFloat = true, .doubleBits = true, .floating = std::strtod(std::string(text).c_str(), nullptr)};
  if (text.ends_with('U'))
    text.remove_suffix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    bool prefixed = text[1] == 'x' || text[1] == 'X' || text[1] == 'b' || text[1] == 'B';
    base = text[1] == 'x' || text[1] == 'X' ? 16 : prefixed ? 2 : 8;
    text.remove_prefix(prefixed ? 2 : 1);
  }
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size())
    return badNumber(token);
  return Number{.integer = static_cast<int64_t>(value)};
}

} // namespace fusec::virtualgpu::ptx
