//===- Expr.cpp - expressions over characters ------------------------------===//
#include "runtime/grammar/Expr.h"

#include "runtime/text/Utf8.h"

#include <algorithm>

namespace fusec::grammar {

ExprId ExprPool::add(Expr expr) {
  constexpr uint64_t longest = uint64_t{1} << 40; // Keeps sums and products in range.
  bool repeats = expr.kind == ExprKind::Repeat;
  expr.length = expr.kind == ExprKind::Class || expr.kind == ExprKind::Rule ? 1 : 0;
  for (ExprId part : expr.parts) {
    expr.depth = std::max(expr.depth, nodes[part].depth + 1);
    expr.length = std::min(longest, expr.length + nodes[part].length);
  }
  if (repeats)
    expr.length = std::min(longest, expr.length * std::max<uint64_t>(1, expr.max == kNone ? expr.min : expr.max));
  if (expr.depth > 4 * budget.limits.nesting)
    budget.fail(resourceExhausted("the expression nests deeper than " + std::to_string(4 * budget.limits.nesting)));
  budget.spend(1);
  nodes.push_back(std::move(expr));
  return static_cast<ExprId>(nodes.size() - 1);
}

ExprId ExprPool::characters(CodePoints points) {
  Expr expr(ExprKind::Class);
  expr.points = std::move(points);
  return add(std::move(expr));
}

ExprId ExprPool::literal(std::string_view text) {
  std::vector<ExprId> parts;
  for (size_t at = 0; at < text.size();) {
    text::CodePoint point = text::decodeUtf8(text, at);
    parts.push_back(characters(CodePoints::of(point.value)));
    at += point.length;
  }
  return sequence(std::move(parts));
}

ExprId ExprPool::sequence(std::vector<ExprId> parts) {
  if (parts.size() == 1)
    return parts.front();
  return add(Expr(ExprKind::Sequence, std::move(parts)));
}

ExprId ExprPool::choice(std::vector<ExprId> parts) {
  if (parts.size() == 1)
    return parts.front();
  return add(Expr(ExprKind::Choice, std::move(parts)));
}

ExprId ExprPool::repeat(ExprId part, uint32_t min, uint32_t max) {
  Expr expr(ExprKind::Repeat, {part});
  expr.min = min;
  expr.max = max;
  return add(std::move(expr));
}

ExprId ExprPool::rule(uint32_t index) {
  Expr expr(ExprKind::Rule);
  expr.rule = index;
  return add(std::move(expr));
}

ExprId ExprPool::anchor(ExprKind kind) { return add(Expr(kind)); }

} // namespace fusec::grammar
