//===- RegexParser.cpp - the regular subset of regular expressions ---------===//
#include "runtime/grammar/RegexParser.h"

#include "runtime/grammar/PatternReader.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace fusec::grammar {

namespace {

/// Openings of groups that are refused, longest first.
struct RefusedGroup {
  std::string_view opening, what;
};
constexpr RefusedGroup kRefusedGroups[] = {
    {"?<=", "lookbehind"}, {"?<!", "lookbehind"},        {"?=", "lookahead"},
    {"?!", "lookahead"},   {"?>", "an atomic group"},    {"?P=", "a backreference"},
    {"?(", "a condition"}, {"?P>", "a recursive group"}, {"?R", "a recursive group"}};

struct ControlEscape {
  char letter;
  char32_t point;
};
constexpr ControlEscape kControlEscapes[] = {{'t', '\t'}, {'n', '\n'}, {'r', '\r'}, {'f', '\f'}, {'v', '\v'}};

class RegexParser final : PatternReader {
public:
  RegexParser(ExprPool &pool, std::string_view text, RegexAnchors anchors)
      : PatternReader(pool, text), anchors(anchors) {}

  ExprId parse() {
    if (!text::isValidUtf8(text))
      return fail("is not valid UTF-8");
    ExprId expr = alternatives(0);
    if (at < text.size())
      fail("unmatched ')'");
    return expr;
  }

private:
  std::string place() const override { return "regex column " + std::to_string(at + 1); }
  ExprId refuse(std::string_view what) {
    pool.budget.fail(unsupported(place() + ": " + std::string(what) + " is not supported"));
    return 0;
  }

  ExprId alternatives(int depth) {
    if (depth > pool.budget.limits.nesting)
      return fail("groups nest deeper than " + std::to_string(pool.budget.limits.nesting));
    std::vector<ExprId> parts;
    do
      parts.push_back(sequence(depth));
    while (good() && take("|"));
    return good() ? pool.choice(std::move(parts)) : 0;
  }

  ExprId sequence(int depth) {
    std::vector<ExprId> parts;
    if (anchors == RegexAnchors::AtEnds && depth == 0)
      take("^");
    while (more() && peek() != '|' && peek() != ')')
      if (peek() == '$' && anchors == RegexAnchors::AtEnds && depth == 0 && (at + 1 == text.size() || peek(1) == '|'))
        ++at;
      else
        parts.push_back(repeated(depth));
    return good() ? pool.sequence(std::move(parts)) : 0;
  }

  ExprId repeated(int depth) {
    ExprId expr = atom(depth);
    uint32_t min = 0, max = 0;
    while (more() && repetition(min, max)) {
      if (take("+"))
        return refuse("a possessive repetition");
      take("?"); // Lazy: the same texts match.
      expr = good() ? pool.repeat(expr, min, max) : 0;
    }
    return expr;
  }

  bool repetition(uint32_t &min, uint32_t &max) { return shortRepetition(min, max) || bounds(min, max); }

  bool bounds(uint32_t &min, uint32_t &max) {
    size_t begin = at;
    if (!take("{") || !number(min)) {
      at = begin; // A brace that opens no bounds is a character.
      return false;
    }
    max = min;
    if (take(",") && !number(max))
      max = kNone;
    if (!take("}")) {
      at = begin;
      return false;
    }
    if (max < min)
      fail("the bounds of a repetition are out of order");
    return true;
  }

  ExprId atom(int depth) {
    switch (peek()) {
    case '(':
      return group(depth);
    case '[':
      return pool.characters(bracket());
    case '.':
      ++at;
      return pool.characters(CodePoints::of('\n').add('\r', '\r').add(0x2028, 0x2029).complement());
    case '^':
    case '$':
      return anchor();
    case '*':
    case '+':
    case '?':
      return fail("nothing to repeat");
    case '\\':
      return pool.characters(escape(/*inBracket=*/false));
    default:
      return pool.characters(CodePoints::of(point()));
    }
  }

  ExprId anchor() {
    if (anchors == RegexAnchors::AtEnds)
      return refuse("an anchor elsewhere than at the ends of the expression");
    return pool.anchor(text[at++] == '^' ? ExprKind::Begin : ExprKind::End);
  }

  ExprId group(int depth) {
    ++at;
    for (const RefusedGroup &refused : kRefusedGroups)
      if (text.substr(at, refused.opening.size()) == refused.opening)
        return refuse(refused.what);
    if (take("?P<") || take("?<")) {
      size_t close = text.find('>', at);
      if (close == std::string_view::npos)
        return fail("the name of a group has no '>'");
      at = close + 1;
    } else if (!take("?:") && peek() == '?')
      return refuse("an inline flag");
    ExprId expr = alternatives(depth + 1);
    if (good() && !take(")"))
      return fail("missing ')'");
    return expr;
  }

  char32_t hex(size_t digits) { return static_cast<char32_t>(hexDigits(digits)); }

  char32_t unicodeEscape() {
    if (take("{")) {
      size_t close = text.find('}', at);
      if (close == std::string_view::npos || close == at || close - at > 6)
        return fail("expected one to six hexadecimal digits and '}'"), 0;
      char32_t value = hex(close - at);
      return ++at, value > kLastCodePoint ? (fail("a character above 10FFFF"), 0) : value;
    }
    char32_t high = hex(4);
    if (high < kFirstSurrogate || high > kLastSurrogate || !good())
      return high;
    if (high >= 0xDC00 || !take("\\u"))
      return fail("a surrogate without its pair"), 0;
    char32_t low = hex(4);
    if (low < 0xDC00 || low > kLastSurrogate)
      return fail("a surrogate without its pair"), 0;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  }

  CodePoints category(bool negated) {
    if (!take("{"))
      return fail("expected '{' after \\p"), CodePoints();
    size_t close = text.find('}', at);
    if (close == std::string_view::npos)
      return fail("\\p{ has no '}'"), CodePoints();
    std::string_view name = text.substr(at, close - at);
    for (std::string_view prefix : {"gc=", "General_Category="})
      if (name.starts_with(prefix))
        name.remove_prefix(prefix.size());
    std::optional<CodePoints> points = CodePoints::category(name);
    if (!points)
      return refuse("the property \\p{" + std::string(name) + "}"), CodePoints();
    at = close + 1;
    return negated ? points->complement() : *points;
  }

  /// After the backslash.
  CodePoints escape(bool inBracket) {
    ++at;
    if (at >= text.size())
      return fail("a backslash at the end"), CodePoints();
    char c = peek();
    if ((c == 'b' || c == 'B') && !(inBracket && c == 'b'))
      return refuse("a word boundary"), CodePoints();
    if ((c >= '1' && c <= '9') || c == 'k')
      return refuse("a backreference"), CodePoints();
    if (std::optional<CodePoints> named = CodePoints::escapeClass(static_cast<char>(c | 32)); named && c != 0) {
      ++at;
      return c < 'a' ? named->complement() : *named;
    }
    if (c == 'p' || c == 'P')
      return ++at, category(c == 'P');
    return CodePoints::of(characterEscape(c));
  }

  char32_t characterEscape(char c) {
    for (const ControlEscape &control : kControlEscapes)
      if (control.letter == c)
        return ++at, control.point;
    if (static_cast<unsigned char>(c) >= 0x80)
      return point();
    ++at;
    switch (c) {
    case '0':
      return 0;
    case 'b':
      return '\b';
    case 'x':
      return hex(2);
    case 'u':
      return unicodeEscape();
    case 'c': {
      char letter = peek();
      if ((letter | 32) < 'a' || (letter | 32) > 'z')
        return fail("expected a letter after \\c"), 0;
      return ++at, static_cast<char32_t>(letter % 32);
    }
    default:
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return --at, refuse("the escape \\" + std::string(1, c)), 0;
      return static_cast<char32_t>(static_cast<unsigned char>(c));
    }
  }

  CodePoints bracketItem() { return peek() == '\\' ? escape(true) : CodePoints::of(point()); }

  CodePoints bracket() {
    ++at;
    bool negated = take("^");
    CodePoints all;
    while (more() && peek() != ']') {
      CodePoints item = bracketItem();
      if (peek() != '-' || peek(1) == ']' || peek(1) == '\0' || !good()) {
        all.add(item);
        continue;
      }
      ++at;
      CodePoints end = bracketItem();
      addRange(all, item, end);
    }
    if (good() && !take("]"))
      fail("missing ']'");
    return negated ? all.complement() : all;
  }

  void addRange(CodePoints &all, const CodePoints &from, const CodePoints &to) {
    auto single = [](const CodePoints &set) {
      return set.ranges().size() == 1 && set.ranges()[0].low == set.ranges()[0].high;
    };
    if (!good())
      return;
    if (!single(from) || !single(to))
      fail("a range needs one character on each side");
    else if (from.ranges()[0].low > to.ranges()[0].low)
      fail("a range is out of order");
    else
      all.add(from.ranges()[0].low, to.ranges()[0].low);
  }

  RegexAnchors anchors;
};

} // namespace

ExprId parseRegex(ExprPool &pool, std::string_view pattern, RegexAnchors anchors) {
  return RegexParser(pool, pattern, anchors).parse();
}

} // namespace fusec::grammar
