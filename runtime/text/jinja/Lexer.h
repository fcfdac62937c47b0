//===- Lexer.h - template source to tokens -----------------------------------===//
//
// Splits a template as Jinja does with trim_blocks and lstrip_blocks set: text,
// `{% %}`, `{{ }}`, `{# #}`, raw blocks, and the `-` / `+` whitespace marks.
//
// Threading: pure function.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::text::jinja {

enum class TokenKind {
  Data,
  BlockBegin,
  BlockEnd,
  VariableBegin,
  VariableEnd,
  Name,
  String,
  Integer,
  Float,
  Operator,
  End
};

struct Token {
  TokenKind kind = TokenKind::End;
  int line = 1;
  std::string text; ///< Text, name, decoded string or operator.
  int64_t integer = 0;
  double number = 0;

  bool isName(std::string_view name) const { return kind == TokenKind::Name && text == name; }
  bool isOperator(std::string_view op) const { return kind == TokenKind::Operator && text == op; }
};

/// All tokens of `source`, the last one being End. Errors are "line N: what".
Result<std::vector<Token>> tokenize(std::string_view source);

} // namespace fusec::text::jinja
