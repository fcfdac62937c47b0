//===- ExprCompiler.cpp - expressions to automaton states ------------------===//
#include "runtime/grammar/ExprCompiler.h"

#include <algorithm>

namespace fusec::grammar {

namespace {

/// Repetitions of at most this many characters in all are written out.
constexpr uint64_t kWriteOut = 256;

} // namespace

RuleId ExprCompiler::declare(std::string name) {
  rules.push_back(builder.addRule(std::move(name)));
  bodies.push_back(0);
  return rules.back();
}

void ExprCompiler::emit() {
  findNullableRules();
  for (size_t i = 0; i < rules.size() && !builder.budget.exhausted(); ++i) {
    current = rules[i];
    paths.emplace(builder, current);
    builder.setAccept(compile(bodies[i], builder.start(current)));
  }
}

StateId ExprCompiler::compile(ExprId id, StateId from) {
  using Compile = StateId (ExprCompiler::*)(const Expr &, StateId);
  static constexpr Compile byKind[] = {&ExprCompiler::compileClass,  &ExprCompiler::compileSequence,
                                       &ExprCompiler::compileChoice, &ExprCompiler::compileRepeat,
                                       &ExprCompiler::compileRule,   &ExprCompiler::compileAnchor,
                                       &ExprCompiler::compileAnchor};
  if (builder.budget.exhausted())
    return from;
  const Expr &expr = pool[id];
  return (this->*byKind[static_cast<size_t>(expr.kind)])(expr, from);
}

StateId ExprCompiler::compileClass(const Expr &expr, StateId from) {
  StateId to = builder.addState(current);
  for (const CodePoints::Range &range : expr.points.ranges()) {
    builder.budget.spend(1);
    paths->add(from, utf8Paths(range.low, range.high), to, {});
  }
  return to;
}

StateId ExprCompiler::compileSequence(const Expr &expr, StateId from) {
  for (ExprId part : expr.parts)
    from = compile(part, from);
  return from;
}

StateId ExprCompiler::compileChoice(const Expr &expr, StateId from) {
  StateId to = builder.addState(current);
  for (ExprId part : expr.parts)
    builder.silentEdge(compile(part, from), to);
  return to;
}

StateId ExprCompiler::compileRule(const Expr &expr, StateId from) {
  StateId to = builder.addState(current);
  builder.callEdge(from, rules[expr.rule], to);
  return to;
}

StateId ExprCompiler::compileAnchor(const Expr &, StateId from) {
  builder.budget.fail(internalError("an anchor was left in an expression that has none"));
  return from;
}

StateId ExprCompiler::compileRepeat(const Expr &expr, StateId from) {
  uint64_t last = expr.max == kNone ? expr.min + 1u : expr.max;
  if (expr.max == 0)
    return from;
  if (pool[expr.parts[0]].length * last <= kWriteOut || (expr.min <= 1 && expr.max == kNone))
    return writeOut(expr, from);
  if (!nullable(expr.parts[0]))
    return counted(expr, from);
  if (expr.max == kNone) // Empty repetitions make up any minimum.
    return loop(expr.parts[0], from, /*atLeastOnce=*/false);
  builder.budget.fail(unsupported("a repetition with a bound of " + std::to_string(expr.max) +
                                  " of something that may be empty is not supported; make the part non-empty"));
  return from;
}

StateId ExprCompiler::writeOut(const Expr &expr, StateId from) {
  ExprId part = expr.parts[0];
  bool endless = expr.max == kNone;
  for (uint32_t i = endless ? 1 : 0; i < expr.min; ++i)
    from = compile(part, from);
  if (endless)
    return loop(part, from, /*atLeastOnce=*/expr.min > 0);
  StateId end = builder.addState(current);
  builder.silentEdge(from, end);
  for (uint32_t i = expr.min; i < expr.max; ++i) {
    from = compile(part, from);
    builder.silentEdge(from, end);
  }
  return end;
}

StateId ExprCompiler::loop(ExprId part, StateId from, bool atLeastOnce) {
  StateId again = builder.addState(current), end = builder.addState(current);
  builder.silentEdge(from, again);
  StateId once = compile(part, again);
  builder.silentEdge(once, again);
  builder.silentEdge(atLeastOnce ? once : again, end);
  return end;
}

StateId ExprCompiler::counted(const Expr &expr, StateId from) {
  RuleId outer = current;
  current = builder.addRule("repetition");
  std::optional<BytePaths> outerPaths = std::move(paths);
  paths.emplace(builder, current);
  builder.setCounts(current, expr.min, expr.max);

  StateId begin = builder.addState(current), counted = builder.addState(current), end = builder.addState(current);
  builder.silentEdge(builder.start(current), begin, builder.addOp({.kind = OpKind::Below, .max = expr.max}));
  builder.silentEdge(compile(expr.parts[0], begin), counted,
                     builder.addOp({.kind = OpKind::Increment, .min = expr.min, .max = expr.max}));
  builder.silentEdge(counted, builder.start(current));
  builder.silentEdge(counted, end, builder.addOp({.kind = OpKind::AtLeast, .min = expr.min}));
  builder.setAccept(end);
  RuleId rule = current;
  current = outer;
  paths.reset();
  paths.emplace(builder, current);

  StateId to = builder.addState(current);
  builder.callEdge(from, rule, to);
  if (expr.min == 0)
    builder.silentEdge(from, to);
  return to;
}

bool ExprCompiler::nullable(ExprId id) const {
  const Expr &expr = pool[id];
  auto isNullable = [&](ExprId part) { return nullable(part); };
  switch (expr.kind) {
  case ExprKind::Class:
    return false;
  case ExprKind::Rule:
    return nullableRules[expr.rule];
  case ExprKind::Choice:
    return std::any_of(expr.parts.begin(), expr.parts.end(), isNullable);
  case ExprKind::Repeat:
    return expr.min == 0 || nullable(expr.parts[0]);
  default:
    return std::all_of(expr.parts.begin(), expr.parts.end(), isNullable);
  }
}

void ExprCompiler::findNullableRules() {
  nullableRules.assign(rules.size(), false);
  for (bool changed = true; changed && builder.budget.spend(rules.size());) {
    changed = false;
    for (size_t i = 0; i < rules.size(); ++i)
      if (!nullableRules[i] && nullable(bodies[i]))
        changed = nullableRules[i] = true;
  }
}

} // namespace fusec::grammar
