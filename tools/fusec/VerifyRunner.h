//===- VerifyRunner.h - one model under one configuration ------------------===//
//
// Every configuration runs the same token ids: the prompt and the greedy
// continuation that the first one, the subject, gave. So all logits correspond,
// also behind a token where another configuration would have gone elsewhere.
//
//   FUSEC_ASSIGN_OR_RETURN(VerifyRunner runner, VerifyRunner::create(subject, lengths, text));
//   FUSEC_ASSIGN_OR_RETURN(VerifyTrace one, runner.run({.artifact = a, .threads = 1}));
//
// Threading: one call at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "tools/fusec/VerifyComparison.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fusec {

/// How an artifact runs.
struct VerifySetup {
  std::filesystem::path artifact;
  std::string level = {};  ///< Empty: the best this CPU runs.
  int threads = 0;         ///< CPU; 0: one per physical core.
  int64_t chunkTokens = 0; ///< Tokens per step; 0: all in one.
  std::string device = {}; ///< As in runtime::EngineOptions.
  bool graphs = true;      ///< Likewise.
};

struct VerifyLengths {
  int64_t promptTokens = 192;
  int64_t generateTokens = 32;
};

class VerifyRunner {
public:
  /// Runs the subject. The text is repeated or cut to the prompt's length; both lengths are cut to
  /// the model's context. ResourceExhausted when the logits would not fit into memory comfortably.
  static Result<VerifyRunner> create(const VerifySetup &subject, VerifyLengths lengths, std::string_view text);

  Result<VerifyTrace> run(const VerifySetup &setup) const;

  const VerifyTrace &subject() const { return trace; }
  int64_t promptTokens() const { return static_cast<int64_t>(prompt.size()); }
  int64_t generateTokens() const { return generate; }
  /// Prompt and continuation.
  const std::vector<text::TokenId> &ids() const { return sequence; }
  /// Threads and level that the subject ran with.
  int threads() const { return resolvedThreads; }
  const std::string &level() const { return resolvedLevel; }
  const std::string &modelName() const { return name; }

private:
  VerifyRunner() = default;

  std::vector<text::TokenId> prompt, sequence;
  int64_t generate = 0;
  int resolvedThreads = 0;
  std::string resolvedLevel, name;
  VerifyTrace trace;
};

} // namespace fusec
