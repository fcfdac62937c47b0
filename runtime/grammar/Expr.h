//===- Expr.h - expressions over characters --------------------------------===//
//
// What regular expressions and grammar rules have in common: classes of
// characters, sequences, alternatives, repetitions and references to rules.
//
//   ExprPool pool(budget);
//   ExprId letter = pool.add(Expr::ofClass({{'a', 'z'}}));
//   ExprId word = pool.repeat(letter, 1, kNone);
//
// Threading: values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/CodePoints.h"
#include "runtime/grammar/Machine.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::grammar {

using ExprId = uint32_t;

enum class ExprKind : uint8_t {
  Class,    ///< One character of `points`.
  Sequence, ///< All `parts`, in order; none: the empty text.
  Choice,   ///< One of `parts`.
  Repeat,   ///< parts[0], between `min` and `max` (kNone: no limit) times.
  Rule,     ///< What the rule `rule` matches.
  Begin,    ///< The empty text, at the start of the whole text only.
  End,      ///< The empty text, at the end of the whole text only.
};

struct Expr {
  explicit Expr(ExprKind k, std::vector<ExprId> p = {}) : kind(k), parts(std::move(p)) {}

  ExprKind kind;
  std::vector<ExprId> parts;
  CodePoints points;
  uint32_t min = 0, max = 0;
  uint32_t rule = 0;
  int depth = 1;       ///< Expressions inside one another.
  uint64_t length = 1; ///< Characters when written out once (repetitions with bounds multiplied).
};

class ExprPool {
public:
  explicit ExprPool(CompileBudget &b) : budget(b) {}

  ExprId characters(CodePoints points);
  /// The characters of `text` (UTF-8) in sequence.
  ExprId literal(std::string_view text);
  ExprId sequence(std::vector<ExprId> parts);
  ExprId choice(std::vector<ExprId> parts);
  ExprId repeat(ExprId part, uint32_t min, uint32_t max);
  ExprId rule(uint32_t index);
  ExprId anchor(ExprKind kind);

  const Expr &operator[](ExprId id) const { return nodes[id]; }
  CompileBudget &budget;

private:
  /// Fails the budget when expressions nest too deeply.
  ExprId add(Expr expr);

  std::vector<Expr> nodes;
};

} // namespace fusec::grammar
