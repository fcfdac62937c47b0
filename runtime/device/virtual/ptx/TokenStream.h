//===- TokenStream.h - the parser's view of the words ------------------------===//
#pragma once

#include "runtime/device/virtual/ptx/Lexer.h"

#include <string>

namespace fusec::virtualgpu::ptx {

/// Reads tokens one by one; the last one, End, repeats.
class TokenStream {
public:
  explicit TokenStream(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

  const Token &peek(size_t ahead = 0) const { return tokens[std::min(at + ahead, tokens.size() - 1)]; }
  const Token &next() {
    const Token &token = peek();
    if (at + 1 < tokens.size())
      ++at;
    return token;
  }
  bool atEnd() const { return peek().kind == Token::Kind::End; }
  int line() const { return peek().line; }
  bool is(std::string_view text, size_t ahead = 0) const {
    const Token &token = peek(ahead);
    return token.text == text && token.kind != Token::Kind::String && token.kind != Token::Kind::End;
  }
  bool take(std::string_view text) {
    bool found = is(text);
    if (found)
      next();
    return found;
  }
  Status expect(std::string_view text) { return take(text) ? Status() : unexpected("'" + std::string(text) + "'"); }
  Result<std::string> word(const std::string &what) {
    if (peek().kind != Token::Kind::Word)
      return unexpected(what);
    return std::string(next().text);
  }
  Status unexpected(const std::string &wanted) const {
    std::string found = atEnd() ? "the end of the text" : "'" + std::string(peek().text) + "'";
    return corruptData("PTX line " + std::to_string(line()) + ": expected " + wanted + ", found " + found);
  }
  /// Drops everything up to the end of the current line.
  void skipLine(int ofLine) {
    while (!atEnd() && line() == ofLine)
      next();
  }

private:
  std::vector<Token> tokens;
  size_t at = 0;
};

/// Integer or floating literal as PTX spells it.
struct Number {
  bool isFloat = false;
  bool doubleBits = false;
  int64_t integer = 0;
  double floating = 0;
};
Result<Number> parseNumber(const Token &token);

} // namespace fusec::virtualgpu::ptx
