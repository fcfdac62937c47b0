//===- FunctionParser.cpp - .entry and .func ---------------------------------===//

#include "runtime/device/virtual/ptx/FunctionParser.h"
#include "runtime/device/virtual/ptx/OperandParser.h"
#include "runtime/device/virtual/ptx/VariableParser.h"

#include <bit>
#include <charconv>
#include <utility>

namespace fusec::virtualgpu::ptx {
namespace {

class FunctionParser {
public:
  explicit FunctionParser(TokenStream &tokens) : tokens(tokens) {}

  Result<Function> run() {
    FUSEC_RETURN_IF_ERROR(head());
    FUSEC_RETURN_IF_ERROR(attributes());
    if (tokens.take(";"))
      function.isDeclaration = true;
    else
      FUSEC_RETURN_IF_ERROR(body());
    return std::move(function);
  }

private:
  Status head() {
    function.line = tokens.line();
    function.isEntry = tokens.next().text == ".entry";
    if (!function.isEntry && tokens.is("("))
      FUSEC_RETURN_IF_ERROR(parameters(function.results));
    FUSEC_ASSIGN_OR_RETURN(function.name, tokens.word("a function name"));
    return tokens.is("(") ? parameters(function.parameters) : Status();
  }
  Status parameters(std::vector<Variable> &into) {
    FUSEC_RETURN_IF_ERROR(tokens.expect("("));
    while (!tokens.take(")")) {
      FUSEC_ASSIGN_OR_RETURN(Variable parameter, parseParameter(tokens));
      into.push_back(std::move(parameter));
      if (!tokens.take(",") && !tokens.is(")"))
        return tokens.unexpected("',' or ')'");
    }
    return {};
  }

  /// .maxntid and friends; those that only steer ptxas are skipped.
  Status attributes() {
    while (tokens.peek().kind == Token::Kind::Directive) {
      std::string_view name = tokens.next().text;
      std::vector<int> numbers;
      while (tokens.peek().kind == Token::Kind::Number) {
        FUSEC_ASSIGN_OR_RETURN(Number number, parseNumber(tokens.next()));
        numbers.push_back(static_cast<int>(number.integer));
        tokens.take(",");
      }
      FUSEC_RETURN_IF_ERROR(attribute(name, numbers));
    }
    return {};
  }
  Status attribute(std::string_view name, const std::vector<int> &numbers) {
    if (name == ".maxntid" || name == ".reqntid") {
      for (size_t i = 0; i < 3; ++i)
        (name == ".maxntid" ? function.maxThreads : function.requiredThreads)[i] = i < numbers.size() ? numbers[i] : 1;
      return {};
    }
    if (name == ".minnctapersm") {
      function.minBlocks = numbers.empty() ? 0 : numbers[0];
      return {};
    }
    for (std::string_view known : {".maxnreg", ".noreturn", ".explicitcluster", ".reqnctapercluster", ".maxclusterrank",
                                   ".maxnctapersm", ".blocksareclusters", ".abi_preserve", ".abi_preserve_control"})
      if (name == known)
        return {};
    return corruptData("PTX line " + std::to_string(tokens.line()) + ": unknown attribute '" + std::string(name) +
                       "' of function '" + function.name + "'");
  }

  Status body() {
    FUSEC_RETURN_IF_ERROR(tokens.expect("{"));
    openScope();
    while (current >= 0) {
      if (tokens.atEnd())
        return tokens.unexpected("'}' of function '" + function.name + "'");
      FUSEC_RETURN_IF_ERROR(statement());
    }
    return {};
  }
  void openScope() {
    Scope scope;
    scope.parent = current;
    function.scopes.push_back(std::move(scope));
    current = static_cast<int>(function.scopes.size()) - 1;
  }
  Scope &scope() { return function.scopes[static_cast<size_t>(current)]; }

  Status statement() {
    if (tokens.take("{"))
      return openScope(), Status();
    if (tokens.take("}")) {
      current = scope().parent;
      return {};
    }
    if (tokens.take(";"))
      return {};
    if (tokens.peek().kind == Token::Kind::Directive)
      return directive();
    if (tokens.peek().kind == Token::Kind::Word && tokens.is(":", 1))
      return label();
    return instruction();
  }

  Status directive() {
    if (tokens.is(".loc"))
      return location();
    if (tokens.take(".reg"))
      return registers();
    if (tokens.take(".pragma"))
      return pragma();
    if (startsVariable(tokens)) {
      bool isExtern = tokens.take(".extern");
      FUSEC_ASSIGN_OR_RETURN(std::vector<Variable> variables, parseVariables(tokens, isExtern));
      scope().variables.insert(scope().variables.end(), variables.begin(), variables.end());
      return {};
    }
    return tokens.unexpected("a statement");
  }
  /// .pragma "used_bytes_mask 4095": the next load needs only these of its bytes. Others say nothing about meaning.
  Status pragma() {
    constexpr std::string_view known = "used_bytes_mask ";
    const Token name = tokens.peek();
    if (name.kind == Token::Kind::String && name.text.starts_with(known)) {
      uint32_t mask = 0;
      const std::string_view digits = name.text.substr(known.size());
      std::from_chars(digits.data(), digits.data() + digits.size(), mask);
      usedBytes = static_cast<uint32_t>(std::bit_width(mask));
    }
    return skipStatement();
  }
  Status skipStatement() {
    while (!tokens.atEnd() && !tokens.take(";"))
      tokens.next();
    return {};
  }
  /// .loc file line column [, function_name ..., inlined_at ...]
  Status location() {
    int line = tokens.next().line;
    FUSEC_ASSIGN_OR_RETURN(Number file, parseNumber(tokens.next()));
    FUSEC_ASSIGN_OR_RETURN(Number number, parseNumber(tokens.next()));
    if (number.integer != 0)
      source = {static_cast<int>(file.integer), static_cast<int>(number.integer)};
    tokens.skipLine(line);
    return {};
  }
  Status registers() {
    std::optional<Type> type;
    while (tokens.peek().kind == Token::Kind::Directive)
      type = typeNamed(tokens.next().text.substr(1));
    if (!type)
      return tokens.unexpected("the type of a register");
    do {
      RegisterDeclaration made{.name = {}, .type = *type, .count = 0};
      FUSEC_ASSIGN_OR_RETURN(made.name, tokens.word("a register name"));
      if (tokens.take("<")) {
        FUSEC_ASSIGN_OR_RETURN(Number count, parseNumber(tokens.next()));
        made.count = static_cast<int>(count.integer);
        FUSEC_RETURN_IF_ERROR(tokens.expect(">"));
      }
      scope().registers.push_back(std::move(made));
    } while (tokens.take(","));
    return tokens.expect(";");
  }

  Status label() {
    std::string name(tokens.next().text);
    tokens.next();
    if (tokens.take(".branchtargets"))
      return branchTargets(name);
    if (tokens.take(".callprototype") || tokens.take(".calltargets"))
      return skipStatement();
    scope().labels[name] = function.instructions.size();
    return {};
  }
  Status branchTargets(const std::string &name) {
    std::vector<std::string> &targets = scope().branchTargets[name];
    do {
      FUSEC_ASSIGN_OR_RETURN(std::string target, tokens.word("a label"));
      targets.push_back(std::move(target));
    } while (tokens.take(","));
    return tokens.expect(";");
  }

  Status instruction() {
    Instruction made;
    made.line = tokens.line();
    made.source = source;
    made.scope = current;
    made.usedBytes = std::exchange(usedBytes, 0);
    if (tokens.take("@")) {
      made.guardInverted = tokens.take("!");
      FUSEC_ASSIGN_OR_RETURN(made.guard, tokens.word("a predicate"));
    }
    FUSEC_ASSIGN_OR_RETURN(made.opcode, tokens.word("an instruction"));
    while (!tokens.take(";")) {
      FUSEC_ASSIGN_OR_RETURN(Operand operand, parseOperand(tokens));
      made.operands.push_back(std::move(operand));
      if (!tokens.take(",") && !tokens.is(";"))
        return tokens.unexpected("',' or ';' after an operand of " + made.opcode);
    }
    function.instructions.push_back(std::move(made));
    return {};
  }

  TokenStream &tokens;
  Function function;
  int current = -1;
  SourceLine source;
  uint32_t usedBytes = 0; ///< What a pragma said of the next instruction.
};

} // namespace

Result<Function> parseFunction(TokenStream &tokens) { return FunctionParser(tokens).run(); }

} // namespace fusec::virtualgpu::ptx
