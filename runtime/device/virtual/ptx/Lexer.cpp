//===- Lexer.cpp - words of a PTX text ---------------------------------------===//

#include "runtime/device/virtual/ptx/Lexer.h"

namespace fusec::virtualgpu::ptx {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || isDigit(c) || c == '_' || c == '$' || c == '%';
}

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  Result<std::vector<Token>> run() {
    while (skipBlanks()) {
      char c = text[at];
      if (c == '.' && at + 1 < text.size() && isWordChar(text[at + 1]))
        directive();
      else if (isDigit(c))
        number();
      else if (isWordChar(c))
        word();
      else if (c == '"')
        FUSEC_RETURN_IF_ERROR(string());
      else if (std::string_view("{}[]()<>,;:+-|!@=*/&~").find(c) != std::string_view::npos)
        add(Token::Kind::Punctuation, at, 1), ++at;
      else
        return corruptData("PTX line " + std::to_string(line) + ": unexpected character '" + std::string(1, c) + "'");
    }
    tokens.push_back({Token::Kind::End, {}, line});
    return std::move(tokens);
  }

private:
  void add(Token::Kind kind, size_t from, size_t size) { tokens.push_back({kind, text.substr(from, size), line}); }

  /// False at the end of the text.
  bool skipBlanks() {
    while (at < text.size()) {
      char c = text[at];
      if (c == '\n')
        ++line, ++at;
      else if (c == ' ' || c == '\t' || c == '\r' || c == '\0')
        ++at;
      else if (text.substr(at, 2) == "//")
        at = std::min(text.find('\n', at), text.size());
      else if (text.substr(at, 2) == "/*")
        skipComment();
      else
        return true;
    }
    return false;
  }
  void skipComment() {
    size_t end = std::min(text.find("*/", at + 2), text.size());
    for (; at < end; ++at)
      line += text[at] == '\n';
    at = std::min(end + 2, text.size());
  }

  /// ".reg" of ".reg.b16"; "L2::128B" stays whole.
  void directive() {
    size_t from = at++;
    wordChars(false);
    add(Token::Kind::Directive, from, at - from);
  }
  void word() {
    size_t from = at;
    wordChars(true);
    add(Token::Kind::Word, from, at - from);
  }
  void wordChars(bool dots) {
    while (at < text.size()) {
      if (isWordChar(text[at]))
        ++at;
      else if (dots && text[at] == '.' && at + 1 < text.size() && isWordChar(text[at + 1]))
        ++at;
      else if (text.substr(at, 2) == "::")
        at += 2;
      else
        return;
    }
  }
  /// Integers, 0f/0d bit patterns and decimals with exponent.
  void number() {
    size_t from = at;
    bool hex = text.substr(at, 2) == "0x" || text.substr(at, 2) == "0X";
    while (at < text.size() && (isWordChar(text[at]) || text[at] == '.' || exponentSign(from, hex)))
      ++at;
    add(Token::Kind::Number, from, at - from);
  }
  bool exponentSign(size_t from, bool hex) const {
    return (text[at] == '-' || text[at] == '+') && at > from && !hex && (text[at - 1] == 'e' || text[at - 1] == 'E') &&
           text.substr(from, at - from).find('.') != std::string_view::npos;
  }
  Status string() {
    size_t end = text.find('"', at + 1);
    if (end == std::string_view::npos)
      return corruptData("PTX line " + std::to_string(line) + ": string without end");
    add(Token::Kind::String, at + 1, end - at - 1);
    at = end + 1;
    return {};
  }

  std::string_view text;
  size_t at = 0;
  int line = 1;
  std::vector<Token> tokens;
};

} // namespace

Result<std::vector<Token>> tokenize(std::string_view text) { return Lexer(text).run(); }

} // namespace fusec::virtualgpu::ptx
