//===- LibraryProductTest.cpp - models whose large products a library computes ------===//
//
// Compiled for sm_80 and run by the CUDA code on the fake driver (the virtual
// device, which checks every access) with the fake cuBLASLt, which checks what it
// is asked for and multiplies.
//
//===----------------------------------------------------------------------===//
#include "runtime/exec/Executor.h"
#include "test/e2e/CompiledModels.h"
#include "test/e2e/ModelFiles.h"
#include "test/e2e/RandomModel.h"
#include "test/unit/models/TempDirectory.h"
#include "tools/fusec/Compiler.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <dlfcn.h>
#include <fstream>

namespace fusec::e2e {
namespace {

using runtime::Engine;
using runtime::LogitRows;
using runtime::TokenId;
using testing::HasSubstr;

int libraryProducts() {
  void *library = dlopen(FUSEC_FAKE_CUBLASLT, RTLD_NOW | RTLD_LOCAL);
  auto function = library ? reinterpret_cast<int (*)()>(dlsym(library, "fakeCublasLtProducts")) : nullptr;
  return function ? function() : -1;
}

/// The fake driver takes PTX alone.
void removeImages(const fs::path &artifact) {
  nlohmann::json manifest = readJson(artifact / "manifest.json");
  for (nlohmann::json &target : manifest["targets"])
    for (nlohmann::json &kernel : target["kernels"])
      for (nlohmann::json &variant : kernel["variants"])
        variant.erase("image");
  std::ofstream(artifact / "manifest.json") << manifest.dump();
}

/// A tiny Qwen2, whose feed-forward network is made as wide as the library takes it, compiled with and without.
class LibraryProductModel : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = new TempDirectory;
    // A library that always pays: from 64 tokens on, the fewest that are considered.
    std::ofstream(folder->path() / "rates.json")
        << R"({"kernel_flops": 1, "library_flops": 1e15, "bytes_per_second": 1e15, "launch_seconds": 1e-15})";
    for (const nlohmann::json &model : readJson(fs::path(FUSEC_SOURCE_DIR) / "test/golden/e2e/tiny.json"))
      if (model["name"] == "qwen2-llama3-rope")
        record = model;
    widenFeedForward();
    writeTinyModel(record, folder->path() / "model");
    called = compile("called", (folder->path() / "rates.json").string());
    if (called)
      plain = compile("plain", "off");
  }
  static void TearDownTestSuite() { delete folder; }

  void SetUp() override {
    setenv("FUSEC_LIBCUDA", FUSEC_FAKE_LIBCUDA, 1);
    setenv("FUSEC_CUBLASLT", FUSEC_FAKE_CUBLASLT, 1);
    if (!called && called.status().message().find("NVRTC") != std::string::npos)
      GTEST_SKIP() << called.status().message();
    ASSERT_TRUE(called) << called.status().message();
    ASSERT_TRUE(plain) << plain.status().message();
  }
  void TearDown() override {
    for (const char *name : {"FUSEC_LIBCUDA", "FUSEC_CUBLASLT", "FUSEC_FAKE_CUBLASLT"})
      unsetenv(name);
  }

  static void widenFeedForward() {
    const int64_t odd = record["config"]["intermediate_size"], wide = (odd + 7) / 8 * 8;
    record["config"]["intermediate_size"] = wide;
    for (nlohmann::json &tensor : record["tensors"])
      if (tensor[0].get<std::string>().find("mlp") != std::string::npos)
        for (nlohmann::json &extent : tensor[1])
          if (extent == odd)
            extent = wide;
  }

  static Result<fs::path> compile(const std::string &name, const std::string &products) {
    CompileOptions options;
    options.model = folder->path() / "model";
    options.output = folder->path() / name;
    options.target = "cuda:sm_80";
    options.math = "bf16";
    options.libraryProducts = products;
    options.kernelCache = folder->path();
    Result<fs::path> artifact = compileModel(options);
    if (artifact)
      removeImages(*artifact);
    return artifact;
  }

  static Result<std::unique_ptr<Engine>> open(const fs::path &artifact) {
    runtime::EngineOptions options;
    options.artifact = artifact;
    options.device = "cuda";
    options.contextTokens = 128;
    return Engine::create(options);
  }

  static inline TempDirectory *folder = nullptr;
  static inline nlohmann::json record;
  static inline Result<fs::path> called = Status(ErrorCode::NotFound, "not compiled"),
                                 plain = Status(ErrorCode::NotFound, "not compiled");
};

TEST_F(LibraryProductModel, PrefillCallsTheLibraryAndDecodeDoesNot) {
  const std::vector<TokenId> prompt = promptOf(record);
  ASSERT_GE(prompt.size(), 64u);
  auto expected = open(*plain), actual = open(*called);
  ASSERT_TRUE(expected) << expected.status().message();
  ASSERT_TRUE(actual) << actual.status().message();
  EXPECT_THAT((*actual)->executorInfo().notes, testing::IsEmpty());
  std::vector<std::string> owners;
  for (const runtime::MemoryPlan::Row &row : (*actual)->memory().rows)
    owners.push_back(row.name);
  EXPECT_THAT(owners, testing::Contains("cuBLASLt 13.0 workspace (GPU)"));

  const int before = libraryProducts();
  auto kernels = (*expected)->logits(prompt, LogitRows::All);
  ASSERT_TRUE(kernels) << kernels.status().message();
  EXPECT_EQ(libraryProducts(), before);
  auto library = (*actual)->logits(prompt, LogitRows::All);
  ASSERT_TRUE(library) << library.status().message();
  // Of each layer: attention's inputs and output, three of the feed-forward network.
  const int products = libraryProducts() - before;
  EXPECT_EQ(products, 5 * record["config"]["num_hidden_layers"].get<int>());
  // Another order of sums moves few of the rounded activations to a neighbour, 2^-8 away.
  ASSERT_EQ(kernels->size(), library->size());
  double worst = 0;
  for (size_t i = 0; i < kernels->size(); ++i)
    worst = std::max(worst, std::abs(double((*kernels)[i]) - double((*library)[i])));
  EXPECT_LE(worst, record["max_logit"].get<double>() * 0x1p-8);
  EXPECT_GT(worst, 0) << "the library's sums have an order of their own";

  // Steps of few tokens and decode steps are the kernels'.
  const std::vector<TokenId> few(prompt.begin(), prompt.begin() + 10);
  EXPECT_EQ(greedy(**actual, few, 3), greedy(**expected, few, 3));
  EXPECT_EQ(libraryProducts() - before, products);
  EXPECT_GT((*actual)->graphStats().replayed, 0);
}

TEST_F(LibraryProductModel, WithoutTheLibraryKernelsDoAll) {
  setenv("FUSEC_CUBLASLT", "/nowhere/libcublasLt.so", 1);
  auto actual = open(*called), expected = open(*plain);
  ASSERT_TRUE(actual) << actual.status().message();
  ASSERT_EQ((*actual)->executorInfo().notes.size(), 1u);
  EXPECT_THAT((*actual)->executorInfo().notes.front(),
              HasSubstr("large products use generated kernels: no cuBLASLt: /nowhere/libcublasLt.so not found"));
  const std::vector<TokenId> prompt = promptOf(record);
  auto without = (*actual)->logits(prompt, LogitRows::All), kernels = (*expected)->logits(prompt, LogitRows::All);
  ASSERT_TRUE(without) << without.status().message();
  EXPECT_EQ(*without, *kernels) << "the same kernels, the same bits";
}

TEST_F(LibraryProductModel, AFailedProductIsAnError) {
  auto engine = open(*called);
  ASSERT_TRUE(engine) << engine.status().message();
  setenv("FUSEC_FAKE_CUBLASLT", "fails", 1);
  auto logits = (*engine)->logits(promptOf(record), LogitRows::Last);
  ASSERT_FALSE(logits);
  EXPECT_THAT(logits.status().message(), HasSubstr("launch 'model.layers.0."));
  EXPECT_THAT(logits.status().message(), HasSubstr(": cuBLASLt: bf16 product [70, 48] x ["));
  EXPECT_THAT(logits.status().message(), HasSubstr("CUBLAS_STATUS_EXECUTION_FAILED"));
}

} // namespace
} // namespace fusec::e2e
