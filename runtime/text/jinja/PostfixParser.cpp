//===- PostfixParser.cpp - subscripts, calls, filters and tests --------------===//
#include "runtime/text/jinja/ExprParser.h"
#include "runtime/text/jinja/Filters.h"
#include "runtime/text/jinja/Tests.h"

namespace fusec::text::jinja {

Result<ExprPtr> ExprParser::parsePostfix(ExprPtr expr) {
  while (true) {
    const Token &token = cursor.current();
    if (token.isOperator(".")) {
      FUSEC_ASSIGN_OR_RETURN(expr, parseDot(std::move(expr)));
    } else if (token.isOperator("[")) {
      FUSEC_ASSIGN_OR_RETURN(expr, parseSubscript(std::move(expr)));
    } else if (token.isOperator("(")) {
      FUSEC_ASSIGN_OR_RETURN(expr, parseCall(std::move(expr)));
    } else {
      return expr;
    }
  }
}

Result<ExprPtr> ExprParser::parseFilterExpr(ExprPtr expr) {
  while (true) {
    const Token &token = cursor.current();
    if (token.isOperator("|")) {
      FUSEC_ASSIGN_OR_RETURN(expr, parseFilters(std::move(expr), false));
    } else if (token.isName("is")) {
      FUSEC_ASSIGN_OR_RETURN(expr, parseTest(std::move(expr)));
    } else if (token.isOperator("(")) {
      FUSEC_ASSIGN_OR_RETURN(expr, parseCall(std::move(expr)));
    } else {
      return expr;
    }
  }
}

Result<ExprPtr> ExprParser::parseDot(ExprPtr object) {
  int line = cursor.next().line;
  const Token &token = cursor.current();
  bool byNumber = token.kind == TokenKind::Integer;
  if (token.kind != TokenKind::Name && !byNumber)
    return cursor.fail("expected name or number");
  ExprPtr node = make(byNumber ? ExprKind::Item : ExprKind::Attribute, line);
  node->items.push_back(std::move(object));
  if (byNumber) {
    node->items.push_back(make(ExprKind::Constant, line));
    node->items.back()->value = Value::integer(token.integer);
  } else {
    node->attribute = token.text;
  }
  cursor.next();
  return finish(std::move(node));
}

Result<ExprPtr> ExprParser::parseSubscript(ExprPtr object) {
  int line = cursor.next().line;
  ExprPtr first;
  if (!cursor.current().isOperator(":")) {
    FUSEC_ASSIGN_OR_RETURN(first, parseExpression());
  }
  if (cursor.current().isOperator(":"))
    return parseSlice(std::move(object), std::move(first), line);
  ExprPtr key = std::move(first);
  if (cursor.current().isOperator(",")) { // x[a, b]: the key is a tuple.
    ExprPtr tuple = make(ExprKind::Tuple, line);
    tuple->items.push_back(std::move(key));
    while (cursor.skipOperator(",")) {
      FUSEC_ASSIGN_OR_RETURN(ExprPtr item, parseExpression());
      tuple->items.push_back(std::move(item));
    }
    FUSEC_ASSIGN_OR_RETURN(key, finish(std::move(tuple)));
  }
  FUSEC_RETURN_IF_ERROR(cursor.expectOperator("]"));
  ExprPtr node = make(ExprKind::Item, line);
  node->items.push_back(std::move(object));
  node->items.push_back(std::move(key));
  return finish(std::move(node));
}

Result<ExprPtr> ExprParser::parseSlice(ExprPtr object, ExprPtr start, int line) {
  ExprPtr node = make(ExprKind::Slice, line);
  node->items.push_back(std::move(object));
  node->items.push_back(std::move(start));
  while (node->items.size() < 4 && cursor.skipOperator(":")) {
    ExprPtr bound;
    if (!cursor.current().isOperator(":") && !cursor.current().isOperator("]")) {
      FUSEC_ASSIGN_OR_RETURN(bound, parseExpression());
    }
    node->items.push_back(std::move(bound));
  }
  node->items.resize(4);
  FUSEC_RETURN_IF_ERROR(cursor.expectOperator("]"));
  return finish(std::move(node));
}

Result<ExprPtr> ExprParser::parseCall(ExprPtr callee) {
  ExprPtr node = make(ExprKind::Call, cursor.current().line);
  node->items.push_back(std::move(callee));
  FUSEC_RETURN_IF_ERROR(parseArguments(node->arguments));
  return finish(std::move(node));
}

Status ExprParser::parseArguments(Arguments &out) {
  FUSEC_RETURN_IF_ERROR(cursor.expectOperator("("));
  bool first = true;
  while (!cursor.current().isOperator(")")) {
    if (!first)
      FUSEC_RETURN_IF_ERROR(cursor.expectOperator(","));
    if (cursor.current().isOperator(")"))
      break;
    FUSEC_RETURN_IF_ERROR(parseArgument(out));
    first = false;
  }
  cursor.next();
  return {};
}

Status ExprParser::parseArgument(Arguments &out) {
  const Status wrong = cursor.fail("invalid syntax for function call expression");
  if (cursor.skipOperator("*")) {
    if (out.spread || out.namedSpread)
      return wrong;
    FUSEC_ASSIGN_OR_RETURN(out.spread, parseExpression());
  } else if (cursor.skipOperator("**")) {
    if (out.namedSpread)
      return wrong;
    FUSEC_ASSIGN_OR_RETURN(out.namedSpread, parseExpression());
  } else if (cursor.current().kind == TokenKind::Name && cursor.look().isOperator("=")) {
    if (out.namedSpread)
      return wrong;
    Keyword keyword{cursor.next().text, nullptr};
    cursor.next();
    FUSEC_ASSIGN_OR_RETURN(keyword.value, parseExpression());
    out.named.push_back(std::move(keyword));
  } else {
    if (out.spread || out.namedSpread || !out.named.empty())
      return wrong;
    FUSEC_ASSIGN_OR_RETURN(ExprPtr value, parseExpression());
    out.positional.push_back(std::move(value));
  }
  return {};
}

Result<std::string> ExprParser::parseDottedName() {
  FUSEC_ASSIGN_OR_RETURN(std::string name, cursor.expectName());
  while (cursor.skipOperator(".")) {
    FUSEC_ASSIGN_OR_RETURN(std::string part, cursor.expectName());
    name += "." + part;
  }
  return name;
}

Result<ExprPtr> ExprParser::parseFilters(ExprPtr input, bool startInline) {
  while (startInline || cursor.skipOperator("|")) {
    startInline = false;
    ExprPtr node = make(ExprKind::Filter, cursor.current().line);
    FUSEC_ASSIGN_OR_RETURN(node->name, parseDottedName());
    if (!soft && !findFilter(node->name))
      unknown.push_back(TokenCursor::failAt(node->line, "No filter named '" + node->name + "'."));
    node->items.push_back(std::move(input));
    if (cursor.current().isOperator("("))
      FUSEC_RETURN_IF_ERROR(parseArguments(node->arguments));
    FUSEC_ASSIGN_OR_RETURN(input, finish(std::move(node)));
  }
  return input;
}

Result<ExprPtr> ExprParser::parseTest(ExprPtr input) {
  ExprPtr node = make(ExprKind::Test, cursor.next().line);
  bool negated = cursor.skipName("not");
  FUSEC_ASSIGN_OR_RETURN(node->name, parseDottedName());
  if (!soft && !findTest(node->name))
    unknown.push_back(TokenCursor::failAt(node->line, "No test named '" + node->name + "'."));
  node->items.push_back(std::move(input));
  const Token &token = cursor.current();
  bool startsOperand = token.kind == TokenKind::Name || token.kind == TokenKind::String ||
                       token.kind == TokenKind::Integer || token.kind == TokenKind::Float || token.isOperator("[") ||
                       token.isOperator("{");
  if (token.isOperator("(")) {
    FUSEC_RETURN_IF_ERROR(parseArguments(node->arguments));
  } else if (startsOperand && !token.isName("else") && !token.isName("or") && !token.isName("and")) {
    if (token.isName("is"))
      return cursor.fail("You cannot chain multiple tests with is");
    FUSEC_ASSIGN_OR_RETURN(ExprPtr operand, parsePrimary());
    FUSEC_ASSIGN_OR_RETURN(operand, parsePostfix(std::move(operand)));
    node->arguments.positional.push_back(std::move(operand));
  }
  int line = node->line;
  FUSEC_ASSIGN_OR_RETURN(ExprPtr test, finish(std::move(node)));
  if (!negated)
    return test;
  ExprPtr inverse = make(ExprKind::Not, line);
  inverse->items.push_back(std::move(test));
  return finish(std::move(inverse));
}

} // namespace fusec::text::jinja
