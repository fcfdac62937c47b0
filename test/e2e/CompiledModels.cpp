//===- CompiledModels.cpp - models compiled once per test program -----------===//
#include "test/e2e/CompiledModels.h"

#include "runtime/device/host/CpuLevel.h"
#include "test/unit/models/TempDirectory.h"
#include "tools/fusec/Compiler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace fusec::e2e {

std::vector<std::string> hostLevels() {
  std::vector<std::string> levels;
  for (std::string_view level : runtime::cpuLevels())
    if (runtime::cpuSupports(level))
      levels.emplace_back(level);
  return levels;
}

Result<std::filesystem::path> artifactOf(const std::filesystem::path &model, StorageType kvDtype, KvLayout kvLayout) {
  static TempDirectory folder;
  static std::map<std::tuple<std::filesystem::path, StorageType, KvLayout>, std::filesystem::path> artifacts;
  if (auto known = artifacts.find({model, kvDtype, kvLayout}); known != artifacts.end())
    return known->second;
  CompileOptions options;
  options.model = model;
  options.output = folder.path() / std::to_string(artifacts.size());
  options.levels = hostLevels();
  options.kvDtype = kvDtype;
  options.kvLayout = kvLayout;
  std::error_code ignored;
  std::filesystem::remove_all(options.output, ignored); // What a failed compile left.
  FUSEC_ASSIGN_OR_RETURN(std::filesystem::path artifact, compileModel(options));
  return artifacts[{model, kvDtype, kvLayout}] = artifact;
}

Result<std::unique_ptr<runtime::Engine>> openModel(const std::filesystem::path &model, runtime::EngineOptions options,
                                                   KvLayout kvLayout) {
  FUSEC_ASSIGN_OR_RETURN(options.artifact, artifactOf(model, StorageType::F32, kvLayout));
  return runtime::Engine::create(options);
}

std::vector<runtime::TokenId> greedy(runtime::Engine &engine, const std::vector<runtime::TokenId> &prompt,
                                     int64_t count) {
  runtime::Request request;
  request.prompt = prompt;
  request.sampling.temperature = 0;
  request.maxTokens = count;
  request.ignoreEos = true;
  std::vector<runtime::TokenId> ids;
  auto done = engine.generate(request, [&](const runtime::TokenEvent &event) {
    if (event.id != runtime::TokenEvent::noToken)
      ids.push_back(event.id);
    return true;
  });
  EXPECT_TRUE(done) << done.status().message();
  return ids;
}

size_t firstDifference(const std::vector<runtime::TokenId> &a, const std::vector<runtime::TokenId> &b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

} // namespace fusec::e2e
