//===- Command.h - one verb of the tool ------------------------------------===//
//
// A verb declares its options and then runs. Declaring is separate so that help
// and shell completion come from the same declaration that parsing uses.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/fusec/Environment.h"

#include <memory>
#include <string_view>

namespace CLI {
class App;
} // namespace CLI

namespace fusec {

class Command {
public:
  virtual ~Command() = default;
  /// Adds options, positionals and the examples (footer) to `app`, bound to members of this.
  virtual void declare(CLI::App &app) = 0;
  /// Runs after a successful parse; returns an ExitCode.
  virtual int execute(const Environment &environment) = 0;
};

/// One row of the table of verbs.
struct CommandRow {
  std::string_view name;    ///< One word, or two ("bench serve").
  std::string_view summary; ///< One line for `fusec --help`.
  std::unique_ptr<Command> (*make)();
};

std::unique_ptr<Command> makeRun();
std::unique_ptr<Command> makeServe();
std::unique_ptr<Command> makeCompile();
std::unique_ptr<Command> makeInspect();
std::unique_ptr<Command> makeOpt();
std::unique_ptr<Command> makeExplain();
std::unique_ptr<Command> makeBench();
std::unique_ptr<Command> makeBenchServe();
std::unique_ptr<Command> makeEval();
std::unique_ptr<Command> makeVerify();
std::unique_ptr<Command> makeSimulate();
std::unique_ptr<Command> makeTokenize();
std::unique_ptr<Command> makeCompletion();

} // namespace fusec
