//===- DeviceSamplingTest.cpp - ids from a compiled plan on the virtual device ----===//
//
// Small random models, with vocabularies that no tile divides, compiled for sm_80
// and run with every access checked: each row's id is the one that the sampler on
// the host takes from the row's logits, in sampled steps and in greedy ones, for
// which the head stores no logits. Steps of few rows go through other kernels
// than steps of many.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Sampler.h"
#include "runtime/exec/ExecutorFactory.h"
#include "test/e2e/ModelFiles.h"
#include "test/e2e/RandomModel.h"
#include "test/unit/models/TempDirectory.h"
#include "tools/fusec/Compiler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace fusec::e2e {
namespace {

using runtime::RowSampling;
using runtime::Sampler;
using runtime::SamplingParams;
using runtime::StepOutput;
using runtime::TokenId;

constexpr int64_t maxRows = 40;

/// A model of test/golden/e2e.
struct Model {
  const char *file, *name;
  bool findsBest = true; ///< Its head for few rows has a form that finds the best ids; else logits are stored.
};

struct Compiled {
  TempDirectory folder;
  runtime::Artifact artifact;
  int64_t vocab = 0;
  std::string skipped; ///< Why there is none.
};

fs::path writeModel(const Model &model, const fs::path &folder, int64_t &vocab) {
  const nlohmann::json records = golden(model.file);
  const nlohmann::json &record =
      *std::find_if(records.begin(), records.end(), [&](const nlohmann::json &r) { return r["name"] == model.name; });
  const bool isTiny = std::string(model.file) == "tiny.json";
  const fs::path path = folder / (isTiny ? "model" : "model.gguf");
  isTiny ? writeTinyModel(record, path) : writeStorageModel(record, path);
  vocab = vocabOf(record);
  return path;
}

void compile(const Model &model, Compiled &compiled) {
  CompileOptions options;
  options.model = writeModel(model, compiled.folder.path(), compiled.vocab);
  options.output = compiled.folder.path() / "artifact";
  options.target = "cuda:sm_80";
  Result<fs::path> path = compileModel(options);
  if (!path && path.status().message().find("NVRTC") != std::string::npos) {
    compiled.skipped = path.status().message();
    return;
  }
  ASSERT_TRUE(path) << path.status().message();
  Result<runtime::Artifact> artifact = runtime::Artifact::open(*path);
  ASSERT_TRUE(artifact) << artifact.status().message();
  compiled.artifact = std::move(*artifact);
}

/// One token of each of `count` sequences, at position 0 of a page of its own.
struct Step {
  std::vector<int32_t> tokens, positions, sequences, table, rows;

  Step(int32_t count, int64_t vocab) : positions(count, 0) {
    for (int32_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<int32_t>((5 * i + 3) % vocab));
      sequences.push_back(i);
      table.push_back(i + 1);
      rows.push_back(i);
    }
  }
  runtime::StepInput input(std::span<const RowSampling> sampling = {}) const {
    return {tokens, positions, sequences, table, 1, rows, sampling};
  }
};

SamplingParams paramsOf(int64_t row, uint64_t seed) {
  SamplingParams params;
  const float temperatures[] = {0, 1, 0.5f, 2};
  params.temperature = temperatures[row % 4];
  params.topK = row % 3 == 1 ? 12 : 0;
  params.topP = row % 5 == 2 ? 0.8f : 1;
  params.minP = row % 7 == 3 ? 0.1f : 0;
  params.seed = seed + row;
  return params;
}

class DeviceSampling : public testing::TestWithParam<Model> {
protected:
  /// Ids of a step on the device, and of the host's sampler from the step's logits.
  void expectSame(runtime::Executor &executor, const Step &step, const std::vector<SamplingParams> &params,
                  int64_t vocab, int64_t ids) {
    std::vector<Sampler> samplers;
    std::vector<RowSampling> sampling;
    for (const SamplingParams &row : params) {
      samplers.emplace_back(row, std::span<const TokenId>(), ids);
      sampling.push_back(*samplers.back().rowSampling());
    }
    Result<StepOutput> chosen = executor.step(step.input(sampling));
    ASSERT_TRUE(chosen) << chosen.status().message();
    ASSERT_EQ(chosen->choices.size(), params.size());
    const std::vector<TokenId> found(chosen->choices.begin(), chosen->choices.end());
    Result<StepOutput> scored = executor.step(step.input());
    ASSERT_TRUE(scored) << scored.status().message();
    for (size_t r = 0; r < params.size(); ++r)
      EXPECT_EQ(found[r], samplers[r].next(scored->logits.subspan(r * vocab, vocab))->id)
          << "row " << r << " of " << params.size() << ", temperature " << params[r].temperature << ", ids " << ids;
  }

  static int64_t runsOf(runtime::Executor &executor, const std::string &launch) {
    int64_t runs = 0;
    for (const runtime::LaunchTime &time : executor.takeProfile())
      runs += time.launch == launch ? time.runs : 0;
    return runs;
  }
};

TEST_P(DeviceSampling, GivesTheSamplersIds) {
  Compiled compiled;
  compile(GetParam(), compiled);
  if (HasFatalFailure())
    return;
  if (!compiled.skipped.empty())
    GTEST_SKIP() << compiled.skipped;
  const int64_t vocab = compiled.vocab;
  for (int64_t ids : {vocab, vocab / 2 - 1}) {
    runtime::ExecutorOptions options;
    options.device = "virtual";
    options.limits = {maxRows, maxRows, maxRows, 64};
    options.numPages = maxRows + 1;
    options.sampleableIds = ids;
    auto executor = runtime::createExecutor(compiled.artifact, options);
    ASSERT_TRUE(executor) << executor.status().message();
    ASSERT_TRUE((*executor)->samplesOnDevice());
    for (int32_t count : {1, 3, 8, 13, 40}) {
      const Step step(count, vocab);
      std::vector<SamplingParams> mixed;
      for (int32_t i = 0; i < count; ++i)
        mixed.push_back(paramsOf(i + (count == 1), 100 * count));
      expectSame(**executor, step, mixed, vocab, ids);
      const std::vector<SamplingParams> greedy(count, SamplingParams::greedy());
      expectSame(**executor, step, greedy, vocab, ids);
    }
    EXPECT_EQ((*executor)->graphStats().replayed, 5 * 4);

    // Few greedy rows take the head that stores no logits; one row that draws is enough for the other way.
    (*executor)->setProfiling(true);
    const Step step(3, vocab);
    std::vector<SamplingParams> rows(3, SamplingParams::greedy());
    expectSame(**executor, step, rows, vocab, ids);
    EXPECT_EQ(runsOf(**executor, GetParam().findsBest ? "best id" : "sample"), 1);
    rows[1].temperature = 1;
    expectSame(**executor, step, rows, vocab, ids);
    EXPECT_EQ(runsOf(**executor, "sample"), 1);
  }
}

/// f32 with 101 ids, and tensor cores with a quantised head; FUSEC_FULL adds others that differ in the head.
std::vector<Model> models() {
  std::vector<Model> list = {{"tiny.json", "odd"}, {"storage.json", "Q4_1"}};
  if (std::getenv("FUSEC_FULL"))
    for (const Model &model : {Model{"tiny.json", "window-1", false},
                               {"tiny.json", "qwen2-llama3-rope"},
                               {"storage.json", "F16"},
                               {"storage.json", "BF16"},
                               {"storage.json", "Q8_0"},
                               {"storage.json", "Q5_0"},
                               {"storage.json", "Q4_K"},
                               {"storage.json", "Q6_K"}})
      list.push_back(model);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceSampling, testing::ValuesIn(models()), [](const auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
} // namespace fusec::e2e
