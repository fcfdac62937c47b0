//===- ManifestTest.cpp - good, wrong and damaged manifests -------------------===//

#include "runtime/exec/Manifest.h"
#include "test/unit/runtime/ToyArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;
using nlohmann::json;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace {

Result<Manifest> parse(const json &document) { return parseManifest(document.dump(), "m.json", toyWeightsBytes); }

/// The toy manifest with the value at `pointer` replaced.
json with(const char *pointer, json value) {
  json document = json::parse(toyManifest());
  document[json::json_pointer(pointer)] = std::move(value);
  return document;
}

json without(const char *parent, const char *key) {
  json document = json::parse(toyManifest());
  document[json::json_pointer(parent)].erase(key);
  return document;
}

} // namespace

TEST(Manifest, ReadsTheToy) {
  Result<Manifest> manifest = parseManifest(toyManifest(), "m.json", toyWeightsBytes);
  ASSERT_TRUE(manifest) << manifest.status().message();
  EXPECT_EQ(manifest->model.vocabSize, toyVocab);
  EXPECT_EQ(manifest->model.compilerVersion, "test");
  EXPECT_FALSE(manifest->model.bosId);
  EXPECT_EQ(manifest->model.eosIds, std::vector<int32_t>{toyEos});
  EXPECT_EQ(manifest->model.generation.topK, 7);
  EXPECT_FALSE(manifest->model.generation.topP);
  EXPECT_EQ(manifest->buffers.size(), 9u);
  EXPECT_EQ(manifest->launches[2].args, (std::vector<int32_t>{0, 4, 7, 5, 8}));
  EXPECT_EQ(manifest->levels(TargetKind::Host), (std::vector<std::string>{"avx512", "avx2"}));
}

TEST(Manifest, ReadsHiddenStatesInPlaceOfLogits) {
  json document = with("/buffers/8/name", "hidden");
  document["model"]["embedding"] = {{"width", 20}, {"pooling", "mean"}};
  Result<Manifest> manifest = parse(document);
  ASSERT_TRUE(manifest) << manifest.status().message();
  ASSERT_TRUE(manifest->model.embedding);
  EXPECT_EQ(manifest->model.embedding->pooling, Pooling::Mean);
  EXPECT_EQ(manifest->rowOutput(), OutputKind::Hidden);
  EXPECT_EQ(manifest->findOutput(OutputKind::Hidden), 8u);
  document["model"]["embedding"]["width"] = 21;
  EXPECT_THAT(parse(document).status().message(), testing::HasSubstr("expected the output hidden f32 [R, 21]"));
}

TEST(Manifest, EvaluatesSizesAndGrids) {
  Result<Manifest> manifest = parseManifest(toyManifest(), "m.json", toyWeightsBytes);
  ASSERT_TRUE(manifest);
  SymbolValues values;
  values[Symbol::OutputRows] = 3;
  EXPECT_EQ(manifest->buffers[8].bytesAt(values), 3 * 20 * 4);
  const KernelVariants &variants = manifest->targets[0].kernels.at("logits");
  EXPECT_FALSE(variants[0].accepts(values));
  EXPECT_TRUE(variants[1].accepts(values));
  EXPECT_EQ(variants[1].programs(values), 15);
  values[Symbol::OutputRows] = INT64_MAX;
  EXPECT_EQ(variants[1].programs(values), std::nullopt);
  EXPECT_EQ(manifest->buffers[8].bytesAt(values), std::nullopt);
}

TEST(Manifest, TheLastVariantMayHaveALimit) {
  json document = json::parse(toyManifest());
  for (json &target : document["targets"])
    target["kernels"]["sum"]["variants"][0]["when"] = {{"T", 2}};
  Result<Manifest> manifest = parse(document);
  ASSERT_TRUE(manifest) << manifest.status().message();
  SymbolValues values;
  values[Symbol::Tokens] = 3;
  EXPECT_FALSE(manifest->targets[0].kernels.at("sum")[0].accepts(values));
}

struct WrongManifest {
  const char *pointer;
  json value;
  const char *message; ///< Part of the expected message.
};

class WrongManifestTest : public testing::TestWithParam<WrongManifest> {};

TEST_P(WrongManifestTest, IsRefused) {
  Result<Manifest> manifest = parse(with(GetParam().pointer, GetParam().value));
  ASSERT_FALSE(manifest);
  EXPECT_THAT(manifest.status().message(), testing::HasSubstr(GetParam().message));
  EXPECT_THAT(manifest.status().message(), testing::StartsWith("m.json: "));
}

const int64_t beyond = int64_t{1} << 41;

INSTANTIATE_TEST_SUITE_P(
    All, WrongManifestTest,
    testing::Values(
        WrongManifest{"/format", 1, "artifact format 1, this fusec reads format 4"},
        WrongManifest{"/kv/layout", "heap", "layout: expected paged or contiguous, found 'heap'"},
        WrongManifest{"/kv/layout", "contiguous",
                      "page_stride of at least 16 bytes (contiguous: a multiple of 4096), found 16"},
        WrongManifest{"/kv/page_stride", 15, "page_stride of at least 16 bytes (paged: a multiple of 1), found 15"},
        WrongManifest{"/format", "1", "key 'format'"},
        WrongManifest{"/model/vocab_size", 0, "expected 1 to 16777216, found 0"},
        WrongManifest{"/model/vocab_size", 21, "expected the output logits f32 [R, 21]"},
        WrongManifest{"/model/eos_ids", json::array({20}), "token id 20 is outside the vocabulary of 20"},
        WrongManifest{"/model/bos_id", -1, "key 'bos_id'"},
        WrongManifest{"/model/generation/temperature", 1e300, "key 'temperature'"},
        WrongManifest{"/symbols", json::array({"T", "T"}), "'T' is listed twice"},
        WrongManifest{"/symbols", json::array({"T", "S", "B", "C"}), "symbol 'R' is used but not listed"},
        WrongManifest{"/symbols/0", "X", "unknown symbol 'X'"},
        WrongManifest{"/symbols/0", 3, "expected a symbol name"},
        WrongManifest{"/kv/page_tokens", 0, "expected 1 to 65536, found 0"},
        WrongManifest{"/buffers/0/name", "token", "unknown input"},
        WrongManifest{"/buffers/1/name", "tokens", "this input is listed twice"},
        WrongManifest{"/buffers/0/dtype", "f32", "expected i32 [T], found f32 [T]"},
        WrongManifest{"/buffers/3/dims", json::array({"B", "S"}), "expected i32 [S, B], found i32 [B, S]"},
        WrongManifest{"/buffers/0/kind", "inputs", "unknown kind 'inputs'"},
        WrongManifest{"/buffers/7/dtype", "f33", "unknown dtype 'f33'"},
        WrongManifest{"/buffers/7/dims/0", -1, "expected a size from 0"},
        WrongManifest{"/buffers/7/dims/0", 1.5, "expected a size from 0"},
        WrongManifest{"/buffers/7/dims/0", "Q", "unknown symbol 'Q'"},
        WrongManifest{"/buffers/7/dims", json::array({1, 1, 1, 1, 1, 1, 1, 1, 1}), "at most 8 entries, found 9"},
        WrongManifest{"/buffers/7/slot", -1, "'slot'"},
        WrongManifest{"/buffers/5/offset", 32, "offset 32 is no multiple of 64"},
        WrongManifest{"/buffers/5/offset", 128, "do not fit the weights file of 192 bytes"},
        WrongManifest{"/buffers/5/offset", beyond, "'offset'"},
        WrongManifest{"/buffers/5/bytes", 8, "f32 [4] needs 16 bytes, found 8"},
        WrongManifest{"/buffers/5/dims/0", "T", "a weight has static dims"},
        WrongManifest{"/buffers/5/dims", json::array({1 << 30, 1 << 30, 1 << 30}), "needs too many bytes"},
        WrongManifest{"/buffers/6/page_bytes", 0, "'page_bytes'"},
        WrongManifest{"/buffers/6/dtype", "f16", "'k.0': expected f32 as in kv.dtype, found f16"},
        WrongManifest{"/kv/dtype", "bf16", "'k.0': expected bf16 as in kv.dtype, found f32"},
        WrongManifest{"/kv/dtype", "q8_0", "kv: expected dtype f32, f16, bf16 or fp8_e4m3, found 'q8_0'"},
        WrongManifest{"/kv/dtype", 16, "'dtype'"},
        WrongManifest{
            "/buffers/8/kind", "activation",
            "expected exactly one output logits and at most one choices, found 0 logits, 0 choices and 0 hidden"},
        WrongManifest{"/buffers/8/name", "scores", "unknown output, expected logits, choices or hidden"},
        WrongManifest{"/buffers/8/name", "hidden", "found 0 logits, 0 choices and 1 hidden"},
        WrongManifest{"/model/embedding", json{{"width", 20}, {"pooling", "mean"}},
                      "expected exactly one output hidden and no other, found 1 logits"},
        WrongManifest{"/model/embedding", json{{"width", 20}, {"pooling", "max"}}, "expected last, mean or cls"},
        WrongManifest{"/model/embedding", json{{"width", 0}, {"pooling", "mean"}}, "'width'"},
        WrongManifest{"/buffers/8/name", "choices", "expected the output choices i32 [R], found f32 [R, 20]"},
        WrongManifest{"/launches/0/goals", json::array({"drawn"}),
                      "expected logits, sampled or greedy, found \"drawn\""},
        WrongManifest{"/launches/0/args/0", 9, "argument 9 is none of the 9 buffers"},
        WrongManifest{"/launches/0/args/0", -1, "args[0]"},
        WrongManifest{"/launches/0/kernel", "nope", "no kernel 'nope'"},
        WrongManifest{"/targets", json::array(), "targets: expected at least one"},
        WrongManifest{"/targets/1/level", "avx512", "listed twice"},
        WrongManifest{"/targets/0/library", "../evil.so", "expected a path inside the artifact"},
        WrongManifest{"/targets/0/library", "/evil.so", "expected a path inside the artifact"},
        WrongManifest{"/targets/0/kernels/sum/variants", json::array(), "expected at least one variant"},
        WrongManifest{"/targets/0/kernels/logits/variants/0/when", json::object(),
                      "only the last variant may have no 'when', found 'toy_logits_r1'"},
        WrongManifest{"/targets/0/kernels/logits/variants/0/when", json{{"X", 1}}, "unknown symbol 'X'"},
        WrongManifest{"/targets/0/kernels/sum/variants/0/entry", "", "expected the name of an entry point"},
        WrongManifest{"/targets/0/kernels/sum/variants/0/grid/0/tile", 0, "'tile'"},
        WrongManifest{"/targets/0/kernels/sum/variants/0/grid/0/extent", true, "expected a size from 0"},
        WrongManifest{"/targets/0/kernels/sum/variants/0/scratch_bytes", beyond, "'scratch_bytes'"}));

//===----------------------------------------------------------------------===//
// CUDA targets
//===----------------------------------------------------------------------===//

namespace {

/// The toy manifest with a CUDA target behind the host's.
json withCuda() {
  json document = json::parse(toyManifest());
  json kernels = json::object();
  for (const char *name : {"append", "sum", "logits"}) {
    std::string stem = std::string("kernels/sm_80/") + name;
    kernels[name] = {{"variants",
                      {{{"entry", name},
                        {"grid", {{{"extent", "T"}, {"tile", 1}}}},
                        {"threads", 64},
                        {"shared_bytes", 1024},
                        {"registers", 40},
                        {"image", stem + ".cubin"},
                        {"ptx", stem + ".ptx"},
                        {"source", stem + ".cu"}}}}};
  }
  document["targets"].push_back({{"kind", "cuda"}, {"level", "sm_80"}, {"math", "bf16"}, {"kernels", kernels}});
  return document;
}

} // namespace

TEST(CudaManifest, ReadsATarget) {
  Result<Manifest> manifest = parse(withCuda());
  ASSERT_TRUE(manifest) << manifest.status().message();
  EXPECT_EQ(manifest->levels(TargetKind::Cuda), std::vector<std::string>{"sm_80"});
  EXPECT_EQ(manifest->levels(TargetKind::Host), (std::vector<std::string>{"avx512", "avx2"}));
  const TargetInfo &target = manifest->targets[2];
  EXPECT_EQ(target.kind, TargetKind::Cuda);
  EXPECT_EQ(target.math, "bf16");
  const KernelVariant &sum = target.kernels.at("sum")[0];
  EXPECT_EQ(sum.threads, 64);
  EXPECT_EQ(sum.sharedBytes, 1024);
  EXPECT_EQ(sum.registers, 40);
  EXPECT_EQ(sum.image, "kernels/sm_80/sum.cubin");
  EXPECT_EQ(sum.ptx, "kernels/sm_80/sum.ptx");
  EXPECT_EQ(sum.source, "kernels/sm_80/sum.cu");
}

TEST(CudaManifest, HasNoEmbeddings) {
  json document = withCuda();
  document["buffers"][8]["name"] = "hidden";
  document["model"]["embedding"] = {{"width", 20}, {"pooling", "mean"}};
  EXPECT_THAT(parse(document).status().message(),
              testing::HasSubstr("target 'sm_80': expected a CPU level: embeddings are computed on the CPU"));
}

class WrongCudaManifestTest : public testing::TestWithParam<WrongManifest> {};

TEST_P(WrongCudaManifestTest, IsRefused) {
  json document = withCuda();
  document[json::json_pointer(GetParam().pointer)] = GetParam().value;
  EXPECT_THAT(parse(document).status().message(), testing::HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongCudaManifestTest,
    testing::Values(
        WrongManifest{"/targets/2/kind", "metal", "unknown kind 'metal', expected host or cuda"},
        WrongManifest{"/targets/2/level", "avx2", "listed twice"},
        WrongManifest{"/targets/2/level", "sm_", "target 'sm_': expected a CUDA architecture such as sm_80"},
        WrongManifest{"/targets/2/level", "sm_8", "expected a CUDA architecture"},
        WrongManifest{"/targets/2/level", "sm_80ab", "expected a CUDA architecture"},
        WrongManifest{"/targets/2/level", "sm_8x", "expected a CUDA architecture"},
        WrongManifest{"/targets/2/kernels/sum/variants/0/threads", 48, "whole warps of 32, found 48"},
        WrongManifest{"/targets/2/kernels/sum/variants/0/threads", 2048, "'threads': expected 1 to 1024, found 2048"},
        WrongManifest{"/targets/2/kernels/sum/variants/0/shared_bytes", beyond, "'shared_bytes'"},
        WrongManifest{"/targets/2/kernels/sum/variants/0/shared_bytes", nullptr, "'shared_bytes'"},
        WrongManifest{"/targets/2/kernels/sum/variants/0/registers", -1, "'registers'"},
        WrongManifest{"/targets/2/kernels/sum/variants/0/image", "../k.cubin", "image '../k.cubin': expected a path"},
        WrongManifest{"/targets/2/kernels/sum/variants/0/ptx", "/k.ptx", "ptx '/k.ptx': expected a path"},
        WrongManifest{"/targets/2/kernels/sum/variants/0/source", "a/../../k.cu", "expected a path inside"},
        WrongManifest{"/launches/0/kind", "gemm", "launch kind 'gemm': this fusec runs launches of kind 'kernel'"}));

namespace {

/// The manifest for CUDA alone, with a product of a library as its last launch: [T, 16] times [8, 16].
json withProduct() {
  json document = withCuda();
  document["targets"].erase(1);
  document["targets"].erase(0);
  json &buffers = document["buffers"];
  const auto first = static_cast<int64_t>(buffers.size());
  auto add = [&](const char *name, const char *type, json dims, int64_t slot) {
    buffers.push_back({{"name", name}, {"kind", "activation"}, {"dtype", type}, {"dims", dims}, {"slot", slot}});
  };
  add("rows", "bf16", {"T", 16}, 7);
  add("weights", "bf16", {8, 16}, 8);
  add("result", "f32", {"T", 8}, 9);
  add("addend", "f32", {"T", 8}, 10);
  add("bias", "f32", {8}, 11);
  document["launches"].push_back({{"kind", "library_product"},
                                  {"name", "w"},
                                  {"args", {first, first + 1, first + 2}},
                                  {"addend", first + 3},
                                  {"path", {{"by", "library"}, {"from", 256}}}});
  return document;
}

} // namespace

TEST(ProductManifest, ReadsAProduct) {
  Result<Manifest> manifest = parse(withProduct());
  ASSERT_TRUE(manifest) << manifest.status().message();
  EXPECT_TRUE(manifest->usesLibrary());
  const LaunchInfo &launch = manifest->launches.back();
  EXPECT_EQ(launch.kind, LaunchKind::LibraryProduct);
  EXPECT_EQ(launch.addend, launch.args[2] + 1);
  EXPECT_EQ(launch.bias, -1);
  EXPECT_FALSE(parse(withCuda())->usesLibrary());
}

TEST(ProductManifest, APathIsTakenByTokensAndLibrary) {
  LaunchInfo kernels, library, always;
  kernels.path = {ProductPath::Kernels, 256};
  library.path = {ProductPath::Library, 256};
  SymbolValues values;
  for (int64_t tokens : {1, 255, 256, 1000})
    for (bool hasLibrary : {false, true}) {
      values[Symbol::Tokens] = tokens;
      const bool isCalled = hasLibrary && tokens >= 256;
      EXPECT_EQ(library.isDone(values, hasLibrary), isCalled) << tokens;
      EXPECT_EQ(kernels.isDone(values, hasLibrary), !isCalled) << tokens;
      EXPECT_TRUE(always.isDone(values, hasLibrary));
    }
}

TEST(ProductManifest, RefusesWhatIsNoProduct) {
  const json good = withProduct();
  const std::string launch = "/launches/" + std::to_string(good["launches"].size() - 1);
  const int64_t rows = good["launches"].back()["args"][0];
  auto buffer = [&](int64_t offset) { return "/buffers/" + std::to_string(rows + offset); };
  const std::tuple<std::string, json, const char *> wrong[] = {
      {launch + "/args", {rows, rows + 1}, "expected the arguments rows, weights and result, found 2"},
      {launch + "/args/0", 999, "argument 999 is none of"},
      {launch + "/addend", 999, "argument 999 is none of"},
      {launch + "/addend", rows, "expected f32 [T, 8], found 'rows' bf16 [T, 16]"},
      {launch + "/bias", rows + 4, "expected an addend or a bias, found both"},
      {launch + "/bias", -1, "expected a number from 0"},
      {launch + "/path", {{"by", "kernels"}, {"from", 256}}, "is on the library's path"},
      {launch + "/path/by", "me", "expected by kernels or library, found 'me'"},
      {launch + "/path/from", 0, "'from': expected 1 to"},
      {buffer(0) + "/dtype", "f16", "cannot multiply 'rows' f16 [T, 16] by 'weights' bf16 [8, 16]"},
      {buffer(0) + "/dims/1", 24, "cannot multiply"},
      {buffer(1) + "/dims/0", 12, "multiples of 8, found [12, 16]"},
      {buffer(1) + "/dims/0", "T", "multiples of 8, found [T, 16]"},
      {buffer(2) + "/dtype", "bf16", "expected f32 [T, 8], found 'result' bf16 [T, 8]"},
      {"/targets/0/kind", "host", "needs CUDA targets"}};
  for (const auto &[pointer, value, message] : wrong) {
    json document = good;
    document[json::json_pointer(pointer)] = value;
    if (pointer == "/targets/0/kind")
      document["targets"] = json::parse(toyManifest())["targets"];
    Result<Manifest> manifest = parse(document);
    ASSERT_FALSE(manifest) << pointer;
    EXPECT_THAT(manifest.status().message(), testing::HasSubstr(message)) << pointer;
  }
}

TEST(CudaManifest, NeedsAnImageOrPtx) {
  json document = withCuda();
  json &variant = document["targets"][2]["kernels"]["sum"]["variants"][0];
  variant.erase("image");
  EXPECT_TRUE(parse(document));
  variant.erase("ptx");
  EXPECT_THAT(parse(document).status().message(), testing::HasSubstr("'sum': expected an image or ptx"));
}

TEST(Manifest, NamesWhatIsMissing) {
  const std::pair<const char *, const char *> required[] = {{"", "format"},
                                                            {"", "model"},
                                                            {"", "kv"},
                                                            {"", "symbols"},
                                                            {"", "buffers"},
                                                            {"", "launches"},
                                                            {"", "targets"},
                                                            {"/model", "vocab_size"},
                                                            {"/model", "context_length"},
                                                            {"/kv", "layout"},
                                                            {"/kv", "page_stride"},
                                                            {"/buffers/0", "dims"},
                                                            {"/buffers/5", "offset"},
                                                            {"/buffers/6", "page_bytes"},
                                                            {"/buffers/7", "slot"},
                                                            {"/launches/0", "args"},
                                                            {"/targets/0", "kind"},
                                                            {"/targets/0", "level"},
                                                            {"/targets/0", "library"},
                                                            {"/targets/0/kernels/sum/variants/0", "entry"},
                                                            {"/targets/0/kernels/sum/variants/0/grid/0", "extent"}};
  for (auto [parent, key] : required) {
    Result<Manifest> manifest = parse(without(parent, key));
    ASSERT_FALSE(manifest) << parent << "/" << key;
    EXPECT_THAT(manifest.status().message(), testing::HasSubstr(std::string("'") + key + "'"));
  }
}

// A damaged manifest gives a Manifest or an error, never a crash (run under the sanitizers).
TEST(Manifest, SurvivesByteFlipsAndTruncation) {
  const std::string good = withProduct().dump();
  std::mt19937 random(1);
  auto feed = [](const std::string &text) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(text.data()), text.size());
  };
  for (int i = 0; i < 10000; ++i) {
    std::string bad = good;
    for (uint32_t flips = 1 + random() % 4; flips > 0; --flips)
      bad[random() % bad.size()] = static_cast<char>(random());
    feed(bad);
  }
  for (size_t length = 0; length < good.size(); length += 7)
    feed(good.substr(0, length));
  // Digits stay JSON, so these reach the checks of sizes and indices more often.
  for (int i = 0; i < 10000; ++i) {
    std::string bad = good;
    for (int tries = 0; tries < 40; ++tries)
      if (char &c = bad[random() % bad.size()]; c >= '0' && c <= '9') {
        c = static_cast<char>('0' + random() % 10);
        break;
      }
    feed(bad);
  }
}
