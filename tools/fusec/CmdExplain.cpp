//===- CmdExplain.cpp - fusec explain: what the compiler decided -----------===//
#include "runtime/base/AtomicFile.h"
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
  void declare(CLI::App &app) override;
  int execute(const Environment &environment) override;

private:
  Status resolve();
  Status publish(const ExplainOutput &output) const;

  std::vector<std::string> models;
  std::string html, timings, writePlan;
  FusionPlanOption fusionPlan;
  KvDtypeOption kvDtype;
  KvPageOption kvPage;
  ExtensionOptions extensions;
  bool json = false, diff = false;
  ExplainOptions options;
};

void ExplainCommand::declare(CLI::App &app) {
  app.add_option("MODEL", models, "GGUF file or Hugging Face directory; two of them with --diff")
      ->required()
      ->expected(1, 2);
  app.add_option("--tokens", options.tokens, "tokens of the step that bytes are counted for")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20))
      ->capture_default_str();
  app.add_option("--context", options.context, "positions in the cache after that step")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 30))
      ->capture_default_str();
  app.add_option("--level", options.levels, "CPU level; default: the best this CPU runs")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"avx2", "avx512"}));
  kvDtype.declare(app);
  kvPage.declare(app);
  fusionPlan.declare(app);
  extensions.declare(app);
  const char *group = "Forms";
  app.add_flag("--json", json, "print one JSON object")->group(group);
  app.add_flag("--html{-}", html, "print one self-contained page; --html=FILE writes it there")->group(group);
  app.add_option("--kernel", options.kernel, "show this kernel with its IR")->group(group);
  app.add_option("--write-fusion-plan", writePlan, "write every candidate to this file, to edit and replay")
      ->group(group);
  app.add_flag("--diff", diff,
               "compare two: models, JSON reports or fusion plans; exits with 0 (same), 1 (differ) or 2 (error)")
      ->group(group);
  app.add_option("--timings", timings, "kernel times of `fusec bench --kernel-times`, for the roofline")->group(group);
  app.add_flag("--times", options.phaseTimes, "show the compile time of each phase")->group(group);
  app.add_option("--compile-from", options.compileFrom, "MODEL is IR (.mlir) of this phase: import or primitives")
      ->check(CLI::IsMember({"import", "primitives"}))
      ->group(group);
  app.footer("Shows every kernel, the ops fused into it, the bytes it reads and writes against the\n"
             "least possible, and the fusions that were refused, each with its reason.\n\n"
             "Examples:\n"
             "  fusec explain model.gguf\n"
             "  fusec explain model.gguf --context 4096 --html=model.html\n"
             "  fusec explain model.gguf --kernel k3\n"
             "  fusec explain model.gguf --write-fusion-plan plan.txt    # edit it, then:\n"
             "  fusec run model.gguf --fusion-plan=plan.txt\n"
             "  fusec explain --diff a.gguf b.gguf");
}

/// From what was said to what the compiler is asked.
Status ExplainCommand::resolve() {
  if (diff != (models.size() == 2))
    return invalidArgument(diff ? "explain: --diff needs two models, JSON reports or fusion plans"
                                : "explain: expected one MODEL, found two; compare them with --diff");
  if (diff && (!html.empty() || !writePlan.empty() || !options.kernel.empty()))
    return invalidArgument("explain: --diff prints a table or --json only");
  if (options.tokens > options.context)
    return invalidArgument("explain: --tokens " + std::to_string(options.tokens) + " is more than --context " +
                           std::to_string(options.context) + ": the step's own tokens are in the cache, too");
  options.model = models.front();
  if (diff)
    options.other = models.back();
  options.form = json ? ReportForm::Json : ReportForm::Text;
  options.html = !html.empty();
  options.kvDtype = kvDtype.type();
  options.pageTokens = kvPage.chosen();
  options.fusionPlan = fusionPlan.file;
  options.extensions = extensions.files;
  options.timings = timings;
  return {};
}

Status ExplainCommand::publish(const ExplainOutput &output) const {
  if (!writePlan.empty())
    FUSEC_RETURN_IF_ERROR(writeFileAtomically(writePlan, output.plan));
  if (options.html && html != "-")
    FUSEC_RETURN_IF_ERROR(writeFileAtomically(html, output.page));
  // A file that was asked for is the answer; the report is printed when nothing else is, or by name.
  const bool toFile = !writePlan.empty() || (options.html && html != "-");
  if (html == "-")
    std::fputs(output.page.c_str(), stdout);
  else if (!toFile || json || !options.kernel.empty())
    std::fputs(output.report.c_str(), stdout);
  else
    for (const std::string &file : {writePlan, html})
      if (!file.empty())
        std::printf("%s\n", file.c_str());
  return {};
}

int ExplainCommand::execute(const Environment &environment) {
  if (Status usage = resolve(); !usage.ok()) {
    reportError(usage);
    return ExitUsage;
  }
  ProgressBar bar(environment);
  options.progress = [&bar](std::string_view stage, double fraction) { bar.update(stage, fraction); };
  Result<ExplainOutput> output = explainModel(options);
  bar.finish();
  if (!output) {
    // As diff does: 1 says that two differ, 2 that they could not be compared.
    int code = reportError(output.status());
    return diff ? int(ExitUsage) : code;
  }
  if (Status status = publish(*output); !status.ok())
    return reportError(status);
  return output->same ? ExitOk : ExitFailure;
}

} // namespace

std::unique_ptr<Command> makeExplain() { return std::make_unique<ExplainCommand>(); }

} // namespace fusec
