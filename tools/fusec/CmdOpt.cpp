//===- CmdOpt.cpp - fusec opt: passes on textual IR -------------------------===//
#include "tools/fusec/Command.h"
#include "tools/fusec/Compiler.h"

#include <CLI/CLI.hpp>

namespace fusec {

namespace {

/// Hands every word to MLIR's option parser, --help included.
class OptCommand final : public Command {
public:
  void declare(CLI::App &app) override {
    app.set_help_flag();
    app.prefix_command();
    parsed = &app;
  }

  int execute(const Environment &environment) override {
    return optMain(environment.program + " opt", parsed->remaining());
  }

private:
  CLI::App *parsed = nullptr;
};

} // namespace

std::unique_ptr<Command> makeOpt() { return std::make_unique<OptCommand>(); }

} // namespace fusec
