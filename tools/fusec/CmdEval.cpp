//===- CmdEval.cpp - fusec eval: perplexity of a text file -----------------===//
#include "runtime/base/AtomicFile.h"
#include "runtime/text/Tokenizer.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/EvalWindows.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/ProgressBar.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>

namespace fusec {

namespace {

struct Score {
  int64_t tokens = 0; ///< Scored ones.
  double negativeLogLikelihood = 0;

  double mean() const { return negativeLogLikelihood / static_cast<double>(tokens); }
};

class EvalCommand final : public Command {
public:
  void declare(CLI::App &app) override;
  int execute(const Environment &environment) override;

private:
  Status resolveWindow(const runtime::Engine &engine);
  Result<std::vector<text::TokenId>> readTokens(const runtime::Engine &engine) const;
  Result<Score> score(runtime::Engine &engine, const std::vector<text::TokenId> &ids,
                      const Environment &environment) const;
  void print(const Score &score, int64_t fileTokens) const;

  ModelOptions modelOptions;
  std::string file;
  int64_t window = 0, stride = 0, maxTokens = 0;
  bool json = false;
};

void EvalCommand::declare(CLI::App &app) {
  modelOptions.declare(app);
  app.add_option("TEXT", file, "UTF-8 text file")->required();
  app.add_option("--context-window", window, "tokens per window; 0 = the context, at most 2048")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--stride", stride, "tokens between window starts; 0 = the window's length")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-tokens,--max-tokens-of-file", maxTokens, "use only the file's first tokens; 0 = all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--json", json, "print one JSON object");
  app.footer("Examples:\n"
             "  fusec eval model.gguf text.txt\n"
             "  fusec eval model.gguf text.txt --device cuda:1\n"
             "  fusec eval model.gguf text.txt --context-window 1024 --stride 512 --json\n\n"
             "The text is tokenised once, with BOS where the model wants it. Each window starts from an\n"
             "empty cache. A token is scored in the first window that holds it; the first token of a\n"
             "window is not. A stride below the window's length gives every token at least\n"
             "(window - stride) tokens of context, at the price of computing more.\n"
             "perplexity = exp(mean negative log-likelihood per scored token).");
}

Status EvalCommand::resolveWindow(const runtime::Engine &engine) {
  const int64_t limit = engine.options().contextTokens;
  if (window == 0)
    window = std::min<int64_t>(limit, 2048);
  if (window < 2 || window > limit)
    return invalidArgument("--context-window: expected 2 to " + std::to_string(limit) +
                           " (the engine's context), found " + std::to_string(window));
  if (stride == 0)
    stride = window;
  if (stride > window)
    return invalidArgument("--stride: expected 1 to " + std::to_string(window) + " (the window's length), found " +
                           std::to_string(stride));
  return {};
}

Result<std::vector<text::TokenId>> EvalCommand::readTokens(const runtime::Engine &engine) const {
  FUSEC_ASSIGN_OR_RETURN(std::string content, readWholeFile(file));
  FUSEC_ASSIGN_OR_RETURN(auto ids, engine.tokenizer().encode(content));
  if (maxTokens > 0 && static_cast<int64_t>(ids.size()) > maxTokens)
    ids.resize(static_cast<size_t>(maxTokens));
  if (ids.size() < 2)
    return invalidArgument("'" + file + "': expected at least 2 tokens, found " + std::to_string(ids.size()));
  return ids;
}

Result<Score> EvalCommand::score(runtime::Engine &engine, const std::vector<text::TokenId> &ids,
                                 const Environment &environment) const {
  ProgressBar bar(environment);
  Score total;
  const auto count = static_cast<int64_t>(ids.size());
  for (const EvalWindow &w : evalWindows(count, window, stride)) {
    bar.update("scoring", double(w.scoreFrom) / double(count));
    std::span<const text::TokenId> part(ids.data() + w.begin, static_cast<size_t>(w.end - w.begin));
    FUSEC_ASSIGN_OR_RETURN(std::vector<double> logprobs, engine.logprobs(part));
    // logprobs[i] belongs to token w.begin + i + 1.
    for (int64_t token = w.scoreFrom; token < w.end; ++token)
      total.negativeLogLikelihood -= logprobs[static_cast<size_t>(token - w.begin - 1)];
    total.tokens += w.end - w.scoreFrom;
  }
  return total;
}

void EvalCommand::print(const Score &score, int64_t fileTokens) const {
  const double perplexity = std::exp(score.mean());
  if (!json) {
    std::printf("perplexity %.5f over %lld scored of %lld tokens (window %lld, stride %lld)\n", perplexity,
                static_cast<long long>(score.tokens), static_cast<long long>(fileTokens),
                static_cast<long long>(window), static_cast<long long>(stride));
    return;
  }
  const nlohmann::json report = {{"perplexity", perplexity},      {"mean_negative_log_likelihood", score.mean()},
                                 {"scored_tokens", score.tokens}, {"tokens", fileTokens},
                                 {"context_window", window},      {"stride", stride}};
  std::printf("%s\n", report.dump(2).c_str());
}

int EvalCommand::execute(const Environment &environment) {
  Result<std::unique_ptr<runtime::Engine>> engine = openEngine(modelOptions, environment);
  if (!engine)
    return reportError(engine.status());
  if (Status status = resolveWindow(**engine); !status.ok())
    return reportError(status);
  Result<std::vector<text::TokenId>> ids = readTokens(**engine);
  if (!ids)
    return reportError(ids.status());
  Result<Score> total = score(**engine, *ids, environment);
  if (!total)
    return reportError(total.status());
  print(*total, static_cast<int64_t>(ids->size()));
  return ExitOk;
}

} // namespace

std::unique_ptr<Command> makeEval() { return std::make_unique<EvalCommand>(); }

} // namespace fusec
