//===- Parser.cpp - PTX text to ptx::Module ----------------------------------===//

#include "runtime/device/virtual/ptx/Parser.h"
#include "runtime/device/virtual/ptx/FunctionParser.h"
#include "runtime/device/virtual/ptx/VariableParser.h"

namespace fusec::virtualgpu::ptx {
namespace {

class ModuleParser {
public:
  explicit ModuleParser(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

  Result<Module> run() {
    while (!tokens.atEnd())
      FUSEC_RETURN_IF_ERROR(item());
    if (module.version.empty() || module.target.empty())
      return corruptData("PTX has no .version and .target");
    return std::move(module);
  }

private:
  Status item() {
    if (tokens.take(".version"))
      return headerWord(module.version);
    if (tokens.is(".target"))
      return target();
    if (tokens.take(".address_size"))
      return addressSize();
    if (tokens.is(".file"))
      return file();
    if (tokens.take(".section"))
      return section();
    if (tokens.is(".loc"))
      return tokens.skipLine(tokens.line()), Status();
    bool isExtern = false;
    while (tokens.is(".visible") || tokens.is(".weak") || tokens.is(".common") || tokens.is(".extern"))
      isExtern |= tokens.next().text == ".extern";
    if (tokens.is(".entry") || tokens.is(".func"))
      return function();
    return variable(isExtern);
  }

  Status headerWord(std::string &into) {
    into = tokens.next().text;
    return {};
  }
  Status target() {
    int line = tokens.next().line;
    module.target = tokens.next().text;
    tokens.skipLine(line);
    return {};
  }
  Status addressSize() { return tokens.take("64") ? Status() : tokens.unexpected("an .address_size of 64"); }
  Status file() {
    int line = tokens.next().line;
    FUSEC_ASSIGN_OR_RETURN(Number index, parseNumber(tokens.next()));
    if (tokens.peek().kind != Token::Kind::String)
      return tokens.unexpected("a file name");
    module.files[static_cast<int>(index.integer)] = tokens.next().text;
    tokens.skipLine(line);
    return {};
  }
  /// Debug information, of no use here.
  Status section() {
    while (!tokens.atEnd() && !tokens.is("{"))
      tokens.next();
    while (!tokens.atEnd() && !tokens.is("}"))
      tokens.next();
    return tokens.expect("}");
  }
  Status function() {
    FUSEC_ASSIGN_OR_RETURN(Function parsed, parseFunction(tokens));
    module.functions.push_back(std::move(parsed));
    return {};
  }
  Status variable(bool isExtern) {
    FUSEC_ASSIGN_OR_RETURN(std::vector<Variable> parsed, parseVariables(tokens, isExtern));
    module.variables.insert(module.variables.end(), parsed.begin(), parsed.end());
    return {};
  }

  TokenStream tokens;
  Module module;
};

} // namespace

Result<Module> parse(std::string_view text) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(text));
  return ModuleParser(std::move(tokens)).run();
}

} // namespace fusec::virtualgpu::ptx
