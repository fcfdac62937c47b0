//===- ToyEngine.h - engines and requests on the toy model -----------------------===//
#pragma once

#include "runtime/engine/Engine.h"
#include "test/unit/runtime/ToyArtifact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace fusec::runtime::test {

/// The options as the toy's kernels need them.
inline EngineOptions toyOptions(const ToyArtifact &files, EngineOptions options = {.maxSequences = 4}) {
  options.artifact = files.directory();
  options.level = "avx2";
  options.threads = std::max(options.threads, 1);
  return options;
}

/// Null, and the test fails, when it cannot be opened.
inline std::unique_ptr<Engine> openToy(const ToyArtifact &files, EngineOptions options = {.maxSequences = 4}) {
  Result<std::unique_ptr<Engine>> engine = Engine::create(toyOptions(files, std::move(options)));
  EXPECT_TRUE(engine) << engine.status().message();
  return engine ? std::move(*engine) : nullptr;
}

inline Request greedyRequest(std::vector<TokenId> prompt, int64_t maxTokens = -1, bool ignoreEos = false) {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling = SamplingParams::greedy();
  request.maxTokens = maxTokens;
  request.ignoreEos = ignoreEos;
  return request;
}

} // namespace fusec::runtime::test
