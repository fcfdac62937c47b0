//===- Parser.cpp - template source to statements ----------------------------===//
#include "runtime/text/jinja/Parser.h"

#include "runtime/text/jinja/ExprParser.h"

#include <algorithm>

namespace fusec::text::jinja {

namespace {

using StmtPtr = std::unique_ptr<Stmt>;

int heightOf(const ExprPtr &e) { return e ? e->depth : 0; }
int heightOf(const Body &body) {
  int height = 0;
  for (const StmtPtr &s : body)
    height = std::max(height, s->depth);
  return height;
}

class Parser {
public:
  explicit Parser(std::vector<Token> tokens) : cursor(std::move(tokens)), expressions(cursor) {}

  Result<Body> run() {
    Body body;
    FUSEC_RETURN_IF_ERROR(parseUntil({}, body));
    if (!expressions.unknownNames().empty())
      return expressions.unknownNames().front();
    return body;
  }

private:
  using EndNames = std::initializer_list<std::string_view>;
  using Handler = Result<StmtPtr> (Parser::*)();
  struct Tag {
    std::string_view name;
    Handler handler;
  };
  static const Tag kTags[];

  StmtPtr make(StmtKind kind) const {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = cursor.current().line;
    return stmt;
  }

  Result<StmtPtr> finish(StmtPtr stmt) const {
    int height = std::max({heightOf(stmt->target), heightOf(stmt->value), heightOf(stmt->filter), heightOf(stmt->body),
                           heightOf(stmt->otherwise)});
    for (const Branch &b : stmt->branches)
      height = std::max({height, heightOf(b.condition), heightOf(b.body)});
    for (const auto &[target, value] : stmt->bindings)
      height = std::max(height, heightOf(value));
    if (stmt->macro) {
      height = std::max(height, heightOf(stmt->macro->body));
      for (const Parameter &p : stmt->macro->parameters)
        height = std::max(height, heightOf(p.fallback));
    }
    stmt->depth = height + 1;
    if (stmt->depth > kMaxTreeDepth)
      return TokenCursor::failAt(stmt->line,
                                 "the template nests statements deeper than " + std::to_string(kMaxTreeDepth));
    return stmt;
  }

  /// Statements up to a tag named in `ends`, whose name token becomes current; up to the end without `ends`.
  Status parseUntil(EndNames ends, Body &body) {
    if (++nesting > kMaxTreeDepth)
      return cursor.fail("the template nests statements deeper than " + std::to_string(kMaxTreeDepth));
    while (cursor.current().kind != TokenKind::End) {
      if (cursor.current().kind == TokenKind::BlockBegin) {
        cursor.next();
        bool ended = std::any_of(ends.begin(), ends.end(), [&](auto name) { return cursor.current().isName(name); });
        if (ended) {
          --nesting;
          return {};
        }
      }
      FUSEC_ASSIGN_OR_RETURN(StmtPtr stmt, parseOne());
      body.push_back(std::move(stmt));
    }
    --nesting;
    if (ends.size() == 0)
      return {};
    return cursor.fail("Unexpected end of template. Jinja was looking for the following tags: " + listed(ends) + ".");
  }

  static std::string listed(EndNames names) {
    std::string out;
    for (std::string_view name : names)
      out += (out.empty() ? "'" : " or '") + std::string(name) + "'";
    return out;
  }

  Result<StmtPtr> parseOne() {
    if (cursor.current().kind == TokenKind::Data) {
      StmtPtr stmt = make(StmtKind::Data);
      stmt->data = Value::trusted(cursor.next().text);
      return stmt;
    }
    if (cursor.current().kind == TokenKind::VariableBegin) {
      cursor.next();
      StmtPtr stmt = make(StmtKind::Output);
      FUSEC_ASSIGN_OR_RETURN(stmt->value, expressions.parseTuple({}));
      FUSEC_RETURN_IF_ERROR(cursor.expectKind(TokenKind::VariableEnd, "end of print statement"));
      return finish(std::move(stmt));
    }
    return parseTag();
  }

  Result<StmtPtr> parseTag();

  /// The rest of the opening tag, then its body; the end tag's name is consumed.
  Status parseBody(EndNames ends, Body &body, std::string *endName = nullptr) {
    cursor.skipOperator(":");
    FUSEC_RETURN_IF_ERROR(cursor.expectKind(TokenKind::BlockEnd, "end of statement block"));
    FUSEC_RETURN_IF_ERROR(parseUntil(ends, body));
    const Token &end = cursor.next();
    if (endName)
      *endName = end.text;
    return {};
  }
  /// A body with its own frame: unknown filters in it are errors at once.
  Status parseFrame(EndNames ends, Body &body, std::string *endName = nullptr) {
    bool wasSoft = std::exchange(expressions.soft, false);
    Status status = parseBody(ends, body, endName);
    expressions.soft = wasSoft;
    return status;
  }

  Result<StmtPtr> parseIf() {
    StmtPtr stmt = make(StmtKind::If);
    bool wasSoft = std::exchange(expressions.soft, true);
    std::string end = "elif";
    while (end != "endif") {
      Branch branch;
      if (end == "elif") {
        FUSEC_ASSIGN_OR_RETURN(branch.condition, expressions.parseTuple({.conditional = false}));
        FUSEC_RETURN_IF_ERROR(parseBody({"elif", "else", "endif"}, branch.body, &end));
      } else {
        FUSEC_RETURN_IF_ERROR(parseBody({"endif"}, branch.body, &end));
      }
      stmt->branches.push_back(std::move(branch));
    }
    expressions.soft = wasSoft;
    return finish(std::move(stmt));
  }

  Result<StmtPtr> parseFor() {
    StmtPtr stmt = make(StmtKind::For);
    FUSEC_ASSIGN_OR_RETURN(stmt->target, expressions.parseTarget(false, "in"));
    if (!cursor.skipName("in"))
      return cursor.unexpected("in");
    FUSEC_ASSIGN_OR_RETURN(stmt->value, expressions.parseTuple({.conditional = false, .endName = "recursive"}));
    if (cursor.skipName("if")) {
      FUSEC_ASSIGN_OR_RETURN(stmt->filter, expressions.parseExpression());
    }
    stmt->recursive = cursor.skipName("recursive");
    int loopsBefore = expressions.timesSeen("loop");
    std::string end;
    ++loopDepth;
    FUSEC_RETURN_IF_ERROR(parseFrame({"endfor", "else"}, stmt->body, &end));
    --loopDepth;
    stmt->usesLoop = stmt->recursive || expressions.timesSeen("loop") != loopsBefore;
    if (end == "else")
      FUSEC_RETURN_IF_ERROR(parseFrame({"endfor"}, stmt->otherwise));
    return finish(std::move(stmt));
  }

  Result<StmtPtr> parseSet() {
    StmtPtr stmt = make(StmtKind::Set);
    FUSEC_ASSIGN_OR_RETURN(stmt->target, expressions.parseTarget(true, {}));
    if (cursor.skipOperator("=")) {
      FUSEC_ASSIGN_OR_RETURN(stmt->value, expressions.parseTuple({}));
      return finish(std::move(stmt));
    }
    stmt->kind = StmtKind::SetBlock;
    FUSEC_ASSIGN_OR_RETURN(stmt->value,
                           expressions.parseFilters(expressions.make(ExprKind::BlockContent, stmt->line), false));
    FUSEC_RETURN_IF_ERROR(parseFrame({"endset"}, stmt->body));
    return finish(std::move(stmt));
  }

  Status parseSignature(MacroDef &macro) {
    FUSEC_RETURN_IF_ERROR(cursor.expectOperator("("));
    while (!cursor.current().isOperator(")")) {
      if (!macro.parameters.empty())
        FUSEC_RETURN_IF_ERROR(cursor.expectOperator(","));
      Parameter parameter;
      FUSEC_ASSIGN_OR_RETURN(parameter.name, cursor.expectName());
      if (cursor.skipOperator("=")) {
        FUSEC_ASSIGN_OR_RETURN(parameter.fallback, expressions.parseExpression());
      } else if (!macro.parameters.empty() && macro.parameters.back().fallback) {
        return cursor.fail("non-default argument follows default argument");
      }
      macro.parameters.push_back(std::move(parameter));
    }
    cursor.next();
    return {};
  }

  Status parseMacroBody(MacroDef &macro, EndNames ends) {
    int before[] = {expressions.timesSeen("varargs"), expressions.timesSeen("kwargs"), expressions.timesSeen("caller")};
    int outerLoops = std::exchange(loopDepth, 0);
    FUSEC_RETURN_IF_ERROR(parseFrame(ends, macro.body));
    loopDepth = outerLoops;
    macro.usesVarargs = expressions.timesSeen("varargs") != before[0];
    macro.usesKwargs = expressions.timesSeen("kwargs") != before[1];
    macro.usesCaller = expressions.timesSeen("caller") != before[2];
    return {};
  }

  Result<StmtPtr> parseMacro() {
    StmtPtr stmt = make(StmtKind::Macro);
    stmt->macro = std::make_unique<MacroDef>();
    FUSEC_ASSIGN_OR_RETURN(stmt->macro->name, cursor.expectName());
    FUSEC_RETURN_IF_ERROR(parseSignature(*stmt->macro));
    FUSEC_RETURN_IF_ERROR(parseMacroBody(*stmt->macro, {"endmacro"}));
    return finish(std::move(stmt));
  }

  Result<StmtPtr> parseCallBlock() {
    StmtPtr stmt = make(StmtKind::CallBlock);
    stmt->macro = std::make_unique<MacroDef>();
    if (cursor.current().isOperator("("))
      FUSEC_RETURN_IF_ERROR(parseSignature(*stmt->macro));
    FUSEC_ASSIGN_OR_RETURN(stmt->value, expressions.parseExpression());
    if (stmt->value->kind != ExprKind::Call)
      return TokenCursor::failAt(stmt->line, "expected call");
    FUSEC_RETURN_IF_ERROR(parseMacroBody(*stmt->macro, {"endcall"}));
    return finish(std::move(stmt));
  }

  Result<StmtPtr> parseFilterBlock() {
    StmtPtr stmt = make(StmtKind::FilterBlock);
    FUSEC_ASSIGN_OR_RETURN(stmt->value,
                           expressions.parseFilters(expressions.make(ExprKind::BlockContent, stmt->line), true));
    FUSEC_RETURN_IF_ERROR(parseFrame({"endfilter"}, stmt->body));
    return finish(std::move(stmt));
  }

  Result<StmtPtr> parseWith() {
    StmtPtr stmt = make(StmtKind::With);
    while (cursor.current().kind != TokenKind::BlockEnd) {
      if (!stmt->bindings.empty())
        FUSEC_RETURN_IF_ERROR(cursor.expectOperator(","));
      FUSEC_ASSIGN_OR_RETURN(ExprPtr target, expressions.parseTarget(false, {}));
      FUSEC_RETURN_IF_ERROR(cursor.expectOperator("="));
      FUSEC_ASSIGN_OR_RETURN(ExprPtr value, expressions.parseExpression());
      stmt->bindings.emplace_back(std::move(target), std::move(value));
    }
    FUSEC_RETURN_IF_ERROR(parseFrame({"endwith"}, stmt->body));
    return finish(std::move(stmt));
  }

  /// Transformers' assistant mask: only the text matters here.
  Result<StmtPtr> parseGeneration() {
    StmtPtr stmt = make(StmtKind::Scope);
    int outerLoops = std::exchange(loopDepth, 0); // Its body is a function to Jinja: no break out of it.
    FUSEC_RETURN_IF_ERROR(parseFrame({"endgeneration"}, stmt->body));
    loopDepth = outerLoops;
    return finish(std::move(stmt));
  }

  Result<StmtPtr> parsePrint() {
    StmtPtr stmt = make(StmtKind::Output);
    FUSEC_ASSIGN_OR_RETURN(stmt->value, expressions.parseExpression());
    return finish(std::move(stmt));
  }

  Result<StmtPtr> parseJump(StmtKind kind) {
    if (loopDepth == 0)
      return cursor.fail("'break' and 'continue' belong inside a loop");
    return make(kind);
  }
  Result<StmtPtr> parseBreak() { return parseJump(StmtKind::Break); }
  Result<StmtPtr> parseContinue() { return parseJump(StmtKind::Continue); }

  TokenCursor cursor;
  ExprParser expressions;
  int nesting = 0;
  int loopDepth = 0;
};

const Parser::Tag Parser::kTags[] = {
    {"break", &Parser::parseBreak},
    {"call", &Parser::parseCallBlock},
    {"continue", &Parser::parseContinue},
    {"filter", &Parser::parseFilterBlock},
    {"for", &Parser::parseFor},
    {"generation", &Parser::parseGeneration},
    {"if", &Parser::parseIf},
    {"macro", &Parser::parseMacro},
    {"print", &Parser::parsePrint},
    {"set", &Parser::parseSet},
    {"with", &Parser::parseWith},
};

Result<StmtPtr> Parser::parseTag() {
  if (cursor.current().kind != TokenKind::Name)
    return cursor.fail("tag name expected");
  std::string name = cursor.current().text;
  int line = cursor.current().line;
  for (const Tag &tag : kTags) {
    if (tag.name != name)
      continue;
    cursor.next();
    FUSEC_ASSIGN_OR_RETURN(StmtPtr stmt, (this->*tag.handler)());
    stmt->line = line;
    FUSEC_RETURN_IF_ERROR(cursor.expectKind(TokenKind::BlockEnd, "end of statement block"));
    return stmt;
  }
  return cursor.fail("Encountered unknown tag '" + name + "'.");
}

} // namespace

Result<Body> parseTemplate(std::string_view source) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

} // namespace fusec::text::jinja
