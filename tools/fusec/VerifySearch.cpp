//===- VerifySearch.cpp - which plugin, rule or fusion is to blame ---------===//
//
// Members of VerifySession. Everything is measured against the unfused model:
// plugins one by one, then rules and fusions by halving.
//
//===----------------------------------------------------------------------===//
#include "tools/fusec/VerifySession.h"

#include <algorithm>
#include <cctype>

namespace fusec {

namespace fs = std::filesystem;

/// As a shell reads it back.
static std::string shellQuoted(const std::string &word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-_./=+:,@%").find(char(c)) != std::string_view::npos;
  });
  if (plain && !word.empty())
    return word;
  std::string quoted = "'";
  for (char c : word)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// The words that make the same subject again.
std::string VerifySession::commandWith(int64_t limit) const {
  const ModelOptions &model = options.model;
  std::vector<std::string> words = {"fusec", "verify", model.model};
  auto option = [&words](const char *name, const std::string &value) {
    if (!value.empty())
      words.insert(words.end(), {name, value});
  };
  option("--level", model.level);
  option("--device", model.device.device);
  option("--target", model.device.target);
  option("--math", model.device.math == "auto" ? "" : model.device.math);
  option("--kv-dtype", model.kvDtype.name);
  option("--kv-layout", model.kvLayout.name);
  option("--kv-page-tokens", model.kvPage.tokens == 0 ? "" : std::to_string(model.kvPage.tokens));
  option("--library-products", model.device.libraryProducts);
  option("--fusion-plan", model.fusionPlan.file);
  for (const fs::path &rules : model.extensions.files.rules)
    option("--fusion-rules", rules.string());
  for (const fs::path &plugin : model.extensions.files.plugins)
    option("--load-pass-plugin", plugin.string());
  option("--tokens", std::to_string(runner->promptTokens()));
  option("--generate", std::to_string(runner->generateTokens()));
  words.insert(words.end(), options.promptWords.begin(), options.promptWords.end());
  if (limit >= 0)
    option("--fusion-limit", std::to_string(limit));
  words.insert(words.end(), {"--row", "fused", "--no-bisect"});
  std::string command;
  for (const std::string &word : words)
    command += (command.empty() ? "" : " ") + shellQuoted(word);
  return command;
}

/// How far a variant is from the unfused model, and whether that is what is searched for: any other
/// bit when `anyBit`, else more than the bound.
Result<BisectSample> VerifySession::measure(CompileOptions compile, bool anyBit) {
  FUSEC_ASSIGN_OR_RETURN(VerifyTrace trace, traceOf(std::move(compile)));
  const LogitDifference found = compareLogits(trace.logits, unfused->logits, unfused->vocab);
  const bool bad = !(found.maxRelative <= bound) || found.notNumbers > 0;
  return BisectSample{found.maxRelative, anyBit ? !found.bitEqual() : bad};
}

Status VerifySession::search(bool anyBit) {
  FUSEC_ASSIGN_OR_RETURN(bool plugin, searchPlugins(anyBit));
  return plugin ? Status() : searchFusions(anyBit);
}

/// Passes of plugins run whatever the limit says, so they are looked at first, one more at a time.
Result<bool> VerifySession::searchPlugins(bool anyBit) {
  const auto &plugins = options.model.extensions.files.plugins;
  BisectSample before;
  for (size_t count = 0; count <= plugins.size() && !plugins.empty(); ++count) {
    progress("the first " + std::to_string(count) + " plugins", 0.5);
    CompileOptions compile = compileOptions(runner->level());
    compile.extensions.plugins.resize(count);
    compile.fusionLimit = 0;
    FUSEC_ASSIGN_OR_RETURN(BisectSample sample, measure(std::move(compile), anyBit));
    if (!sample.exceeds) {
      before = sample;
      continue;
    }
    if (count == 0)
      return false;
    report.culprit = VerifyCulprit{.number = static_cast<int64_t>(count),
                                   .total = static_cast<int64_t>(plugins.size()),
                                   .fusion = {"plugin", plugins[count - 1].string(), "", ""},
                                   .before = before,
                                   .after = sample,
                                   .bound = anyBit ? 0 : bound,
                                   .command = commandWith(0),
                                   .previous = {}};
    return true;
  }
  return false;
}

Status VerifySession::searchFusions(bool anyBit) {
  std::vector<TakenFusion> taken;
  CompileOptions whole = compileOptions(runner->level());
  whole.taken = &taken;
  whole.fusionLimit = options.fusionLimit;
  FUSEC_RETURN_IF_ERROR(VerifyArtifact::compile(scratch, std::move(whole)).status());
  const auto total = static_cast<int64_t>(taken.size());
  Result<BisectResult> found = bisect(total, [&](int64_t fusions) {
    progress("the first " + std::to_string(fusions) + " of " + std::to_string(total) + " fusions", 0.5);
    CompileOptions compile = compileOptions(runner->level());
    compile.fusionLimit = fusions;
    return measure(std::move(compile), anyBit);
  });
  if (!found) {
    report.notes.push_back("Bisection: " + found.status().message() + ".");
    return {};
  }
  report.culprit = VerifyCulprit{.number = found->index + 1,
                                 .total = total,
                                 .fusion = taken[static_cast<size_t>(found->index)],
                                 .before = found->before,
                                 .after = found->after,
                                 .bound = anyBit ? 0 : bound,
                                 .command = commandWith(found->index + 1),
                                 .previous = commandWith(found->index)};
  return {};
}

} // namespace fusec
