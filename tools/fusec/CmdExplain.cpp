//===- CmdExplain.cpp - fusec explain: what the compiler decided -----------===//
#include "tools/fusec/Command.h"
#include "tools/fusec/Compiler.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/ProgressBar.h"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace fusec {

namespace {

class ExplainCommand final : public Command {
public:
  void declare(CLI::App &app) override {
    app.add_option("MODEL", model, "GGUF file, Hugging Face directory or artifact directory")->required();
    app.add_option("--kernel", options.kernel, "show this kernel with its IR");
    app.add_option("--level", options.levels, "CPU level; default: the best this CPU runs")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"avx2", "avx512"}));
    app.add_flag("--json", options.json, "print one JSON object");
    app.footer("Shows every kernel, the ops fused into it, the bytes it reads and writes against the\n"
               "least possible, and the fusions that were refused, each with its reason.\n\n"
               "Examples:\n"
               "  fusec explain model.gguf\n"
               "  fusec explain model.gguf --kernel k3");
  }

  int execute(const Environment &environment) override {
    ProgressBar bar(environment);
    options.model = model;
    options.progress = [&bar](std::string_view stage, double fraction) { bar.update(stage, fraction); };
    Result<std::string> report = explainModel(options);
    bar.finish();
    if (!report)
      return reportError(report.status());
    std::fputs(report->c_str(), stdout);
    return ExitOk;
  }

private:
  std::string model;
  ExplainOptions options;
};

} // namespace

std::unique_ptr<Command> makeExplain() { return std::make_unique<ExplainCommand>(); }

} // namespace fusec
