//===- Decimal.h - exact decimal numbers -----------------------------------===//
//
// Bounds of JSON schemas, compared without rounding.
//
//   std::optional<Decimal> bound = Decimal::parse("-12.50e1");   // -125
//
// Threading: values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace fusec::grammar::json {

struct Decimal {
  bool negative = false; ///< Never of zero.
  std::string whole;     ///< Digits before the point without leading zeros; empty: 0.
  std::string fraction;  ///< Digits after the point without trailing zeros.

  /// A JSON number. nullopt when it is none or has more than 1000 digits written out.
  static std::optional<Decimal> parse(std::string_view text);

  bool isZero() const { return whole.empty() && fraction.empty(); }
  bool isInteger() const { return fraction.empty(); }
  std::string text() const;
  bool operator==(const Decimal &) const = default;
  std::strong_ordering operator<=>(const Decimal &other) const;
};

} // namespace fusec::grammar::json
