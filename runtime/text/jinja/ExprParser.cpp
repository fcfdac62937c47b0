//===- ExprParser.cpp - tokens to expression trees ---------------------------===//
#include "runtime/text/jinja/ExprParser.h"

#include <algorithm>

namespace fusec::text::jinja {

namespace {

/// Counts open parser calls for as long as it lives.
struct NestingGuard {
  explicit NestingGuard(int &l) : level(l) { ++level; }
  ~NestingGuard() { --level; }
  int &level;
};

int heightOf(const ExprPtr &e) { return e ? e->depth : 0; }

int heightOf(const Arguments &a) {
  int height = std::max(heightOf(a.spread), heightOf(a.namedSpread));
  for (const ExprPtr &e : a.positional)
    height = std::max(height, heightOf(e));
  for (const Keyword &k : a.named)
    height = std::max(height, heightOf(k.value));
  return height;
}

Status tooDeep(int line) {
  return TokenCursor::failAt(line, "the template nests expressions deeper than " + std::to_string(kMaxTreeDepth));
}

} // namespace

struct ExprParser::OperatorRow {
  std::string_view symbol;
  BinaryOp op;
};

Status TokenCursor::unexpected(std::string_view expected) const {
  if (current().kind == TokenKind::End)
    return fail("unexpected end of template, expected '" + std::string(expected) + "'.");
  std::string shown = current().kind == TokenKind::BlockEnd      ? "end of statement block"
                      : current().kind == TokenKind::VariableEnd ? "end of print statement"
                                                                 : current().text;
  return fail("expected token '" + std::string(expected) + "', got '" + shown + "'");
}

Status TokenCursor::expectOperator(std::string_view op) { return skipOperator(op) ? Status() : unexpected(op); }

Status TokenCursor::expectKind(TokenKind kind, std::string_view shown) {
  if (current().kind != kind)
    return unexpected(shown);
  next();
  return {};
}

Result<std::string> TokenCursor::expectName() {
  if (current().kind != TokenKind::Name)
    return unexpected("name");
  return next().text;
}

ExprPtr ExprParser::make(ExprKind kind, int line) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = line;
  return expr;
}

Result<ExprPtr> ExprParser::finish(ExprPtr expr) const {
  int height = heightOf(expr->arguments);
  for (const ExprPtr &item : expr->items)
    height = std::max(height, heightOf(item));
  expr->depth = height + 1;
  if (expr->depth > kMaxTreeDepth)
    return tooDeep(expr->line);
  return expr;
}

Result<ExprPtr> ExprParser::parseExpression() {
  NestingGuard guard(nesting);
  if (nesting > kMaxTreeDepth)
    return tooDeep(cursor.current().line);
  return parseConditional();
}

Result<ExprPtr> ExprParser::parseConditional() {
  int line = cursor.current().line;
  bool wasSoft = soft;
  size_t unknownBefore = unknown.size();
  FUSEC_ASSIGN_OR_RETURN(ExprPtr expr, parseOr());
  while (cursor.skipName("if")) {
    soft = true;
    unknown.resize(unknownBefore); // What stands before the `if` is conditional too.
    ExprPtr node = make(ExprKind::Conditional, line);
    FUSEC_ASSIGN_OR_RETURN(ExprPtr condition, parseOr());
    ExprPtr otherwise;
    if (cursor.skipName("else")) {
      NestingGuard guard(nesting);
      if (nesting > kMaxTreeDepth)
        return tooDeep(line);
      FUSEC_ASSIGN_OR_RETURN(otherwise, parseConditional());
    }
    node->items.push_back(std::move(expr));
    node->items.push_back(std::move(condition));
    node->items.push_back(std::move(otherwise));
    FUSEC_ASSIGN_OR_RETURN(expr, finish(std::move(node)));
    line = cursor.current().line;
  }
  soft = wasSoft;
  return expr;
}

Result<ExprPtr> ExprParser::parseLogical(Rule operand, std::string_view word, ExprKind kind) {
  int line = cursor.current().line;
  FUSEC_ASSIGN_OR_RETURN(ExprPtr left, (this->*operand)());
  while (cursor.skipName(word)) {
    ExprPtr node = make(kind, line);
    FUSEC_ASSIGN_OR_RETURN(ExprPtr right, (this->*operand)());
    node->items.push_back(std::move(left));
    node->items.push_back(std::move(right));
    FUSEC_ASSIGN_OR_RETURN(left, finish(std::move(node)));
    line = cursor.current().line;
  }
  return left;
}

Result<ExprPtr> ExprParser::parseOr() { return parseLogical(&ExprParser::parseAnd, "or", ExprKind::Or); }
Result<ExprPtr> ExprParser::parseAnd() { return parseLogical(&ExprParser::parseNot, "and", ExprKind::And); }

Result<ExprPtr> ExprParser::parseNot() {
  if (!cursor.current().isName("not"))
    return parseCompare();
  NestingGuard guard(nesting);
  if (nesting > kMaxTreeDepth)
    return tooDeep(cursor.current().line);
  ExprPtr node = make(ExprKind::Not, cursor.next().line);
  FUSEC_ASSIGN_OR_RETURN(ExprPtr operand, parseNot());
  node->items.push_back(std::move(operand));
  return finish(std::move(node));
}

Result<ExprPtr> ExprParser::parseCompare() {
  constexpr std::pair<std::string_view, CompareOp> kOperators[] = {{"==", CompareOp::Eq}, {"!=", CompareOp::Ne},
                                                                   {"<", CompareOp::Lt},  {"<=", CompareOp::Le},
                                                                   {">", CompareOp::Gt},  {">=", CompareOp::Ge}};
  ExprPtr node = make(ExprKind::Compare, cursor.current().line);
  FUSEC_ASSIGN_OR_RETURN(ExprPtr first, parseSum());
  node->items.push_back(std::move(first));
  auto takeOperator = [&]() -> std::optional<CompareOp> {
    for (const auto &[symbol, op] : kOperators)
      if (cursor.skipOperator(symbol))
        return op;
    if (cursor.skipName("in"))
      return CompareOp::In;
    if (!cursor.current().isName("not") || !cursor.look().isName("in"))
      return std::nullopt;
    cursor.next();
    cursor.next();
    return CompareOp::NotIn;
  };
  while (std::optional<CompareOp> op = takeOperator()) {
    FUSEC_ASSIGN_OR_RETURN(ExprPtr operand, parseSum());
    node->comparisons.push_back(*op);
    node->items.push_back(std::move(operand));
  }
  if (node->comparisons.empty())
    return std::move(node->items[0]);
  return finish(std::move(node));
}

Result<ExprPtr> ExprParser::parseBinary(Rule operand, std::initializer_list<OperatorRow> operators) {
  int line = cursor.current().line;
  FUSEC_ASSIGN_OR_RETURN(ExprPtr left, (this->*operand)());
  while (true) {
    auto row = std::find_if(operators.begin(), operators.end(),
                            [&](const OperatorRow &o) { return cursor.current().isOperator(o.symbol); });
    if (row == operators.end())
      return left;
    cursor.next();
    ExprPtr node = make(ExprKind::Binary, line);
    node->op = row->op;
    FUSEC_ASSIGN_OR_RETURN(ExprPtr right, (this->*operand)());
    node->items.push_back(std::move(left));
    node->items.push_back(std::move(right));
    FUSEC_ASSIGN_OR_RETURN(left, finish(std::move(node)));
    line = cursor.current().line;
  }
}

Result<ExprPtr> ExprParser::parseSum() {
  return parseBinary(&ExprParser::parseConcat, {{"+", BinaryOp::Add}, {"-", BinaryOp::Sub}});
}

Result<ExprPtr> ExprParser::parseConcat() {
  ExprPtr node = make(ExprKind::Concat, cursor.current().line);
  do {
    FUSEC_ASSIGN_OR_RETURN(ExprPtr operand, parseProduct());
    node->items.push_back(std::move(operand));
  } while (cursor.skipOperator("~"));
  if (node->items.size() == 1)
    return std::move(node->items[0]);
  return finish(std::move(node));
}

Result<ExprPtr> ExprParser::parseProduct() {
  return parseBinary(&ExprParser::parsePower,
                     {{"*", BinaryOp::Mul}, {"/", BinaryOp::Div}, {"//", BinaryOp::FloorDiv}, {"%", BinaryOp::Mod}});
}

Result<ExprPtr> ExprParser::parsePower() {
  return parseBinary(&ExprParser::parseUnaryWithFilter, {{"**", BinaryOp::Pow}});
}

Result<ExprPtr> ExprParser::parseUnary(bool withFilter) {
  NestingGuard guard(nesting);
  if (nesting > kMaxTreeDepth)
    return tooDeep(cursor.current().line);
  ExprPtr expr;
  if (cursor.current().isOperator("-") || cursor.current().isOperator("+")) {
    ExprPtr node = make(cursor.current().text == "-" ? ExprKind::Negate : ExprKind::Positive, cursor.current().line);
    cursor.next();
    FUSEC_ASSIGN_OR_RETURN(ExprPtr operand, parseUnary(false));
    node->items.push_back(std::move(operand));
    FUSEC_ASSIGN_OR_RETURN(expr, finish(std::move(node)));
  } else {
    FUSEC_ASSIGN_OR_RETURN(expr, parsePrimary());
  }
  FUSEC_ASSIGN_OR_RETURN(expr, parsePostfix(std::move(expr)));
  if (!withFilter)
    return expr;
  return parseFilterExpr(std::move(expr));
}

Result<ExprPtr> ExprParser::parsePrimary() {
  const Token &token = cursor.current();
  switch (token.kind) {
  case TokenKind::Name:
    return parseName();
  case TokenKind::String:
    return parseStrings();
  case TokenKind::Integer:
  case TokenKind::Float: {
    ExprPtr node = make(ExprKind::Constant, token.line);
    node->value = token.kind == TokenKind::Integer ? Value::integer(token.integer) : Value::number(token.number);
    cursor.next();
    return node;
  }
  case TokenKind::Operator:
    break;
  default:
    return cursor.unexpected("expression");
  }
  if (token.text == "[")
    return parseList();
  if (token.text == "{")
    return parseDict();
  if (!cursor.skipOperator("("))
    return cursor.fail("unexpected '" + token.text + "'");
  FUSEC_ASSIGN_OR_RETURN(ExprPtr inside, parseTuple({.parenthesized = true}));
  FUSEC_RETURN_IF_ERROR(cursor.expectOperator(")"));
  return inside;
}

Result<ExprPtr> ExprParser::parseName() {
  const Token &token = cursor.next();
  ExprPtr node = make(ExprKind::Constant, token.line);
  if (token.text == "true" || token.text == "True" || token.text == "false" || token.text == "False") {
    node->value = Value::boolean(token.text == "true" || token.text == "True");
  } else if (token.text == "none" || token.text == "None") {
    node->value = Value::none();
  } else {
    node->kind = ExprKind::Name;
    node->name = token.text;
    ++seen[token.text];
  }
  return node;
}

Result<ExprPtr> ExprParser::parseStrings() {
  ExprPtr node = make(ExprKind::Constant, cursor.current().line);
  std::string text;
  while (cursor.current().kind == TokenKind::String)
    text += cursor.next().text;
  node->value = Value::trusted(std::move(text));
  return node;
}

Result<ExprPtr> ExprParser::parseList() {
  ExprPtr node = make(ExprKind::List, cursor.next().line);
  while (!cursor.current().isOperator("]")) {
    if (!node->items.empty())
      FUSEC_RETURN_IF_ERROR(cursor.expectOperator(","));
    if (cursor.current().isOperator("]"))
      break;
    FUSEC_ASSIGN_OR_RETURN(ExprPtr item, parseExpression());
    node->items.push_back(std::move(item));
  }
  cursor.next();
  return finish(std::move(node));
}

Result<ExprPtr> ExprParser::parseDict() {
  ExprPtr node = make(ExprKind::Dict, cursor.next().line);
  while (!cursor.current().isOperator("}")) {
    if (!node->items.empty())
      FUSEC_RETURN_IF_ERROR(cursor.expectOperator(","));
    if (cursor.current().isOperator("}"))
      break;
    FUSEC_ASSIGN_OR_RETURN(ExprPtr key, parseExpression());
    FUSEC_RETURN_IF_ERROR(cursor.expectOperator(":"));
    FUSEC_ASSIGN_OR_RETURN(ExprPtr value, parseExpression());
    node->items.push_back(std::move(key));
    node->items.push_back(std::move(value));
  }
  cursor.next();
  return finish(std::move(node));
}

Result<ExprPtr> ExprParser::parseTuple(TupleOptions options) {
  NestingGuard guard(nesting);
  if (nesting > kMaxTreeDepth)
    return tooDeep(cursor.current().line);
  ExprPtr node = make(ExprKind::Tuple, cursor.current().line);
  bool comma = false;
  auto ended = [&] {
    const Token &t = cursor.current();
    return t.kind == TokenKind::VariableEnd || t.kind == TokenKind::BlockEnd || t.isOperator(")") ||
           (!options.endName.empty() && t.isName(options.endName));
  };
  while (!ended()) {
    FUSEC_ASSIGN_OR_RETURN(ExprPtr item, options.conditional ? parseConditional() : parseOr());
    node->items.push_back(std::move(item));
    if (!cursor.skipOperator(","))
      break;
    comma = true;
  }
  if (!comma && node->items.size() == 1)
    return std::move(node->items[0]);
  if (!comma && !options.parenthesized)
    return cursor.unexpected("expression");
  return finish(std::move(node));
}

Result<ExprPtr> ExprParser::parseTargetItem(bool namespaces) {
  int line = cursor.current().line;
  FUSEC_ASSIGN_OR_RETURN(std::string name, cursor.expectName());
  for (std::string_view reserved : {"true", "false", "none", "True", "False", "None"})
    if (name == reserved)
      return TokenCursor::failAt(line, "can't assign to 'const'");
  ExprPtr node = make(ExprKind::Name, line);
  node->name = std::move(name);
  if (!namespaces || !cursor.skipOperator("."))
    return node;
  node->kind = ExprKind::NamespaceRef;
  FUSEC_ASSIGN_OR_RETURN(node->attribute, cursor.expectName());
  return node;
}

Result<ExprPtr> ExprParser::parseTarget(bool namespaces, std::string_view endName) {
  NestingGuard guard(nesting);
  if (nesting > kMaxTreeDepth)
    return tooDeep(cursor.current().line);
  ExprPtr node = make(ExprKind::Tuple, cursor.current().line);
  bool comma = false;
  auto ended = [&] {
    const Token &t = cursor.current();
    return t.isOperator("=") || t.isOperator(")") || t.kind == TokenKind::BlockEnd ||
           (!endName.empty() && t.isName(endName));
  };
  while (!ended()) {
    bool nested = cursor.skipOperator("(");
    FUSEC_ASSIGN_OR_RETURN(ExprPtr item, nested ? parseTarget(namespaces, {}) : parseTargetItem(namespaces));
    if (nested)
      FUSEC_RETURN_IF_ERROR(cursor.expectOperator(")"));
    node->items.push_back(std::move(item));
    if (!cursor.skipOperator(","))
      break;
    comma = true;
  }
  if (node->items.empty())
    return cursor.unexpected("name");
  if (!comma)
    return std::move(node->items[0]);
  return finish(std::move(node));
}

} // namespace fusec::text::jinja
