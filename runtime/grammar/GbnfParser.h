//===- GbnfParser.h - grammars in GBNF notation ----------------------------===//
//
// The notation of llama.cpp's grammar files:
//   root ::= "yes" | "no" [.!]+ rest{0,3}   # a comment
//   rest ::= (" " [^ \n])*
// with escapes \n \r \t \\ \" \[ \] \xHH \uHHHH \UHHHHHHHH; `.` is any character.
// A rule ends at the end of its line, except inside a group and after `|` or `::=`.
//
//   GbnfGrammar grammar;
//   parseGbnf(pool, text, grammar);
//   FUSEC_RETURN_IF_ERROR(budget.status());
//
// Threading: one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Expr.h"

#include <string>
#include <string_view>
#include <vector>

namespace fusec::grammar {

struct GbnfGrammar {
  struct NamedRule {
    std::string name;
    ExprId expr = 0;
    bool defined = false;
    size_t usedAt = 0; ///< Byte of its first use, for messages.
  };
  std::vector<NamedRule> rules; ///< Expr::rule indexes these.
  uint32_t root = 0;
};

/// Errors (with line and column) fail the pool's budget.
void parseGbnf(ExprPool &pool, std::string_view text, GbnfGrammar &grammar);

} // namespace fusec::grammar
