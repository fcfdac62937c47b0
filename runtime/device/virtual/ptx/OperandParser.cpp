//===- OperandParser.cpp - operands of instructions --------------------------===//

#include "runtime/device/virtual/ptx/OperandParser.h"

namespace fusec::virtualgpu::ptx {
namespace {

/// Operands up to `close`, comma separated.
Result<Operand> parseGroup(TokenStream &tokens, Operand::Kind kind, std::string_view close) {
  tokens.next();
  Operand group;
  group.kind = kind;
  while (!tokens.take(close)) {
    FUSEC_ASSIGN_OR_RETURN(Operand part, parseOperand(tokens));
    group.parts.push_back(std::move(part));
    if (!tokens.take(",") && !tokens.is(close))
      return tokens.unexpected("',' or '" + std::string(close) + "'");
  }
  return group;
}

/// +4, -4, +-4 after a base.
Result<int64_t> parseOffset(TokenStream &tokens) {
  int64_t sign = 0;
  while (tokens.is("+") || tokens.is("-"))
    sign = (sign == 0 ? 1 : sign) * (tokens.next().text == "-" ? -1 : 1);
  if (sign == 0)
    return int64_t(0);
  FUSEC_ASSIGN_OR_RETURN(Number number, parseNumber(tokens.next()));
  return sign * number.integer;
}

Result<Operand> parseMemory(TokenStream &tokens) {
  tokens.next();
  Operand memory;
  memory.kind = Operand::Kind::Memory;
  if (tokens.peek().kind == Token::Kind::Word)
    memory.name = tokens.next().text;
  else if (tokens.peek().kind == Token::Kind::Number) {
    FUSEC_ASSIGN_OR_RETURN(Number number, parseNumber(tokens.next()));
    memory.integer = number.integer;
  }
  FUSEC_ASSIGN_OR_RETURN(int64_t offset, parseOffset(tokens));
  memory.integer += offset;
  while (tokens.take(",")) {
    FUSEC_ASSIGN_OR_RETURN(Operand part, parseOperand(tokens));
    memory.parts.push_back(std::move(part));
  }
  FUSEC_RETURN_IF_ERROR(tokens.expect("]"));
  return memory;
}

Result<Operand> parseLiteral(TokenStream &tokens, bool negated) {
  FUSEC_ASSIGN_OR_RETURN(Number number, parseNumber(tokens.next()));
  Operand literal;
  literal.kind = number.isFloat ? Operand::Kind::Float : Operand::Kind::Integer;
  literal.integer = negated ? -number.integer : number.integer;
  literal.floating = negated ? -number.floating : number.floating;
  literal.doubleBits = number.doubleBits;
  return literal;
}

Result<Operand> parseName(TokenStream &tokens) {
  Operand named;
  FUSEC_ASSIGN_OR_RETURN(named.name, tokens.word("an operand"));
  named.kind = named.name == "_" ? Operand::Kind::Sink : Operand::Kind::Name;
  if (named.kind == Operand::Kind::Name && (tokens.is("+") || tokens.is("-"))) {
    FUSEC_ASSIGN_OR_RETURN(named.integer, parseOffset(tokens));
  }
  if (!tokens.take("|"))
    return named;
  Operand pair;
  pair.kind = Operand::Kind::Pair;
  pair.parts.push_back(std::move(named));
  FUSEC_ASSIGN_OR_RETURN(Operand second, parseOperand(tokens));
  pair.parts.push_back(std::move(second));
  return pair;
}

} // namespace

Result<Operand> parseOperand(TokenStream &tokens) {
  if (tokens.is("{"))
    return parseGroup(tokens, Operand::Kind::Vector, "}");
  if (tokens.is("("))
    return parseGroup(tokens, Operand::Kind::List, ")");
  if (tokens.is("["))
    return parseMemory(tokens);
  bool inverted = tokens.take("!");
  bool negated = tokens.take("-");
  if (tokens.peek().kind == Token::Kind::Number)
    return parseLiteral(tokens, negated);
  FUSEC_ASSIGN_OR_RETURN(Operand named, parseName(tokens));
  named.inverted = inverted;
  named.negated = negated;
  return named;
}

} // namespace fusec::virtualgpu::ptx
