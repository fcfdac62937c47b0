//===- ApiOptions.h - how the routes behave --------------------------------------===//
//
// Plain data, set once from the command line of `fusec serve`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace fusec::serve {

struct ApiOptions {
  std::string modelName = {}; ///< What /v1/models lists and `model` must name; empty = the artifact's name.
  std::string version = {};   ///< Of /version.

  // Who may ask (docs/serving/security.md).
  std::vector<std::string> apiKeys = {};     ///< Empty = everybody may.
  std::string adminKey = {};                 ///< Empty = nobody may use /admin.
  std::vector<std::string> corsOrigins = {}; ///< Web pages that may ask, such as "https://chat.example"; "*" = all.

  // How much one may ask.
  int64_t maxPromptTokens = 0;              ///< 0 = what the context holds.
  int maxN = 16;                            ///< Texts per prompt.
  int maxPrompts = 128;                     ///< Prompts per request.
  int maxInputs = 2048;                     ///< Inputs per embedding request.
  int64_t maxConcurrent = 1024;             ///< Generation and embedding requests that are accepted and not finished.
  int64_t maxQueue = 512;                   ///< Of those, without a first token or embeddings.
  std::chrono::seconds requestTimeout{600}; ///< 0 = none.

  // What is told.
  bool page = true; ///< The web page at / (docs/serving/page.md).
  bool logPrompts = false;
  bool metricsAliasVllm = false;       ///< Each metric also under vLLM's name.
  std::chrono::seconds stuckAfter{60}; ///< /health: no step for so long with work to do.
  int workers = 2;                     ///< Threads that parse, tokenize and compile grammars.
};

} // namespace fusec::serve
