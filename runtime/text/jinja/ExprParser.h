//===- ExprParser.h - tokens to expression trees -----------------------------===//
//
// Jinja's expression grammar, lowest precedence first: inline if, or, and, not,
// comparison, + -, ~, * / // %, **, unary sign, postfix, filters and tests.
//
// Threading: one parser per template.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/jinja/Ast.h"
#include "runtime/text/jinja/Lexer.h"

#include <initializer_list>
#include <map>

namespace fusec::text::jinja {

/// Reads tokens one after the other; the End token is never passed.
class TokenCursor {
public:
  explicit TokenCursor(std::vector<Token> t) : tokens(std::move(t)) {}
  const Token &current() const { return tokens[position]; }
  const Token &look() const { return tokens[std::min(position + 1, tokens.size() - 1)]; }
  const Token &next() {
    const Token &token = tokens[position];
    position = std::min(position + 1, tokens.size() - 1);
    return token;
  }
  bool skipName(std::string_view name) { return current().isName(name) && (next(), true); }
  bool skipOperator(std::string_view op) { return current().isOperator(op) && (next(), true); }
  /// An error that names the current line.
  Status fail(const std::string &what) const { return failAt(current().line, what); }
  static Status failAt(int line, const std::string &what) {
    return corruptData("line " + std::to_string(line) + ": " + what);
  }
  Status expectOperator(std::string_view op);
  Status expectKind(TokenKind kind, std::string_view shown);
  Result<std::string> expectName();
  Status unexpected(std::string_view expected) const;

private:
  std::vector<Token> tokens;
  size_t position = 0;
};

class ExprParser {
public:
  struct TupleOptions {
    bool conditional = true;       ///< Inline `if` allowed inside.
    bool parenthesized = false;    ///< Inside parentheses: `()` is a tuple.
    std::string_view endName = {}; ///< A name that ends the tuple (`in`, `recursive`).
  };

  explicit ExprParser(TokenCursor &c) : cursor(c) {}

  Result<ExprPtr> parseExpression();
  Result<ExprPtr> parseTuple(TupleOptions options);
  /// A name, `name.attribute` when `namespaces`, or a tuple of these up to `endName`.
  Result<ExprPtr> parseTarget(bool namespaces, std::string_view endName);
  /// `| a | b(c)` on `input`; with `startInline` the first name comes without `|`.
  Result<ExprPtr> parseFilters(ExprPtr input, bool startInline);

  /// Checks that the tree stays within kMaxTreeDepth and sets `depth`.
  Result<ExprPtr> finish(ExprPtr expr) const;
  ExprPtr make(ExprKind kind, int line) const;

  /// How often a name was read so far; tells whether a body mentions `loop`, `caller`, ...
  int timesSeen(const std::string &name) const {
    auto found = seen.find(name);
    return found == seen.end() ? 0 : found->second;
  }
  /// Unknown filters and tests met outside of any `if`, oldest first.
  const std::vector<Status> &unknownNames() const { return unknown; }
  /// Inside an `if` an unknown filter or test is an error only when it runs.
  bool soft = false;

private:
  using Rule = Result<ExprPtr> (ExprParser::*)();
  struct OperatorRow;

  Result<ExprPtr> parseConditional();
  Result<ExprPtr> parseOr();
  Result<ExprPtr> parseAnd();
  Result<ExprPtr> parseNot();
  Result<ExprPtr> parseCompare();
  Result<ExprPtr> parseSum();
  Result<ExprPtr> parseConcat();
  Result<ExprPtr> parseProduct();
  Result<ExprPtr> parsePower();
  Result<ExprPtr> parseUnaryWithFilter() { return parseUnary(true); }
  Result<ExprPtr> parseUnary(bool withFilter);
  Result<ExprPtr> parsePrimary();
  Result<ExprPtr> parseName();
  Result<ExprPtr> parseStrings();
  Result<ExprPtr> parseList();
  Result<ExprPtr> parseDict();
  Result<ExprPtr> parsePostfix(ExprPtr expr);
  Result<ExprPtr> parseFilterExpr(ExprPtr expr);
  Result<ExprPtr> parseDot(ExprPtr object);
  Result<ExprPtr> parseSubscript(ExprPtr object);
  Result<ExprPtr> parseSlice(ExprPtr object, ExprPtr start, int line);
  Result<ExprPtr> parseCall(ExprPtr callee);
  Result<ExprPtr> parseTest(ExprPtr input);
  Result<ExprPtr> parseTargetItem(bool namespaces);
  Status parseArguments(Arguments &out);
  Status parseArgument(Arguments &out);
  Result<std::string> parseDottedName();
  /// left op right op ..., left-associative, for the operators of one precedence.
  Result<ExprPtr> parseBinary(Rule operand, std::initializer_list<OperatorRow> operators);
  Result<ExprPtr> parseLogical(Rule operand, std::string_view word, ExprKind kind);

  TokenCursor &cursor;
  std::map<std::string, int> seen;
  std::vector<Status> unknown;
  int nesting = 0;
};

} // namespace fusec::text::jinja
