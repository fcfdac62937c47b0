//===- CmdVerify.cpp - fusec verify: a model against itself ----------------===//
#include "runtime/base/AtomicFile.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/VerifySession.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>

namespace fusec {

namespace {

/// What is run when the user gives nothing: ordinary words, digits, marks and another script, so
/// that common and rare tokens occur.
constexpr const char *builtInPrompt =
    "Once upon a time there was a small lighthouse on a rock far out in the sea. Every evening at 7:45 its keeper, "
    "an old woman named Ada, climbed the 132 steps to the lamp and lit it. One night the fog was so thick that she "
    "could not see her own hands. \"Who is there?\" she called, because somebody was singing down by the water. Nobody "
    "answered; only the waves went on, slow and heavy, as if they were counting: one, two, three. In the morning she "
    "wrote into her book: `wind = 3; visibility < 0.1 km;` and below it, in her best handwriting, l'\xC3\xA9toile et "
    "la "
    "mer. Then she made tea, fed the cat, and thought about how strange it is that light, which weighs nothing at all, "
    "can hold back a ship of twenty thousand tons. ";

class VerifyCommand final : public Command {
public:
  void declare(CLI::App &app) override;
  int execute(const Environment &environment) override;

private:
  Result<std::string> promptText();

  VerifyOptions options;
  std::string prompt, promptFile;
  bool json = false;
  CLI::Option *promptOption = nullptr;
};

void VerifyCommand::declare(CLI::App &app) {
  options.model.declare(app);
  promptOption = app.add_option("-p,--prompt", prompt, "text to run; repeated or cut to --tokens");
  app.add_option("-f,--prompt-file", promptFile, "read the text from a file; - = standard input")
      ->excludes(promptOption);
  app.add_option("--tokens", options.lengths.promptTokens, "tokens of the prompt")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--generate", options.lengths.generateTokens, "tokens of the greedy continuation")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--reference", options.referenceTokens,
                 "also interpret the first so many tokens in double (slow); without a number: 4")
      ->expected(0, 1)
      ->default_str("4")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option(
         "--row", options.pickedRows,
         "only this comparison (may be repeated): fused, extensions, derived, repeat, graphs, threads, chunks, decode, "
         "level, reference")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(
          {"fused", "extensions", "derived", "repeat", "graphs", "threads", "chunks", "decode", "level", "reference"}));
  app.add_flag("--bisect", options.bisect, "search for the first fusion that changes a bit, though none fails");
  app.add_flag("!--no-bisect", options.searchFailures, "do not search for the fusion to blame");
  app.add_option("--fusion-limit", options.fusionLimit, "verify with only the first so many fusions")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--json", json, "print one JSON object");
  app.footer("Compiles the model in several ways, runs all on the same text, and compares every logit.\n"
             "Threads, chunks and repeats must give equal bits; fusion, derivation and CPU levels may\n"
             "round differently, within a bound measured on this model. When fusion goes beyond it, the\n"
             "first fusion to blame is searched for and named. An artifact can be compared with itself\n"
             "only. Exit code: 0 all passed, 1 not, 2 usage. docs/verify.md says what each row proves.\n\n"
             "Examples:\n"
             "  fusec verify model.gguf\n"
             "  fusec verify model.gguf --tokens 512 --threads 4 --json\n"
             "  fusec verify model.gguf --row fused --bisect         # the first fusion that changes a bit\n"
             "  fusec verify model.gguf --reference 8                # and against arithmetic in double\n"
             "  fusec verify model.gguf --target cuda                # on the GPU; level rows compare it with the CPU\n"
             "  fusec verify model.fusec                             # an artifact: threads, chunks, repeats");
}

Result<std::string> VerifyCommand::promptText() {
  if (!promptOption->empty()) {
    options.promptWords = {"--prompt", prompt};
    return prompt;
  }
  if (promptFile.empty())
    return std::string(builtInPrompt);
  options.promptWords = {"--prompt-file", promptFile};
  if (promptFile != "-")
    return readWholeFile(promptFile);
  return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
}

int VerifyCommand::execute(const Environment &environment) {
  Result<std::string> text = promptText();
  if (!text)
    return reportError(text.status());
  options.prompt = std::move(*text);
  Result<VerifyReport> report = VerifySession(options, environment).run();
  if (!report)
    return reportError(report.status());
  std::fputs((json ? verifyJson(*report) : verifyText(*report)).c_str(), stdout);
  return report->passed() ? ExitOk : ExitFailure;
}

} // namespace

std::unique_ptr<Command> makeVerify() { return std::make_unique<VerifyCommand>(); }

} // namespace fusec
