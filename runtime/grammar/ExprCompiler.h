//===- ExprCompiler.h - expressions to automaton states --------------------===//
//
// One per set of rules that refer to one another by index.
//
//   ExprCompiler compiler(pool, builder);
//   RuleId root = compiler.declare("root");        // every rule first,
//   compiler.define(0, rootExpr);                  // then their expressions
//   compiler.emit();
//
// Small repetitions are written out; large ones count in a rule of their own.
//
// Threading: one thread. Errors stick in the budget.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/BytePaths.h"
#include "runtime/grammar/Expr.h"

#include <optional>
#include <string>
#include <vector>

namespace fusec::grammar {

class ExprCompiler {
public:
  ExprCompiler(const ExprPool &p, MachineBuilder &b) : pool(p), builder(b) {}

  /// The rule with the next index.
  RuleId declare(std::string name);
  void define(uint32_t index, ExprId expr) { bodies[index] = expr; }
  void emit();

private:
  /// The state after `expr` when it starts at `from`. Adds only edges that leave `from`.
  StateId compile(ExprId expr, StateId from);
  StateId compileClass(const Expr &expr, StateId from);
  StateId compileSequence(const Expr &expr, StateId from);
  StateId compileChoice(const Expr &expr, StateId from);
  StateId compileRepeat(const Expr &expr, StateId from);
  StateId compileRule(const Expr &expr, StateId from);
  StateId compileAnchor(const Expr &expr, StateId from);
  StateId writeOut(const Expr &expr, StateId from);
  StateId loop(ExprId part, StateId from, bool atLeastOnce);
  StateId counted(const Expr &expr, StateId from);
  bool nullable(ExprId expr) const;
  void findNullableRules();

  const ExprPool &pool;
  MachineBuilder &builder;
  std::vector<RuleId> rules;
  std::vector<ExprId> bodies;
  std::vector<bool> nullableRules;
  RuleId current = 0;
  std::optional<BytePaths> paths;
};

} // namespace fusec::grammar
