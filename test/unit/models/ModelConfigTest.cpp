//===- ModelConfigTest.cpp - configurations from GGUF and config.json ------===//

#include "models/import/ModelConfig.h"
#include "runtime/base/Json.h"
#include "test/unit/models/TempDirectory.h"
#include "test/unit/models/TinyModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace fusec;
using namespace fusec::models;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

Result<ModelConfig> read(const GgufImage &image) {
  const std::string bytes = image.build();
  Result<Gguf> file = Gguf::parse(asBytes(bytes));
  if (!file)
    return file.status();
  return configFromGguf(*file);
}

Result<ModelConfig> read(const json &document, const json &generation = json::object()) {
  return configFromHf(document, generation);
}

template <typename T> std::string errorOf(const T &source) {
  Result<ModelConfig> config = read(source);
  return config ? "accepted" : config.status().message();
}

json with(json document, const char *key, json value) {
  document[key] = std::move(value);
  return document;
}

json hfOf(const char *hfClass) { return with(tinyHfConfig(), "architectures", {hfClass}); }

TEST(GgufConfig, ReadsLlama) {
  Result<ModelConfig> config = read(tinyGguf());
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->architecture->name, "llama");
  EXPECT_EQ(config->name, "tiny");
  EXPECT_EQ(config->layers, 1);
  EXPECT_EQ(config->hidden, 8);
  EXPECT_EQ(config->heads, 2);
  EXPECT_EQ(config->kvHeads, 1);
  EXPECT_EQ(config->headDim, 4);
  EXPECT_EQ(config->ffn, 12);
  EXPECT_EQ(config->vocab, 16);
  EXPECT_EQ(config->context, 64);
  EXPECT_FLOAT_EQ(static_cast<float>(config->normEps), 1e-5f);
  EXPECT_EQ(config->rope.dims, 4);
  EXPECT_EQ(config->rope.theta, 10000.0);
  EXPECT_EQ(config->rope.pairing, RopePairing::Interleaved);
  EXPECT_EQ(config->rope.scaling, RopeScaling::None);
  EXPECT_TRUE(config->tied);
  EXPECT_FALSE(config->qkvBias);
  EXPECT_FALSE(config->slidingWindow);
  EXPECT_EQ(config->bosId, 1);
  EXPECT_THAT(config->eosIds, ElementsAre(2));
  EXPECT_FALSE(read(tinyGguf(true))->tied);
}

TEST(GgufConfig, ReadsQwen2) {
  Result<ModelConfig> config = read(tinyGguf(true, "qwen2"));
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->rope.pairing, RopePairing::HalfSplit);
  EXPECT_TRUE(config->qkvBias);
}

TEST(GgufConfig, ReadsOptionalKeys) {
  GgufImage image = tinyGguf();
  image.u32("llama.attention.key_length", 6)
      .u32("llama.attention.value_length", 6)
      .u32("llama.rope.dimension_count", 2);
  image.f32("llama.rope.freq_base", 5e5f).text("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 4);
  image.u32("llama.attention.sliding_window", 32).u32("tokenizer.ggml.eot_token_id", 3).u32("llama.expert_count", 0);
  image.f32("general.sampling.temp", 0.5f).scalar<int32_t>("general.sampling.top_k", GgufType::Int32, 20);
  Result<ModelConfig> config = read(image);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->headDim, 6);
  EXPECT_EQ(config->rope.dims, 2);
  EXPECT_EQ(config->rope.theta, 5e5);
  EXPECT_EQ(config->rope.scaling, RopeScaling::Linear);
  EXPECT_EQ(config->rope.factor, 4);
  EXPECT_EQ(config->slidingWindow, 32);
  EXPECT_THAT(config->eosIds, ElementsAre(2, 3));
  EXPECT_EQ(config->generation.temperature, 0.5f);
  EXPECT_EQ(config->generation.topK, 20);
}

TEST(GgufConfig, ReadsThePooling) {
  EXPECT_FALSE(read(tinyGguf())->pooling);
  EXPECT_FALSE(read(tinyGguf().u32("llama.pooling_type", 0))->pooling);
  EXPECT_EQ(read(tinyGguf().u32("llama.pooling_type", 1))->pooling, Pooling::Mean);
  EXPECT_EQ(read(tinyGguf().u32("llama.pooling_type", 2))->pooling, Pooling::Cls);
  EXPECT_EQ(read(tinyGguf().u32("llama.pooling_type", 3))->pooling, Pooling::Last);
  EXPECT_THAT(errorOf(tinyGguf().u32("llama.pooling_type", 4)),
              HasSubstr("'llama.pooling_type': expected 0 (none), 1 (mean), 2 (cls) or 3 (last), found 4"));
}

TEST(GgufConfig, ReadsRopeFactors) {
  GgufImage image = tinyGguf();
  image.floats("rope_freqs.weight", {2}, 8.0f);
  Result<ModelConfig> config = read(image);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->rope.scaling, RopeScaling::Llama3);
  EXPECT_THAT(config->rope.factors, ElementsAre(8.0f, 8.0f));
  EXPECT_THAT(rotaryFrequencies(config->rope), ElementsAre(0.125f, 0.00125f));
  image.tensors.back().ne = {1};
  EXPECT_THAT(errorOf(image), HasSubstr("'rope_freqs.weight': expected shape [2], found [1]"));
  image.tensors.back() = {"rope_freqs.weight", {2}, 0, std::string(8, '\0'), {}, {}};
  EXPECT_THAT(errorOf(image), HasSubstr("expected positive numbers"));
}

TEST(GgufConfig, AcceptsUniformPerLayerCounts) {
  GgufImage image;
  image.text("general.architecture", "llama").u32("llama.block_count", 1).u32("llama.context_length", 64);
  image.u32("llama.embedding_length", 8).u32("llama.vocab_size", 16).u32("llama.attention.head_count", 2);
  image.f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  auto ints = [](std::initializer_list<uint32_t> values) {
    ByteWriter w;
    w.put<uint32_t>(4).put<uint64_t>(values.size());
    for (uint32_t v : values)
      w.put(v);
    return w.bytes;
  };
  GgufImage same = image;
  same.entry("llama.feed_forward_length", GgufType::Array, ints({12, 12}));
  EXPECT_EQ(errorOf(same), "accepted");
  image.entry("llama.feed_forward_length", GgufType::Array, ints({12, 13}));
  EXPECT_THAT(errorOf(image), HasSubstr("'llama.feed_forward_length': values that differ between layers"));
}

TEST(GgufConfig, RefusesUnknownArchitecturesAndFeatures) {
  EXPECT_EQ(errorOf(tinyGguf(false, "gpt5")), "key 'general.architecture': expected one of llama, qwen2, found 'gpt5'");
  EXPECT_THAT(errorOf(GgufImage()), HasSubstr("'general.architecture': missing"));
  EXPECT_THAT(errorOf(tinyGguf().u32("llama.expert_count", 8)), HasSubstr("'llama.expert_count': 8 is not supported"));
  EXPECT_THAT(errorOf(tinyGguf().f32("llama.logit_scale", 0.5f)), HasSubstr("'llama.logit_scale': 0.5"));
  EXPECT_THAT(errorOf(tinyGguf().scalar<uint8_t>("llama.attention.causal", GgufType::Bool, 0)), HasSubstr("causal"));
  EXPECT_THAT(errorOf(tinyGguf().text("llama.rope.scaling.type", "yarn")),
              HasSubstr("expected none or linear, found 'yarn'"));
  EXPECT_THAT(errorOf(tinyGguf().u32("llama.attention.value_length", 2)),
              HasSubstr("expected the key length 4, found 2"));
}

TEST(GgufConfig, RefusesWrongValues) {
  EXPECT_THAT(errorOf(tinyGguf().text("llama.rope.dimension_count", "4")),
              HasSubstr("expected an integer, found string"));
  EXPECT_THAT(errorOf(tinyGguf().u32("llama.rope.dimension_count", 3)), HasSubstr("rotary dimensions"));
  EXPECT_THAT(errorOf(tinyGguf().u32("llama.rope.dimension_count", 6)), HasSubstr("rotary dimensions"));
  EXPECT_THAT(errorOf(tinyGguf().f32("llama.rope.freq_base", NAN)), HasSubstr("rotary base"));
  EXPECT_THAT(errorOf(tinyGguf().u32("tokenizer.ggml.eot_token_id", 16)), HasSubstr("vocabulary size 16, found 16"));
  EXPECT_THAT(errorOf(tinyGguf().strings("tokenizer.ggml.tokens", std::vector<std::string>(17))),
              HasSubstr("expected at most 16 tokens"));
}

TEST(HfConfig, ReadsLlama) {
  Result<ModelConfig> config = read(tinyHfConfig());
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->architecture->hfClass, "LlamaForCausalLM");
  EXPECT_EQ(config->headDim, 4);
  EXPECT_EQ(config->rope.pairing, RopePairing::HalfSplit);
  EXPECT_TRUE(config->tied);
  EXPECT_EQ(config->rope.dims, 4);
}

TEST(HfConfig, MissingKeysAreNamed) {
  for (const char *key : {"architectures", "hidden_size", "num_hidden_layers", "intermediate_size",
                          "num_attention_heads", "vocab_size"}) {
    json document = tinyHfConfig();
    document.erase(key);
    EXPECT_THAT(errorOf(document), HasSubstr("key '" + std::string(key) + "': missing, expected"));
    EXPECT_THAT(errorOf(with(document, key, "text")), HasSubstr("key '" + std::string(key) + "': expected"));
  }
}

TEST(HfConfig, AppliesTheDefaultsOfEachClass) {
  json llama = tinyHfConfig(), mistral = hfOf("MistralForCausalLM");
  for (json *document : {&llama, &mistral})
    for (const char *key : {"num_key_value_heads", "max_position_embeddings", "tie_word_embeddings", "rms_norm_eps"})
      document->erase(key);
  mistral["num_attention_heads"] = 16;
  mistral["hidden_size"] = 64;
  EXPECT_EQ(read(llama)->kvHeads, 2);
  EXPECT_EQ(read(llama)->context, 2048);
  EXPECT_FALSE(read(llama)->tied);
  EXPECT_EQ(read(llama)->normEps, 1e-6);
  EXPECT_EQ(read(mistral)->kvHeads, 8);
  EXPECT_EQ(read(mistral)->slidingWindow, 4096);
  EXPECT_EQ(read(with(mistral, "num_key_value_heads", nullptr))->kvHeads, 16);
}

TEST(HfConfig, SlidingWindows) {
  json mistral = hfOf("MistralForCausalLM"), qwen = hfOf("Qwen2ForCausalLM");
  EXPECT_EQ(read(with(mistral, "sliding_window", 32))->slidingWindow, 32);
  EXPECT_FALSE(read(with(mistral, "sliding_window", nullptr))->slidingWindow);
  EXPECT_FALSE(read(with(tinyHfConfig(), "sliding_window", 32))->slidingWindow);
  qwen["sliding_window"] = 32;
  qwen["num_hidden_layers"] = 4;
  qwen["max_window_layers"] = 3;
  EXPECT_FALSE(read(qwen)->slidingWindow);
  qwen["use_sliding_window"] = true;
  EXPECT_EQ(read(qwen)->slidingWindow, 32);
  EXPECT_EQ(read(qwen)->slidingWindowFirstLayer, 3);
  EXPECT_FALSE(read(with(qwen, "max_window_layers", 4))->slidingWindow);
  const char *full = "full_attention", *sliding = "sliding_attention";
  EXPECT_EQ(read(with(qwen, "layer_types", {full, full, sliding, sliding}))->slidingWindowFirstLayer, 2);
  EXPECT_THAT(errorOf(with(qwen, "layer_types", {full, sliding, full, sliding})), HasSubstr("layer 2 differs"));
  EXPECT_THAT(errorOf(with(qwen, "layer_types", {full})), HasSubstr("expected 4 entries, found 1"));
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "layer_types", json::array({sliding}))), HasSubstr("no sliding window"));
}

TEST(HfConfig, RopeVariants) {
  EXPECT_EQ(read(with(tinyHfConfig(), "rope_theta", 500000))->rope.theta, 5e5);
  EXPECT_EQ(read(with(tinyHfConfig(), "rope_parameters", {{"rope_type", "default"}, {"rope_theta", 7.0}}))->rope.theta,
            7);
  EXPECT_EQ(read(with(tinyHfConfig(), "partial_rotary_factor", 0.5))->rope.dims, 2);
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "partial_rotary_factor", 1.5)), HasSubstr("above 0 up to 1"));
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "partial_rotary_factor", 0.25)), HasSubstr("rotary dimensions"));
  json linear = with(tinyHfConfig(), "rope_scaling", {{"type", "linear"}, {"factor", 2}});
  EXPECT_EQ(read(linear)->rope.scaling, RopeScaling::Linear);
  EXPECT_THAT(rotaryFrequencies(read(linear)->rope), ElementsAre(0.5f, 0.005f));
  EXPECT_EQ(errorOf(with(tinyHfConfig(), "rope_scaling", {{"type", "yarn"}, {"factor", 2}})),
            "key 'rope_scaling': key 'rope_type': expected default, linear or llama3, found 'yarn'");
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "rope_scaling", {{"rope_type", "llama3"}, {"factor", 2}})),
              HasSubstr("key 'low_freq_factor': missing"));
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "rope_scaling", {{"type", "linear"}, {"factor", 0}})),
              HasSubstr("scaling factor"));
}

// Expected values: the published formula evaluated in float64 with numpy.
TEST(HfConfig, Llama3Frequencies) {
  RopeConfig rope;
  rope.theta = 5e5;
  rope.dims = 64;
  rope.scaling = RopeScaling::Llama3;
  rope.factor = 32;
  rope.lowFreqFactor = 1;
  rope.highFreqFactor = 4;
  rope.originalContext = 8192;
  const std::vector<float> f = rotaryFrequencies(rope);
  ASSERT_EQ(f.size(), 32u);
  EXPECT_FLOAT_EQ(f[0], 1.0f);
  EXPECT_FLOAT_EQ(f[10], 0.016560440883040428f);
  EXPECT_FLOAT_EQ(f[15], 0.0012905478943139315f);
  EXPECT_FLOAT_EQ(f[16], 0.00042955679236911237f);
  EXPECT_FLOAT_EQ(f[18], 1.9461638657958247e-05f);
  EXPECT_FLOAT_EQ(f[31], 9.418306490260875e-08f);
}

TEST(HfConfig, RefusesWhatIsNotImplemented) {
  EXPECT_THAT(errorOf(hfOf("GPT2LMHeadModel")),
              AllOf(HasSubstr("expected one of LlamaForCausalLM"), HasSubstr("found 'GPT2LMHeadModel'")));
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "hidden_act", "gelu")),
              HasSubstr("'hidden_act': expected 'silu', found 'gelu'"));
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "attention_bias", true)),
              HasSubstr("'attention_bias': expected false, found true"));
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "mlp_bias", true)), HasSubstr("'mlp_bias'"));
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "quantization_config", {{"bits", 4}})), HasSubstr("'quantization_config'"));
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "num_key_value_heads", 3)), HasSubstr("multiple of the 3 KV heads"));
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "num_attention_heads", 0)), HasSubstr("at least 1, found 0"));
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "num_attention_heads", 3)), HasSubstr("'head_dim': missing"));
  EXPECT_THAT(errorOf(with(tinyHfConfig(), "vocab_size", -1)), HasSubstr("vocabulary size: expected 1"));
}

TEST(HfConfig, GenerationConfigOverrides) {
  const json generation = {{"eos_token_id", {5, 6}}, {"temperature", 0.7},         {"top_k", 20},
                           {"top_p", 0.8},           {"repetition_penalty", 1.05}, {"do_sample", true}};
  Result<ModelConfig> config = read(tinyHfConfig(), generation);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_THAT(config->eosIds, ElementsAre(5, 6));
  EXPECT_EQ(config->bosId, 1);
  EXPECT_EQ(config->generation.temperature, 0.7f);
  EXPECT_EQ(config->generation.topK, 20);
  EXPECT_EQ(config->generation.topP, 0.8f);
  EXPECT_EQ(config->generation.repetitionPenalty, 1.05f);
  EXPECT_EQ(config->generation.doSample, true);
  EXPECT_FALSE(config->generation.minP);
  EXPECT_THAT(read(tinyHfConfig(), json{{"eos_token_id", {"x"}}}).status().message(), HasSubstr("'eos_token_id'"));
}

TEST(HfConfig, ReadsTheDirectory) {
  TempDirectory directory;
  EXPECT_THAT(configFromHf(directory.path()).status().message(), HasSubstr("config.json: cannot be opened"));
  directory.write("config.json", tinyHfConfig().dump());
  EXPECT_EQ(configFromHf(directory.path())->name, directory.path().filename().string());
  directory.write("generation_config.json", "{");
  EXPECT_THAT(configFromHf(directory.path()).status().message(), HasSubstr("generation_config.json: not valid JSON"));
}

// Configurations of published models.
TEST(HfConfig, PublishedConfigs) {
  const std::filesystem::path configs = FUSEC_SOURCE_DIR "/../shared/data/configs";
  if (!std::filesystem::exists(configs))
    GTEST_SKIP() << configs << " is absent";
  Result<ModelConfig> qwen = configFromHf(configs / "qwen2-0_5b");
  ASSERT_TRUE(qwen.ok()) << qwen.status().message();
  EXPECT_EQ(qwen->headDim, 64);
  EXPECT_EQ(qwen->vocab, 151936);
  EXPECT_TRUE(qwen->tied && qwen->qkvBias);
  EXPECT_FALSE(qwen->slidingWindow);
  for (const char *name : {"deepseek-r1", "qwen3-0.6b", "qwen3-30b", "whisper-large-v3"})
    EXPECT_THAT(configFromHf(configs / name).status().message(), HasSubstr("key 'architectures': expected one of"))
        << name;
}

TEST(ArchTable, RowsAreConsistent) {
  for (const ArchInfo &row : archTable()) {
    EXPECT_EQ(archByHfClass(row.hfClass), &row);
    if (row.inGguf)
      EXPECT_EQ(archByGgufName(row.name), &row);
    for (const WeightRule &rule : row.weights)
      EXPECT_EQ(rule.hf.find("{}") != std::string_view::npos, rule.perLayer()) << rule.canonical;
  }
  EXPECT_EQ(archByGgufName("mistral"), nullptr);
}

TEST(ArchTable, IgnorablePatternsMatchWholeNames) {
  EXPECT_TRUE(isIgnorableTensor("model.layers.12.self_attn.rotary_emb.inv_freq"));
  EXPECT_TRUE(isIgnorableTensor("rope_freqs.weight"));
  EXPECT_FALSE(isIgnorableTensor("model.layers..self_attn.rotary_emb.inv_freq"));
  EXPECT_FALSE(isIgnorableTensor("model.layers.x.self_attn.rotary_emb.inv_freq"));
  EXPECT_FALSE(isIgnorableTensor("rope_freqs.weight2"));
}

} // namespace
