//===- RegexParser.h - the regular subset of regular expressions -----------===//
//
// ECMA-262 syntax (Unicode mode) without what no automaton can do:
//   literals, . , classes [a-z] [^...] and \d \w \s \D \W \S \p{L} \P{L},
//   escapes \t \n \r \f \v \0 \cX \xHH \uHHHH \u{H...} and \ before punctuation,
//   groups ( ) (?: ) (?<name> ), alternatives |,
//   repetitions * + ? {m} {m,} {m,n}, also lazy (the same texts match),
//   anchors ^ and $.
// Refused by name: lookaround, backreferences, \b and \B, atomic groups,
// possessive repetitions, inline flags.
//
//   ExprPool pool(budget);
//   ExprId expr = parseRegex(pool, "[a-z]+@[a-z]+", RegexAnchors::AtEnds);
//   FUSEC_RETURN_IF_ERROR(budget.status());
//
// Threading: one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Expr.h"

#include <string_view>

namespace fusec::grammar {

enum class RegexAnchors {
  AtEnds,   ///< The whole text matches; ^ and $ may stand at the ends of the alternatives and add nothing.
  Anywhere, ///< Some part of the text matches; anchors are expressions (ExprKind::Begin, End).
};

/// Errors (with the column) fail the pool's budget.
ExprId parseRegex(ExprPool &pool, std::string_view pattern, RegexAnchors anchors);

} // namespace fusec::grammar
