//===- Lexer.cpp - template source to tokens ---------------------------------===//
#include "runtime/text/jinja/Lexer.h"

#include "runtime/text/jinja/StringLiteral.h"
#include "runtime/text/jinja/Unicode.h"

#include <algorithm>
#include <charconv>

namespace fusec::text::jinja {

namespace {

/// Only `\n`, `\r\n` and `\r` break lines; one line break at the very end is dropped.
std::string normalizeSource(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n')
      ++i;
  }
  if (!out.empty() && out.back() == '\n')
    out.pop_back();
  return out;
}

bool isDigitChar(char c) { return c >= '0' && c <= '9'; }
bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool isNameChar(char c) { return isNameStart(c) || isDigitChar(c); }

size_t skipSpace(std::string_view s, size_t pos) {
  while (pos < s.size()) {
    CodePoint c = decodeAt(s, pos);
    if (!isSpace(c.value) || !c.valid)
      break;
    pos += c.length;
  }
  return pos;
}

std::string_view stripRight(std::string_view s) {
  size_t keep = 0;
  for (size_t pos = 0; pos < s.size();) {
    CodePoint c = decodeAt(s, pos);
    pos += c.length;
    if (!c.valid || !isSpace(c.value))
      keep = pos;
  }
  return s.substr(0, keep);
}

class Lexer {
public:
  explicit Lexer(std::string text) : buffer(std::move(text)), source(buffer) {}

  Result<std::vector<Token>> run() {
    while (pos < source.size())
      FUSEC_RETURN_IF_ERROR(lexText());
    push(TokenKind::End, "");
    return std::move(tokens);
  }

private:
  Status fail(const std::string &what) const { return corruptData("line " + std::to_string(line) + ": " + what); }
  char at(size_t i) const { return i < source.size() ? source[i] : '\0'; }
  bool startsWith(size_t i, std::string_view what) const {
    return i <= source.size() && source.substr(i, what.size()) == what;
  }

  Token &push(TokenKind kind, std::string text) {
    tokens.push_back({kind, line, std::move(text), 0, 0});
    return tokens.back();
  }
  void advanceTo(size_t end) {
    line += static_cast<int>(std::count(source.begin() + static_cast<std::ptrdiff_t>(pos),
                                        source.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    lineStarting = end > pos ? source[end - 1] == '\n' : lineStarting;
    pos = end;
  }

  /// Text up to the next tag, then that tag.
  Status lexText() {
    size_t tag = pos;
    while ((tag = source.find('{', tag)) != source.npos &&
           std::string_view("%{#").find(at(tag + 1)) == std::string_view::npos)
      ++tag;
    if (tag == source.npos) {
      push(TokenKind::Data, std::string(source.substr(pos)));
      advanceTo(source.size());
      return {};
    }
    char sign = at(tag + 2) == '-' || at(tag + 2) == '+' ? at(tag + 2) : '\0';
    emitText(source.substr(pos, tag - pos), sign, at(tag + 1) != '{');
    advanceTo(tag);
    return lexTag(tag + (sign ? 3 : 2));
  }

  void emitText(std::string_view text, char sign, bool mayStripLine) {
    if (sign == '-') {
      text = stripRight(text);
    } else if (sign != '+' && mayStripLine) {
      size_t lineStart = text.rfind('\n') + 1; // npos + 1 = 0: no line break in this text.
      bool blank = lineStart < text.size() && skipSpace(text, lineStart) == text.size();
      if ((lineStart > 0 || lineStarting) && blank)
        text = text.substr(0, lineStart);
    }
    if (!text.empty())
      push(TokenKind::Data, std::string(text));
  }

  Status lexTag(size_t body) {
    char type = at(pos + 1);
    if (type == '#')
      return lexComment(body);
    if (type == '%') {
      if (size_t end = rawBegin(body))
        return lexRaw(end);
      push(TokenKind::BlockBegin, "{%");
    } else {
      push(TokenKind::VariableBegin, "{{");
    }
    advanceTo(body);
    return lexExpression(type == '%');
  }

  /// End of a closing tag at `i`, with the whitespace it takes along; 0 if there is none.
  size_t closingEnd(size_t i, std::string_view close, bool trims) const {
    if (at(i) == '-' && startsWith(i + 1, close))
      return skipSpace(source, i + 1 + close.size());
    if (trims && at(i) == '+' && startsWith(i + 1, close))
      return i + 1 + close.size();
    if (!startsWith(i, close))
      return 0;
    size_t end = i + close.size();
    return trims && at(end) == '\n' ? end + 1 : end;
  }

  Status lexComment(size_t body) {
    for (size_t i = body; i < source.size(); ++i)
      if (size_t end = closingEnd(i, "#}", true)) {
        advanceTo(end);
        return {};
      }
    return fail("Missing end of comment tag");
  }

  /// End of `{% raw %}` whose inside starts at `body`; 0 when the tag is another one.
  size_t rawBegin(size_t body) const {
    size_t i = skipSpace(source, body);
    if (!startsWith(i, "raw"))
      return 0;
    i = skipSpace(source, i + 3);
    if (at(i) == '-' && startsWith(i + 1, "%}"))
      return skipSpace(source, i + 3);
    return startsWith(i, "%}") ? i + 2 : 0;
  }

  Status lexRaw(size_t begin) {
    advanceTo(begin);
    for (size_t open = source.find("{%", begin); open != source.npos; open = source.find("{%", open + 1)) {
      char sign = at(open + 2) == '-' || at(open + 2) == '+' ? at(open + 2) : '\0';
      size_t i = skipSpace(source, open + (sign ? 3 : 2));
      if (!startsWith(i, "endraw"))
        continue;
      size_t end = closingEnd(skipSpace(source, i + 6), "%}", true);
      if (!end)
        continue;
      emitText(source.substr(begin, open - begin), sign, true);
      advanceTo(end);
      return {};
    }
    return fail("Missing end of raw directive");
  }

  Status lexExpression(bool block) {
    std::string_view close = block ? "%}" : "}}";
    brackets.clear();
    while (pos < source.size()) {
      if (size_t end = brackets.empty() ? closingEnd(pos, close, block) : 0) {
        push(block ? TokenKind::BlockEnd : TokenKind::VariableEnd, std::string(close));
        advanceTo(end);
        return {};
      }
      FUSEC_RETURN_IF_ERROR(lexToken());
    }
    return {}; // The parser reports the unexpected end.
  }

  Status lexToken() {
    if (size_t end = skipSpace(source, pos); end != pos) {
      advanceTo(end);
      return {};
    }
    char c = source[pos];
    if (isDigitChar(c))
      return lexNumber();
    if (isNameStart(c))
      return lexName();
    if (c == '\'' || c == '"')
      return lexString();
    return lexOperator();
  }

  Status lexName() {
    size_t end = pos;
    while (end < source.size() && isNameChar(source[end]))
      ++end;
    push(TokenKind::Name, std::string(source.substr(pos, end - pos)));
    advanceTo(end);
    return {};
  }

  Status lexString() {
    size_t end = pos + 1;
    while (end < source.size() && source[end] != source[pos])
      end += source[end] == '\\' ? 2 : 1;
    if (end >= source.size())
      return fail("unexpected char " + std::string(1, source[pos]) + " (a string without end)");
    Result<std::string> decoded = decodeStringLiteral(source.substr(pos + 1, end - pos - 1));
    if (!decoded)
      return fail(decoded.status().message());
    push(TokenKind::String, std::move(*decoded));
    advanceTo(end + 1);
    return {};
  }

  /// End of digits with single underscores between them, from `i` on.
  size_t digitsEnd(size_t i) const {
    while (isDigitChar(at(i)) || (at(i) == '_' && isDigitChar(at(i + 1))))
      ++i;
    return i;
  }
  size_t exponentEnd(size_t i) const {
    if (at(i) != 'e' && at(i) != 'E')
      return i;
    size_t digits = i + (at(i + 1) == '+' || at(i + 1) == '-' ? 2 : 1);
    return isDigitChar(at(digits)) ? digitsEnd(digits) : i;
  }

  Status lexNumber() {
    size_t whole = digitsEnd(pos), end = whole;
    if (at(whole) == '.' && isDigitChar(at(whole + 1)))
      end = digitsEnd(whole + 1);
    end = exponentEnd(end);
    bool afterDot = pos > 0 && source[pos - 1] == '.'; // "a.0.1" is two subscripts.
    return end != whole && !afterDot ? pushFloat(end) : pushInteger(whole);
  }

  std::string withoutUnderscores(size_t end) const {
    std::string digits(source.substr(pos, end - pos));
    std::erase(digits, '_');
    return digits;
  }
  Status pushFloat(size_t end) {
    std::string digits = withoutUnderscores(end);
    push(TokenKind::Float, digits).number = std::strtod(digits.c_str(), nullptr);
    advanceTo(end);
    return {};
  }
  Status pushInteger(size_t end) {
    constexpr std::pair<char, int> kBases[] = {{'x', 16}, {'o', 8}, {'b', 2}};
    int base = 10;
    size_t digitsFrom = pos;
    for (auto [letter, value] : kBases)
      if (source[pos] == '0' && (at(pos + 1) | 0x20) == letter)
        base = value, digitsFrom = pos + 2;
    if (base != 10)
      for (end = digitsFrom; std::isxdigit(static_cast<unsigned char>(at(end))) || at(end) == '_';)
        ++end;
    std::string digits(source.substr(digitsFrom, end - digitsFrom));
    std::erase(digits, '_');
    int64_t value = 0;
    auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size())
      return fail("the number '" + digits + "' is not a 64-bit integer");
    push(TokenKind::Integer, digits).integer = value;
    advanceTo(end);
    return {};
  }

  Status lexOperator() {
    constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", "<=", ">=", "+", "-", "/", "*", "%", "~", "[",
                                               "]",  "(",  ")",  "{",  "}",  "<",  ">", "=", ".", ":", "|", ",", ";"};
    for (std::string_view op : kOperators) {
      if (!startsWith(pos, op))
        continue;
      FUSEC_RETURN_IF_ERROR(balance(op[0]));
      push(TokenKind::Operator, std::string(op));
      advanceTo(pos + op.size());
      return {};
    }
    return fail("unexpected char '" + std::string(1, source[pos]) + "'");
  }

  Status balance(char c) {
    constexpr std::string_view kOpen = "([{", kClose = ")]}";
    if (size_t open = kOpen.find(c); open != kOpen.npos)
      brackets += kClose[open];
    if (kClose.find(c) == kClose.npos)
      return {};
    if (brackets.empty())
      return fail(std::string("unexpected '") + c + "'");
    if (brackets.back() != c)
      return fail(std::string("unexpected '") + c + "', expected '" + brackets.back() + "'");
    brackets.pop_back();
    return {};
  }

  const std::string buffer;
  std::string_view source;
  size_t pos = 0;
  int line = 1;
  bool lineStarting = true;
  std::string brackets; ///< Closing brackets still owed, innermost last.
  std::vector<Token> tokens;
};

} // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  if (!isValidUtf8(source))
    return corruptData("the template is not valid UTF-8");
  return Lexer(normalizeSource(source)).run();
}

} // namespace fusec::text::jinja
