//===- Decimal.cpp - exact decimal numbers ---------------------------------===//
#include "runtime/grammar/json/Decimal.h"

#include <algorithm>

namespace fusec::grammar::json {

namespace {

constexpr long kMaxDigits = 1000;

std::string_view takeDigits(std::string_view &text) {
  size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

bool take(std::string_view &text, std::string_view anyOf) {
  if (text.empty() || anyOf.find(text.front()) == std::string_view::npos)
    return false;
  text.remove_prefix(1);
  return true;
}

/// nullopt: out of range or not an exponent.
std::optional<long> takeExponent(std::string_view &text) {
  if (!take(text, "eE"))
    return 0;
  bool minus = !text.empty() && text.front() == '-';
  take(text, "+-");
  std::string_view digits = takeDigits(text);
  if (digits.empty() || digits.size() > 4)
    return std::nullopt;
  long value = std::stol(std::string(digits));
  return minus ? -value : value;
}

std::strong_ordering compareMagnitude(const Decimal &a, const Decimal &b) {
  if (a.whole.size() != b.whole.size())
    return a.whole.size() <=> b.whole.size();
  int whole = a.whole.compare(b.whole);
  return (whole != 0 ? whole : a.fraction.compare(b.fraction)) <=> 0;
}

} // namespace

std::optional<Decimal> Decimal::parse(std::string_view text) {
  Decimal result;
  result.negative = take(text, "-");
  std::string digits(takeDigits(text));
  auto point = static_cast<long>(digits.size());
  if (digits.empty())
    return std::nullopt;
  if (take(text, "."))
    digits += takeDigits(text);
  std::optional<long> exponent = takeExponent(text);
  if (!exponent || !text.empty() || digits.size() > kMaxDigits)
    return std::nullopt;
  point += *exponent;
  if (digits.find_first_not_of('0') == std::string::npos)
    return Decimal();
  if (point > kMaxDigits || point < -kMaxDigits)
    return std::nullopt;
  if (point < 0)
    digits.insert(0, static_cast<size_t>(-point), '0');
  else if (point > static_cast<long>(digits.size()))
    digits.append(static_cast<size_t>(point) - digits.size(), '0');
  point = std::max(point, 0l);
  result.whole = digits.substr(0, static_cast<size_t>(point));
  result.fraction = digits.substr(static_cast<size_t>(point));
  result.whole.erase(0, std::min(result.whole.find_first_not_of('0'), result.whole.size()));
  result.fraction.erase(result.fraction.find_last_not_of('0') + 1);
  return result;
}

std::string Decimal::text() const {
  return (negative ? "-" : "") + (whole.empty() ? "0" : whole) + (fraction.empty() ? "" : "." + fraction);
}

std::strong_ordering Decimal::operator<=>(const Decimal &other) const {
  if (negative != other.negative)
    return negative ? std::strong_ordering::less : std::strong_ordering::greater;
  return negative ? compareMagnitude(other, *this) : compareMagnitude(*this, other);
}

} // namespace fusec::grammar::json
