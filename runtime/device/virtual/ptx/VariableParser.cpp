//===- VariableParser.cpp - variables of PTX ---------------------------------===//

#include "runtime/device/virtual/ptx/VariableParser.h"

#include <cstring>

namespace fusec::virtualgpu::ptx {
namespace {

struct SpaceName {
  std::string_view directive;
  Space space;
};
constexpr SpaceName spaces[] = {{".global", Space::Global}, {".shared", Space::Shared}, {".local", Space::Local},
                                {".const", Space::Const},   {".param", Space::Param},   {".reg", Space::Param}};

class VariableParser {
public:
  explicit VariableParser(TokenStream &tokens) : tokens(tokens) {}

  /// Space, alignment, vector and type: what comes before the names.
  Result<Variable> prefix() {
    Variable variable;
    FUSEC_RETURN_IF_ERROR(space(variable));
    bool typed = false;
    while (tokens.peek().kind == Token::Kind::Directive) {
      std::string_view word = tokens.next().text.substr(1);
      if (word == "align") {
        FUSEC_ASSIGN_OR_RETURN(variable.alignment, integer());
      } else if (word == "v2" || word == "v4") {
        vector = word == "v2" ? 2 : 4;
      } else if (std::optional<Type> type = typeNamed(word)) {
        variable.type = *type;
        typed = true;
      } else if (!isPointerHint(word)) {
        return corruptData("PTX line " + std::to_string(tokens.line()) + ": unknown word '." + std::string(word) +
                           "' in a variable");
      }
    }
    if (!typed)
      return tokens.unexpected("a type");
    variable.alignment = std::max<int64_t>(variable.alignment, byteSize(variable.type) * vector);
    return variable;
  }

  /// Name, dimensions and initial value.
  Status declarator(Variable &variable) {
    variable.line = tokens.line();
    FUSEC_ASSIGN_OR_RETURN(variable.name, tokens.word("a variable name"));
    variable.elements = vector;
    while (tokens.take("[")) {
      int64_t size = 0;
      if (!tokens.is("]")) {
        FUSEC_ASSIGN_OR_RETURN(size, integer());
      }
      variable.elements *= size;
      FUSEC_RETURN_IF_ERROR(tokens.expect("]"));
    }
    return tokens.take("=") ? initial(variable) : Status();
  }

private:
  static bool isPointerHint(std::string_view word) {
    return word == "ptr" || word == "global" || word == "shared" || word == "const" || word == "local";
  }
  Status space(Variable &variable) {
    for (const SpaceName &row : spaces)
      if (tokens.take(row.directive)) {
        variable.space = row.space;
        return {};
      }
    return tokens.unexpected("a variable or function");
  }
  Result<int64_t> integer() {
    if (tokens.peek().kind != Token::Kind::Number)
      return tokens.unexpected("a number");
    FUSEC_ASSIGN_OR_RETURN(Number number, parseNumber(tokens.next()));
    return number.integer;
  }

  Status initial(Variable &variable) {
    variable.initial.assign(static_cast<size_t>(variable.bytes()), 0);
    size_t at = 0;
    return values(variable, at);
  }
  Status values(Variable &variable, size_t &at) {
    if (!tokens.take("{"))
      return value(variable, at);
    while (!tokens.take("}")) {
      FUSEC_RETURN_IF_ERROR(values(variable, at));
      if (!tokens.take(",") && !tokens.is("}"))
        return tokens.unexpected("',' or '}'");
    }
    return {};
  }
  Status value(Variable &variable, size_t &at) {
    size_t size = static_cast<size_t>(byteSize(variable.type));
    if (at + size > variable.initial.size())
      return tokens.unexpected("no more values than '" + variable.name + "' has elements");
    size_t to = std::exchange(at, at + size);
    if (tokens.peek().kind == Token::Kind::Word)
      return reference(variable, to);
    bool negative = tokens.take("-");
    FUSEC_ASSIGN_OR_RETURN(Number number, parseNumber(tokens.next()));
    int64_t bits = number.isFloat ? floatBits(number, size, negative) : negative ? -number.integer : number.integer;
    std::memcpy(variable.initial.data() + to, &bits, size);
    return {};
  }
  static int64_t floatBits(const Number &number, size_t size, bool negative) {
    double value = negative ? -number.floating : number.floating;
    int64_t bits = 0;
    float single = static_cast<float>(value);
    size == 4 ? std::memcpy(&bits, &single, 4) : std::memcpy(&bits, &value, 8);
    return bits;
  }
  /// `symbol`, `generic(symbol)` and `symbol + 4`.
  Status reference(Variable &variable, size_t to) {
    bool generic = tokens.is("generic") && tokens.is("(", 1);
    if (generic)
      tokens.next(), tokens.next();
    Variable::Reference made{static_cast<int64_t>(to), std::string(tokens.next().text), 0};
    if (generic)
      FUSEC_RETURN_IF_ERROR(tokens.expect(")"));
    if (tokens.take("+")) {
      FUSEC_ASSIGN_OR_RETURN(made.addend, integer());
    }
    variable.references.push_back(std::move(made));
    return {};
  }

  TokenStream &tokens;
  int vector = 1;
};

} // namespace

Result<std::vector<Variable>> parseVariables(TokenStream &tokens, bool isExtern) {
  VariableParser parser(tokens);
  FUSEC_ASSIGN_OR_RETURN(Variable prefix, parser.prefix());
  std::vector<Variable> variables;
  do {
    Variable variable = prefix;
    variable.isExtern = isExtern;
    FUSEC_RETURN_IF_ERROR(parser.declarator(variable));
    variables.push_back(std::move(variable));
  } while (tokens.take(","));
  FUSEC_RETURN_IF_ERROR(tokens.expect(";"));
  return variables;
}

Result<Variable> parseParameter(TokenStream &tokens) {
  VariableParser parser(tokens);
  FUSEC_ASSIGN_OR_RETURN(Variable variable, parser.prefix());
  FUSEC_RETURN_IF_ERROR(parser.declarator(variable));
  return variable;
}

bool startsVariable(const TokenStream &tokens) {
  for (const SpaceName &row : spaces)
    if (row.directive != ".reg" && tokens.is(row.directive))
      return true;
  return tokens.is(".extern") || tokens.is(".visible");
}

} // namespace fusec::virtualgpu::ptx
