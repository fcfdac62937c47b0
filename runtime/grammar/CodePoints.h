//===- CodePoints.h - sets of characters -----------------------------------===//
//
//   CodePoints vowels = CodePoints::of('a').add('e', 'e');
//   CodePoints rest = vowels.complement();          // within 0 ... 10FFFF without surrogates
//
// Threading: values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace fusec::grammar {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;
inline constexpr char32_t kFirstSurrogate = 0xD800;
inline constexpr char32_t kLastSurrogate = 0xDFFF;

class CodePoints {
public:
  struct Range {
    char32_t low, high; ///< Inclusive.
    bool operator==(const Range &) const = default;
  };

  static CodePoints of(char32_t point) { return CodePoints().add(point, point); }
  static CodePoints range(char32_t low, char32_t high) { return CodePoints().add(low, high); }
  static CodePoints all() { return CodePoints().add(0, kLastCodePoint); }

  /// Surrogates are left out: they are no characters.
  CodePoints &add(char32_t low, char32_t high);
  CodePoints &add(const CodePoints &other);
  CodePoints complement() const;

  bool contains(char32_t point) const;
  bool empty() const { return ranges().empty(); }
  /// Sorted, disjoint, not adjacent.
  const std::vector<Range> &ranges() const;
  bool operator==(const CodePoints &other) const { return ranges() == other.ranges(); }

  /// \d, \w and \s as ECMA-262 defines them (`letter`: d, w or s).
  static std::optional<CodePoints> escapeClass(char letter);
  /// By general category ("L", "Lu", "Letter", ...); nullopt for an unknown name.
  static std::optional<CodePoints> category(std::string_view name);

private:
  mutable std::vector<Range> list;
  mutable bool sorted = true;
};

} // namespace fusec::grammar
