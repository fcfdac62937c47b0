//===- GbnfParser.cpp - grammars in GBNF notation --------------------------===//
#include "runtime/grammar/GbnfParser.h"

#include "runtime/grammar/PatternReader.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <unordered_map>

namespace fusec::grammar {

namespace {

struct SimpleEscape {
  char letter;
  char32_t point;
};
constexpr SimpleEscape kEscapes[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'\\', '\\'}, {'"', '"'},
                                     {'[', '['},  {']', ']'},  {'-', '-'},  {'^', '^'}};
struct HexEscape {
  char letter;
  size_t digits;
};
constexpr HexEscape kHexEscapes[] = {{'x', 2}, {'u', 4}, {'U', 8}};

class GbnfParser final : PatternReader {
public:
  GbnfParser(ExprPool &pool, std::string_view text, GbnfGrammar &grammar)
      : PatternReader(pool, text), grammar(grammar) {}

  void parse() {
    if (!text::isValidUtf8(text))
      return void(fail("the text is not valid UTF-8"));
    for (skipSpace(true); more(); skipSpace(true))
      definition();
    for (const GbnfGrammar::NamedRule &rule : grammar.rules)
      if (!rule.defined && good()) {
        at = rule.usedAt;
        fail("rule '" + rule.name + "' is not defined");
      }
    auto root = indexes.find("root");
    if (root == indexes.end() && good())
      fail("the grammar has no rule 'root'");
    else if (good())
      grammar.root = root->second;
  }

private:
  std::string place() const override {
    auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size())), '\n');
    size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    size_t column = newline == std::string_view::npos ? at + 1 : at - newline;
    return "grammar line " + std::to_string(line) + ":" + std::to_string(column);
  }

  void skipSpace(bool lines) {
    while (at < text.size()) {
      char c = text[at];
      if (c == '#')
        at = std::min(text.size(), text.find('\n', at));
      else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r')))
        ++at;
      else
        return;
    }
  }

  static bool isNameByte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }
  std::string name() {
    size_t begin = at;
    while (at < text.size() && isNameByte(text[at]))
      ++at;
    return std::string(text.substr(begin, at - begin));
  }
  uint32_t index(const std::string &name, size_t usedAt) {
    auto [entry, isNew] = indexes.try_emplace(name, static_cast<uint32_t>(grammar.rules.size()));
    if (isNew)
      grammar.rules.push_back({name, 0, false, usedAt});
    return entry->second;
  }

  void definition() {
    size_t begin = at;
    std::string left = name();
    if (left.empty())
      return void(fail("expected the name of a rule"));
    skipSpace(false);
    if (!take("::="))
      return void(fail("expected '::=' after '" + left + "'"));
    uint32_t rule = index(left, begin);
    if (grammar.rules[rule].defined) {
      at = begin;
      return void(fail("rule '" + left + "' is defined twice"));
    }
    grammar.rules[rule].defined = true;
    skipSpace(true);
    ExprId expr = alternatives(0);
    grammar.rules[rule].expr = expr;
    if (more() && peek() != '\n' && peek() != '\r')
      fail(std::string("unexpected '") + peek() + "'");
  }

  ExprId alternatives(int depth) {
    if (depth > pool.budget.limits.nesting)
      return fail("groups nest deeper than " + std::to_string(pool.budget.limits.nesting));
    std::vector<ExprId> parts{sequence(depth)};
    while (good() && take("|")) {
      skipSpace(true);
      parts.push_back(sequence(depth));
    }
    return good() ? pool.choice(std::move(parts)) : 0;
  }

  ExprId sequence(int depth) {
    std::vector<ExprId> parts;
    while (more() && startsItem()) {
      ExprId item = atom(depth);
      uint32_t min = 0, max = 0;
      for (; more() && repetition(min, max); skipSpace(depth > 0))
        item = good() ? pool.repeat(item, min, max) : 0;
      parts.push_back(item);
      skipSpace(depth > 0);
    }
    return good() ? pool.sequence(std::move(parts)) : 0;
  }

  bool startsItem() const {
    char c = peek();
    return c == '"' || c == '[' || c == '(' || c == '.' || c == '<' || c == '!' || isNameByte(c);
  }

  ExprId atom(int depth) {
    switch (peek()) {
    case '"':
      return literal();
    case '[':
      return pool.characters(bracket());
    case '(':
      return group(depth);
    case '.':
      ++at;
      return pool.characters(CodePoints::all());
    case '<':
    case '!':
      return fail("matching tokens (<...>) is not supported");
    default:
      return pool.rule(ruleReference());
    }
  }

  uint32_t ruleReference() {
    size_t begin = at;
    std::string used = name();
    return index(used, begin);
  }

  ExprId group(int depth) {
    ++at;
    skipSpace(true);
    ExprId expr = alternatives(depth + 1);
    skipSpace(true);
    if (good() && !take(")"))
      return fail("missing ')'");
    return expr;
  }

  bool repetition(uint32_t &min, uint32_t &max) {
    return shortRepetition(min, max) || (take("{") && (bounds(min, max), true));
  }

  void bounds(uint32_t &min, uint32_t &max) {
    skipSpace(true);
    if (!number(min))
      return void(fail("expected a number after '{'"));
    skipSpace(true);
    max = min;
    if (take(",")) {
      skipSpace(true);
      if (!number(max))
        max = kNone;
      skipSpace(true);
    }
    if (!take("}"))
      fail("expected '}' after the bounds of a repetition");
    else if (max < min)
      fail("the bounds of a repetition are out of order");
  }

  ExprId literal() {
    size_t begin = at++;
    std::vector<ExprId> parts;
    while (more() && peek() != '"')
      parts.push_back(pool.characters(CodePoints::of(character())));
    if (good() && !take("\"")) {
      at = begin;
      return fail("the literal has no closing '\"'");
    }
    return pool.sequence(std::move(parts));
  }

  CodePoints bracket() {
    size_t begin = at++;
    bool negated = take("^");
    CodePoints all;
    while (more() && peek() != ']') {
      char32_t low = character(), high = low;
      if (peek() == '-' && at + 1 < text.size() && text[at + 1] != ']') {
        ++at;
        high = character();
      }
      if (high < low && good())
        fail("a range of characters is out of order");
      all.add(low, high);
    }
    if (good() && !take("]")) {
      at = begin;
      fail("the class of characters has no closing ']'");
    }
    return negated ? all.complement() : all;
  }

  char32_t character() {
    if (peek() != '\\')
      return point();
    ++at;
    char letter = peek();
    for (const SimpleEscape &escape : kEscapes)
      if (escape.letter == letter)
        return ++at, escape.point;
    for (const HexEscape &escape : kHexEscapes)
      if (escape.letter == letter)
        return ++at, hex(escape.digits);
    return fail("unknown escape"), 0;
  }

  char32_t hex(size_t digits) {
    uint64_t value = hexDigits(digits);
    if (value > kLastCodePoint || (value >= kFirstSurrogate && value <= kLastSurrogate))
      return fail("the escape is no character"), 0;
    return static_cast<char32_t>(value);
  }

  GbnfGrammar &grammar;
  std::unordered_map<std::string, uint32_t> indexes;
};

} // namespace

void parseGbnf(ExprPool &pool, std::string_view text, GbnfGrammar &grammar) { GbnfParser(pool, text, grammar).parse(); }

} // namespace fusec::grammar
