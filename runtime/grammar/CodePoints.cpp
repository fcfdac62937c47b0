//===- CodePoints.cpp - sets of characters ---------------------------------===//
#include "runtime/grammar/CodePoints.h"

#include <algorithm>
#include <utf8proc.h>

namespace fusec::grammar {

namespace {

/// A general category: its short and long name, and utf8proc's categories it covers.
struct Category {
  std::string_view shortName, longName;
  uint32_t mask;
};

template <typename... Kinds> constexpr uint32_t maskOf(Kinds... kinds) { return ((1u << kinds) | ...); }

constexpr uint32_t kLetters = maskOf(UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LT,
                                     UTF8PROC_CATEGORY_LM, UTF8PROC_CATEGORY_LO);
constexpr uint32_t kMarks = maskOf(UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_MC, UTF8PROC_CATEGORY_ME);
constexpr uint32_t kNumbers = maskOf(UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NL, UTF8PROC_CATEGORY_NO);
constexpr uint32_t kPunctuation =
    maskOf(UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PD, UTF8PROC_CATEGORY_PS, UTF8PROC_CATEGORY_PE, UTF8PROC_CATEGORY_PI,
           UTF8PROC_CATEGORY_PF, UTF8PROC_CATEGORY_PO);
constexpr uint32_t kSymbols =
    maskOf(UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SC, UTF8PROC_CATEGORY_SK, UTF8PROC_CATEGORY_SO);
constexpr uint32_t kSeparators = maskOf(UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZL, UTF8PROC_CATEGORY_ZP);

constexpr Category kCategories[] = {
    {"L", "Letter", kLetters},
    {"Lu", "Uppercase_Letter", maskOf(UTF8PROC_CATEGORY_LU)},
    {"Ll", "Lowercase_Letter", maskOf(UTF8PROC_CATEGORY_LL)},
    {"Lt", "Titlecase_Letter", maskOf(UTF8PROC_CATEGORY_LT)},
    {"Lm", "Modifier_Letter", maskOf(UTF8PROC_CATEGORY_LM)},
    {"Lo", "Other_Letter", maskOf(UTF8PROC_CATEGORY_LO)},
    {"M", "Mark", kMarks},
    {"N", "Number", kNumbers},
    {"Nd", "Decimal_Number", maskOf(UTF8PROC_CATEGORY_ND)},
    {"digit", "digit", maskOf(UTF8PROC_CATEGORY_ND)},
    {"P", "Punctuation", kPunctuation},
    {"S", "Symbol", kSymbols},
    {"Z", "Separator", kSeparators},
    {"Zs", "Space_Separator", maskOf(UTF8PROC_CATEGORY_ZS)},
};

} // namespace

CodePoints &CodePoints::add(char32_t low, char32_t high) {
  high = std::min(high, kLastCodePoint);
  if (low > high)
    return *this;
  if (!list.empty() && sorted && low == list.back().high + 1 && low != kFirstSurrogate && high < kFirstSurrogate) {
    list.back().high = high; // In order, as the tables below add them.
    return *this;
  }
  if (low < kFirstSurrogate && high >= kFirstSurrogate)
    list.push_back({low, kFirstSurrogate - 1});
  else if (low < kFirstSurrogate)
    list.push_back({low, high});
  if (high > kLastSurrogate)
    list.push_back({std::max<char32_t>(low, kLastSurrogate + 1), high});
  sorted = false;
  return *this;
}

CodePoints &CodePoints::add(const CodePoints &other) {
  list.insert(list.end(), other.list.begin(), other.list.end());
  sorted = false;
  return *this;
}

const std::vector<CodePoints::Range> &CodePoints::ranges() const {
  if (sorted)
    return list;
  std::sort(list.begin(), list.end(), [](const Range &a, const Range &b) { return a.low < b.low; });
  std::vector<Range> merged;
  for (const Range &range : list)
    if (!merged.empty() && range.low <= merged.back().high + 1)
      merged.back().high = std::max(merged.back().high, range.high);
    else
      merged.push_back(range);
  list = std::move(merged);
  sorted = true;
  return list;
}

CodePoints CodePoints::complement() const {
  CodePoints result;
  char32_t next = 0;
  for (const Range &range : ranges()) {
    if (range.low > next)
      result.add(next, range.low - 1);
    next = range.high + 1;
  }
  if (next <= kLastCodePoint)
    result.add(next, kLastCodePoint);
  return result;
}

bool CodePoints::contains(char32_t point) const {
  return std::any_of(ranges().begin(), ranges().end(),
                     [&](const Range &range) { return point >= range.low && point <= range.high; });
}

std::optional<CodePoints> CodePoints::escapeClass(char letter) {
  switch (letter) {
  case 'd':
    return range('0', '9');
  case 'w':
    return range('0', '9').add('A', 'Z').add('a', 'z').add('_', '_');
  case 's': // WhiteSpace and LineTerminator.
    return range('\t', '\r')
        .add(' ', ' ')
        .add(0xA0, 0xA0)
        .add(0x1680, 0x1680)
        .add(0x2000, 0x200A)
        .add(0x2028, 0x2029)
        .add(0x202F, 0x202F)
        .add(0x205F, 0x205F)
        .add(0x3000, 0x3000)
        .add(0xFEFF, 0xFEFF);
  default:
    return std::nullopt;
  }
}

std::optional<CodePoints> CodePoints::category(std::string_view name) {
  // One pass over all characters for every category, once: an expression may name many.
  static const std::vector<CodePoints> sets = [] {
    std::vector<CodePoints> all(std::size(kCategories));
    for (char32_t point = 0; point <= kLastCodePoint; ++point)
      for (size_t i = 0; i < all.size(); ++i)
        if (kCategories[i].mask >> utf8proc_category(static_cast<utf8proc_int32_t>(point)) & 1)
          all[i].add(point, point);
    for (const CodePoints &set : all)
      (void)set.ranges(); // Sorted now: later reads come from many threads.
    return all;
  }();
  for (size_t i = 0; i < sets.size(); ++i)
    if (name == kCategories[i].shortName || name == kCategories[i].longName)
      return sets[i];
  return std::nullopt;
}

} // namespace fusec::grammar
