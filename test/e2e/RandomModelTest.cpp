//===- RandomModelTest.cpp - features that no trained model at hand has -----===//
//
// QKV bias, a group of 7, llama3 and linear rotary scaling, partial rotary
// (bug report 16), sliding windows (bug report 15), odd sizes, and every storage
// type: compiled code against an independent float64 evaluation in numpy.
//
// Tolerance: `f32_error` of the record is the largest error over all positions
// of one float32 evaluation (numpy). fusec is another one, in other summation
// orders; 4 times that error is allowed. It is measured, not a proven bound
// (which would be larger than the differences a wrong feature makes). Leaving
// out any of the features changes logits by more than 1, and even a rotary base
// that is 1 % off or an epsilon of 1e-6 in place of 1e-5 by more than 1e-4.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/RandomModel.h"
#include "test/e2e/CompiledModels.h"
#include "test/e2e/ModelFiles.h"
#include "test/unit/models/TempDirectory.h"

#include <algorithm>
#include <cstring>

namespace fusec::e2e {
namespace {

using runtime::Engine;
using runtime::EngineOptions;
using runtime::LogitRows;
using runtime::TokenId;

const nlohmann::json &records() {
  static const nlohmann::json document = golden("tiny.json");
  return document;
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const nlohmann::json &record : records())
    list.push_back(record["name"]);
  return list;
}

const nlohmann::json &recordOf(const std::string &name) {
  return *std::find_if(records().begin(), records().end(), [&](const nlohmann::json &r) { return r["name"] == name; });
}

/// The directory of a model, written on first use.
fs::path modelOf(const std::string &name) {
  static const TempDirectory folder;
  const fs::path path = folder.path() / name;
  if (!fs::exists(path))
    writeTinyModel(recordOf(name), path);
  return path;
}

std::unique_ptr<Engine> openTiny(const std::string &name, EngineOptions options = {}) {
  auto engine = openModel(modelOf(name), options);
  EXPECT_TRUE(engine) << engine.status().message();
  return engine ? std::move(*engine) : nullptr;
}

class TinyModel : public testing::TestWithParam<std::string> {
protected:
  const nlohmann::json &record = recordOf(GetParam());
};

TEST_P(TinyModel, LogitsAgreeWithNumpy) {
  for (const std::string &level : hostLevels())
    for (int64_t chunk : {256, 13}) {
      auto engine = openTiny(GetParam(), {.threads = 2, .chunkTokens = chunk, .level = level});
      ASSERT_TRUE(engine);
      auto logits = engine->logits(promptOf(record), LogitRows::All);
      ASSERT_TRUE(logits) << logits.status().message();
      const double worst = worstDifference(record, *logits);
      EXPECT_LE(worst, 4 * record["f32_error"].get<double>()) << level << ", chunks of " << chunk;
    }
}

INSTANTIATE_TEST_SUITE_P(All, TinyModel, testing::ValuesIn(names()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// --- storage types: decoded inside the kernels -------------------------------------

const nlohmann::json &storageRecords() {
  static const nlohmann::json document = golden("storage.json");
  return document;
}

class StorageTypes : public testing::TestWithParam<size_t> {};

TEST_P(StorageTypes, LogitsAgreeWithNumpy) {
  const nlohmann::json &record = storageRecords()[GetParam()];
  const TempDirectory folder;
  const fs::path model = folder.path() / "model.gguf";
  writeStorageModel(record, model);
  for (const std::string &level : hostLevels())
    for (int64_t chunk : {256, 1, 5}) { // Three variants of each product: many rows, one, few.
      auto engine = openModel(model, {.chunkTokens = chunk, .level = level});
      ASSERT_TRUE(engine) << engine.status().message();
      auto logits = (*engine)->logits(promptOf(record), LogitRows::All);
      ASSERT_TRUE(logits) << logits.status().message();
      EXPECT_LE(worstDifference(record, *logits), 4 * record["f32_error"].get<double>())
          << level << ", chunks of " << chunk;
    }
}

INSTANTIATE_TEST_SUITE_P(All, StorageTypes, testing::Range<size_t>(0, storageRecords().size()), [](const auto &info) {
  return storageRecords()[info.param]["name"].template get<std::string>();
});

// --- bug report 15: a window of W shows W keys, the query's own included ------------

/// How the first `ids.size() - 1` tokens reach the cache before the last one is asked for.
enum class Path { Prefill, Chunks, Decode };

std::vector<float> lastLogits(const std::vector<TokenId> &ids, Path path) {
  const int64_t chunk = path == Path::Prefill ? 256 : path == Path::Chunks ? 3 : 1;
  auto engine = openTiny("window-4-one-layer", {.threads = 1, .chunkTokens = chunk});
  auto logits = engine ? engine->logits(ids) : Result<std::vector<float>>(invalidArgument("no engine"));
  EXPECT_TRUE(logits) << logits.status().message();
  return logits ? *logits : std::vector<float>();
}

bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class WindowProbe : public testing::TestWithParam<Path> {};

TEST_P(WindowProbe, SeesFourKeys) {
  const std::vector<TokenId> text = promptOf(recordOf("window-4-one-layer"));
  for (size_t length : {3, 4, 5, 8, 64, 65, 66, 68, 70}) {
    std::vector<TokenId> ids(text.begin(), text.begin() + length);
    const std::vector<float> base = lastLogits(ids, GetParam());
    ASSERT_FALSE(base.empty());
    for (size_t back = 1; back < std::min<size_t>(length, 7); ++back) {
      std::vector<TokenId> changed = ids;
      changed[length - 1 - back] ^= 1;
      EXPECT_EQ(sameBits(lastLogits(changed, GetParam()), base), back >= 4)
          << "prompt of " << length << ", token at t-" << back << " changed";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, WindowProbe, testing::Values(Path::Prefill, Path::Chunks, Path::Decode));

} // namespace
} // namespace fusec::e2e
