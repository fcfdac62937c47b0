//===- ModelTest.cpp - weights under canonical names, all checked ----------===//

#include "models/import/Model.h"
#include "models/import/Dequantize.h"
#include "models/import/Inspect.h"
#include "test/unit/models/TempDirectory.h"
#include "test/unit/models/TinyModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::models;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

namespace fs = std::filesystem;

const fs::path stories = FUSEC_SOURCE_DIR "/../shared/data/models/stories260K/stories260K-f32.gguf";
// Made by: tools/scripts/make_stories_models.py --out <build>/test-models/stories
const fs::path derived = FUSEC_BINARY_DIR "/test-models/stories";

class ModelTest : public testing::Test {
protected:
  Result<Model> gguf(const GgufImage &image) { return openModel(directory.write("m.gguf", image.build())); }
  Result<Model> hf(const json &config, const SafetensorsImage &image) {
    directory.write("config.json", config.dump());
    directory.write("model.safetensors", image.build());
    return openModel(directory.path());
  }
  TempDirectory directory;
};

std::string errorOf(const Result<Model> &model) { return model ? "accepted" : model.status().message(); }

json tied(bool value) {
  json config = tinyHfConfig();
  config["tie_word_embeddings"] = value;
  return config;
}

TEST_F(ModelTest, GgufWeightsInOrder) {
  Result<Model> opened = gguf(tinyGguf(true));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Model model = std::move(*opened);
  ASSERT_EQ(model.weights().size(), 12u);
  EXPECT_EQ(model.weights()[2].name, "output.weight");
  EXPECT_EQ(model.weights()[3].name, "blk.0.attn_norm.weight");
  EXPECT_THAT(model.find("blk.0.attn_k.weight")->shape, ElementsAre(4, 8));
  EXPECT_EQ(model.find("blk.0.ffn_down.weight")->data.size(), 8u * 12 * 4);
  EXPECT_EQ(model.find("blk.1.ffn_down.weight"), nullptr);
  EXPECT_NE(model.gguf(), nullptr);
  EXPECT_EQ(model.safetensors(), nullptr);
}

TEST_F(ModelTest, HfWeightsUnderCanonicalNames) {
  Result<Model> model = hf(tinyHfConfig(), tinySafetensors());
  ASSERT_TRUE(model.ok()) << model.status().message();
  const Weight *k = model->find("blk.0.attn_k.weight");
  ASSERT_NE(k, nullptr);
  EXPECT_EQ(k->fileName, "model.layers.0.self_attn.k_proj.weight");
  EXPECT_THAT(k->shape, ElementsAre(4, 8));
  EXPECT_THAT(model->warnings(), IsEmpty());
}

TEST_F(ModelTest, TiedAndUntied) {
  SafetensorsImage equal = tinySafetensors(), different = tinySafetensors();
  equal.floats("lm_head.weight", {16, 8}, 0.25f);
  different.floats("lm_head.weight", {16, 8}, 0.5f);
  // Tied: the embedding is used whether or not the file holds an output matrix.
  for (const SafetensorsImage &image : {tinySafetensors(), equal, different}) {
    Result<Model> model = hf(tied(true), image);
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_TRUE(model->config().tied);
    EXPECT_EQ(model->find("output.weight"), nullptr);
    EXPECT_EQ(model->warnings().size(), image.data == different.data ? 1u : 0u);
  }
  Result<Model> untied = hf(tied(false), different);
  ASSERT_TRUE(untied.ok());
  EXPECT_EQ(untied->find("output.weight")->fileName, "lm_head.weight");
  EXPECT_THAT(errorOf(hf(tied(false), tinySafetensors())),
              HasSubstr("tensor 'lm_head.weight': missing, and the configuration does not tie it"));
}

TEST_F(ModelTest, RefusesMissingSuperfluousAndMisshapenTensors) {
  GgufImage image = tinyGguf();
  image.tensors.erase(image.tensors.begin() + 3);
  EXPECT_THAT(errorOf(gguf(image)), HasSubstr("tensor 'blk.0.attn_q.weight': missing"));
  image = tinyGguf();
  image.tensors[3].ne = {4, 16};
  EXPECT_THAT(errorOf(gguf(image)), HasSubstr("'blk.0.attn_q.weight': expected shape [8, 8], found [16, 4]"));
  EXPECT_THAT(errorOf(gguf(tinyGguf().floats("blk.1.attn_q.weight", {8, 8}))),
              HasSubstr("'blk.1.attn_q.weight' is no weight of a llama model with 1 layers"));
  EXPECT_THAT(errorOf(gguf(tinyGguf(true, "qwen2"))), HasSubstr("'blk.0.attn_q.bias': missing"));
  EXPECT_EQ(errorOf(gguf(tinyGguf().floats("rope_freqs.weight", {2}, 1.0f))), "accepted");
}

TEST_F(ModelTest, GgufLlamaMayHaveBiases) {
  GgufImage image = tinyGguf();
  image.floats("blk.0.attn_q.bias", {8}).floats("blk.0.attn_k.bias", {4}).floats("blk.0.attn_v.bias", {4});
  Result<Model> model = gguf(image);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_TRUE(model->config().qkvBias);
  image.floats("blk.0.attn_output.bias", {8});
  EXPECT_THAT(errorOf(gguf(image)), HasSubstr("'blk.0.attn_output.bias' is no weight"));
}

TEST_F(ModelTest, HfUnsupportedDtypesMatterOnlyWhenUsed) {
  SafetensorsImage image = tinySafetensors();
  image.tensor("model.layers.0.self_attn.rotary_emb.inv_freq", "F64", {2}, std::string(16, 'x'));
  EXPECT_EQ(errorOf(hf(tinyHfConfig(), image)), "accepted");
  image.header["model.norm.weight"]["dtype"] = "I32";
  EXPECT_THAT(errorOf(hf(tinyHfConfig(), image)),
              HasSubstr("tensor 'model.norm.weight': dtype 'I32' is not supported"));
}

TEST_F(ModelTest, MessagesNameThePath) {
  EXPECT_THAT(errorOf(openModel(directory.path() / "no.gguf")), HasSubstr("no.gguf: cannot be opened"));
  EXPECT_THAT(errorOf(openModel(directory.path())), HasSubstr("config.json"));
  EXPECT_THAT(errorOf(openModel(directory.path() / "model.safetensors")), HasSubstr("expected the directory"));
  GgufImage image = tinyGguf();
  image.tensors.pop_back();
  EXPECT_THAT(errorOf(gguf(image)), HasSubstr("m.gguf: tensor 'blk.0.ffn_down.weight': missing"));
}

TEST_F(ModelTest, InspectListsEverything) {
  Result<ModelListing> listing = inspectModel(directory.write("m.gguf", tinyGguf(true).build()));
  ASSERT_TRUE(listing.ok()) << listing.status().message();
  EXPECT_EQ(listing->format, "GGUF v3");
  EXPECT_EQ(listing->metadata.front().key, "general.architecture");
  EXPECT_EQ(listing->metadata.front().preview, "'llama'");
  EXPECT_EQ(listing->tensors.size(), 12u);
  ASSERT_EQ(listing->totals.size(), 1u);
  EXPECT_EQ(listing->totals[0].type, "f32");
  EXPECT_EQ(listing->totals[0].bytes, listing->bytes);
  EXPECT_EQ(listing->bytes, listing->elements * 4);
  EXPECT_EQ(listing->problem, "");
  listing = inspectModel(directory.write("x.gguf", tinyGguf(true, "gpt5").build()));
  ASSERT_TRUE(listing.ok());
  EXPECT_THAT(listing->problem, HasSubstr("found 'gpt5'"));
}

TEST_F(ModelTest, InspectListsHfDirectories) {
  ASSERT_TRUE(hf(tinyHfConfig(), tinySafetensors()).ok());
  Result<ModelListing> listing = inspectModel(directory.path());
  ASSERT_TRUE(listing.ok()) << listing.status().message();
  EXPECT_EQ(listing->format, "safetensors");
  EXPECT_EQ(listing->tensors.size(), 11u);
  EXPECT_EQ(listing->metadata.size(), tinyHfConfig().size());
}

// Every format must hold the weights of the F32 file.
std::vector<float> values(const Weight &weight) {
  const int64_t cols = weight.shape.back(), rows = weight.shape.size() == 2 ? weight.shape[0] : 1;
  std::vector<float> out(static_cast<size_t>(rows * cols));
  for (int64_t r = 0; r < rows; ++r)
    dequantizeRow(weight.type, weight.data.data() + r * rowBytes(weight.type, cols), out.data() + r * cols, cols);
  return out;
}

float largestDifference(const Model &a, const Model &b, std::string_view name) {
  const std::vector<float> x = values(*a.find(name)), y = values(*b.find(name));
  float largest = x.size() == y.size() ? 0.0f : 1e30f;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

TEST(StoriesModel, OpensTheOriginal) {
  if (!fs::exists(stories))
    GTEST_SKIP() << stories << " is absent";
  Result<Model> model = openModel(stories);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->weights().size(), 47u);
  EXPECT_EQ(model->config().ffn, 172);
  EXPECT_TRUE(model->config().tied);
}

TEST(StoriesModel, DerivedFormatsAgree) {
  if (!fs::exists(stories) || !fs::exists(derived))
    GTEST_SKIP() << stories << " or " << derived << " is absent";
  Result<Model> original = openModel(stories);
  ASSERT_TRUE(original.ok()) << original.status().message();
  struct Row {
    const char *path;
    float tolerance;
    size_t warnings;
  };
  for (const Row &row : {Row{"stories-f16.gguf", 2e-3f, 0}, Row{"stories-q8_0.gguf", 2e-2f, 0},
                         Row{"stories-split/stories-00001-of-00003.gguf", 0, 0}, Row{"hf", 0, 0},
                         Row{"hf-sharded", 0, 0}, Row{"hf-bf16", 2e-2f, 0}, Row{"hf-tied-present", 0, 0},
                         Row{"hf-tied-different", 0, 1}, Row{"hf-untied-present", 0, 0}}) {
    Result<Model> model = openModel(derived / row.path);
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(model->warnings().size(), row.warnings) << row.path;
    for (const char *name : {"token_embd.weight", "blk.4.attn_v.weight", "blk.2.ffn_down.weight", "output_norm.weight"})
      EXPECT_LE(largestDifference(*original, *model, name), row.tolerance) << row.path << " " << name;
  }
  EXPECT_THAT(errorOf(openModel(derived / "hf-untied-absent")), HasSubstr("'lm_head.weight': missing"));
  EXPECT_EQ(openModel(derived / "stories-q8_0.gguf")->find("blk.0.ffn_down.weight")->type, StorageType::F16);
}

// Half-split row i of a head is interleaved row 2i, row i + d/2 is 2i + 1.
TEST(StoriesModel, HfRowsArePermuted) {
  if (!fs::exists(stories) || !fs::exists(derived))
    GTEST_SKIP() << stories << " or " << derived << " is absent";
  Result<Model> original = openModel(stories), converted = openModel(derived / "hf");
  ASSERT_TRUE(original.ok() && converted.ok());
  const std::vector<float> a = values(*original->find("blk.1.attn_q.weight"));
  const std::vector<float> b = values(*converted->find("blk.1.attn_q.weight"));
  const size_t d = 8, cols = 64;
  for (size_t row = 0; row < 64; ++row) {
    const size_t head = row / d, i = row % d;
    const size_t from = head * d + (i < d / 2 ? 2 * i : 2 * (i - d / 2) + 1);
    EXPECT_TRUE(std::equal(b.begin() + row * cols, b.begin() + (row + 1) * cols, a.begin() + from * cols)) << row;
  }
}

} // namespace
