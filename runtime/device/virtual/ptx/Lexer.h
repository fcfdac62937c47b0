//===- Lexer.h - words of a PTX text -----------------------------------------===//
//
//   FUSEC_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(text));
//
// A word is an opcode with its modifiers, a register, a label, or one dot
// directive (".reg.b16" gives two). The last token is End.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <string_view>
#include <vector>

namespace fusec::virtualgpu::ptx {

struct Token {
  enum class Kind { Word, Directive, Number, String, Punctuation, End };
  Kind kind = Kind::End;
  std::string_view text; ///< Points into the PTX text; strings without quotes.
  int line = 0;
};

/// CorruptData names the line and the character it cannot read.
Result<std::vector<Token>> tokenize(std::string_view text);

} // namespace fusec::virtualgpu::ptx
