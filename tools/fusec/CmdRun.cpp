//===- CmdRun.cpp - fusec run: text from a prompt, or a chat ---------------===//
#include "runtime/base/AtomicFile.h"
#include "tools/fusec/ChatSession.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/Interrupt.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/RunStats.h"
#include "tools/fusec/SamplingOptions.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>

namespace fusec {

namespace {

class RunCommand final : public Command {
public:
  void declare(CLI::App &app) override;
  int execute(const Environment &environment) override;

private:
  Result<int> runOnce(const std::string &text);
  Result<int> runChat(const Environment &environment);
  Result<runtime::FinishReason> runTurn(ChatSession &chat, const std::string &message);
  Result<runtime::Generation> generate(std::vector<text::TokenId> promptIds);
  Result<std::vector<text::TokenId>> encodePrompt(const std::string &text);
  Result<std::string> promptText() const;

  ModelOptions modelOptions;
  SamplingOptions sampling;
  std::string prompt, promptFile, systemPrompt;
  std::vector<std::string> stopStrings;
  int64_t maxTokens = -1;
  bool raw = false, ids = false, stats = false, ignoreEos = false;
  CLI::Option *promptOption = nullptr;
  std::unique_ptr<runtime::Engine> engine;
};

void RunCommand::declare(CLI::App &app) {
  modelOptions.declare(app);
  promptOption = app.add_option("-p,--prompt", prompt, "the prompt; without it: a chat on standard input");
  app.add_option("-f,--prompt-file", promptFile, "read the prompt from a file; - = standard input")
      ->excludes(promptOption);
  app.add_option("-s,--system", systemPrompt, "system message of the conversation");
  app.add_flag("--raw", raw, "continue the prompt as it is, without chat template; control tokens may be spelled");
  app.add_option("-n,--max-tokens", maxTokens, "most tokens to generate; -1 = until the context is full")
      ->check(CLI::Range(int64_t(-1), int64_t(1) << 40))
      ->capture_default_str();
  app.add_option("--stop", stopStrings, "end before this text (may be repeated)")->allow_extra_args(false);
  app.add_flag("--ignore-eos", ignoreEos, "go on after the model's end-of-text token");
  app.add_flag("--ids", ids, "print token ids instead of text");
  app.add_flag("--stats", stats, "print rates and memory to standard error at the end");
  sampling.declare(app);
  app.footer("Examples:\n"
             "  fusec run model.gguf -p \"Why is the sky blue?\" --max-tokens 100\n"
             "  fusec run model.gguf --raw -p \"Once upon a time\" --temperature 0 --ids\n"
             "  fusec run model/ --system \"Answer in rhymes.\"      # a chat; Ctrl-D ends it\n"
             "  fusec run model.gguf --target cuda -p Hello           # on the first GPU\n"
             "  fusec run model.gguf --device virtual -p Hi -n 2      # the GPU's kernels, interpreted: slow, checked\n"
             "  cat question.txt | fusec run model.gguf -f -\n\n"
             "In a chat a line that ends in \\ continues on the next one; /reset forgets the\n"
             "conversation; Ctrl-C stops an answer, and at the prompt the program.");
}

Result<std::string> RunCommand::promptText() const {
  if (promptFile.empty())
    return prompt;
  if (promptFile != "-")
    return readWholeFile(promptFile);
  return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
}

int RunCommand::execute(const Environment &environment) {
  Result<std::string> text = promptText();
  if (!text)
    return reportError(text.status());
  Result<std::unique_ptr<runtime::Engine>> opened = openEngine(modelOptions, environment);
  if (!opened)
    return reportError(opened.status());
  engine = std::move(*opened);
  const bool oneShot = promptOption->count() > 0 || !promptFile.empty();
  Result<int> code = oneShot ? runOnce(*text) : runChat(environment);
  return code ? *code : reportError(code.status());
}

Result<std::vector<text::TokenId>> RunCommand::encodePrompt(const std::string &text) {
  if (!raw && engine->chatTemplate())
    return ChatSession(engine->tokenizer(), *engine->chatTemplate(), systemPrompt).ask(text);
  if (!raw)
    std::fprintf(stderr, "fusec: note: this model has no chat template; continuing the prompt as it is\n");
  return engine->tokenizer().encode(text, {.addSpecial = true, .parseSpecial = true});
}

/// Generates from `promptIds`, streaming to standard output. Ctrl-C ends it as Cancelled.
Result<runtime::Generation> RunCommand::generate(std::vector<text::TokenId> promptIds) {
  Cancellable interrupt;
  runtime::Request request;
  request.prompt = std::move(promptIds);
  request.sampling = sampling.resolve(engine->model());
  request.maxTokens = maxTokens;
  request.stopStrings = stopStrings;
  request.ignoreEos = ignoreEos;
  request.cancel = &interrupt.flag();
  bool first = true;
  return engine->generate(request, [&](const runtime::TokenEvent &event) {
    if (!ids)
      std::fwrite(event.textDelta.data(), 1, event.textDelta.size(), stdout);
    else if (event.id != runtime::TokenEvent::noToken)
      std::printf("%s%d", first ? "" : " ", event.id);
    first = false;
    return std::fflush(stdout) == 0; // A closed pipe ends the generation.
  });
}

Result<int> RunCommand::runOnce(const std::string &text) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<text::TokenId> promptIds, encodePrompt(text));
  FUSEC_ASSIGN_OR_RETURN(runtime::Generation generation, generate(std::move(promptIds)));
  std::putchar('\n');
  if (stats)
    std::fputs(describeRun(generation, *engine).c_str(), stderr);
  return generation.reason == runtime::FinishReason::Cancelled ? ExitInterrupted : ExitOk;
}

/// One message: a line, and the following ones while a line ends in a backslash. False at the end
/// of input.
bool readMessage(bool showPrompt, std::string &message) {
  message.clear();
  std::string line;
  bool continued = false;
  do {
    if (showPrompt) {
      std::fputs(continued ? ". " : "> ", stdout);
      std::fflush(stdout);
    }
    if (!std::getline(std::cin, line))
      return continued;
    continued = line.ends_with('\\');
    if (continued)
      line.back() = '\n';
    message += line;
  } while (continued);
  return true;
}

/// One turn: the answer, streamed. On an error the question is taken back, so that a conversation
/// that outgrew the context can go on after /reset.
Result<runtime::FinishReason> RunCommand::runTurn(ChatSession &chat, const std::string &message) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<text::TokenId> promptIds, chat.ask(message));
  Result<runtime::Generation> generation = generate(std::move(promptIds));
  if (!generation) {
    chat.retract();
    return generation.status();
  }
  std::putchar('\n');
  chat.answer(generation->text);
  if (stats)
    std::fputs(describeRun(*generation, *engine).c_str(), stderr);
  return generation->reason;
}

Result<int> RunCommand::runChat(const Environment &environment) {
  if (raw || !engine->chatTemplate())
    return invalidArgument(raw ? "--raw needs a prompt: give one with -p"
                               : "this model has no chat template: give a prompt with -p");
  ChatSession chat(engine->tokenizer(), *engine->chatTemplate(), systemPrompt);
  const bool interactive = environment.stdoutIsTerminal;
  std::string message;
  while (readMessage(interactive, message)) {
    if (message.empty())
      continue;
    if (message == "/reset") {
      chat.reset();
      continue;
    }
    Result<runtime::FinishReason> reason = runTurn(chat, message);
    if (!reason && !interactive)
      return reason.status();
    if (!reason)
      reportError(reason.status());
    else if (*reason == runtime::FinishReason::Cancelled && !interactive)
      return ExitInterrupted;
  }
  if (interactive)
    std::putchar('\n');
  return ExitOk;
}

} // namespace

std::unique_ptr<Command> makeRun() { return std::make_unique<RunCommand>(); }

} // namespace fusec
