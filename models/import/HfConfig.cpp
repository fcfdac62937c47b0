//===- HfConfig.cpp - a Hugging Face directory's JSON to a ModelConfig -----===//

#include "models/import/ModelConfig.h"
#include "models/import/Quote.h"
#include "runtime/base/Json.h"

#include <algorithm>
#include <cmath>

namespace fusec::models {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Keys that change the computation when they hold anything but this value
/// (or null).
struct NeutralKey {
  const char *key;
  const char *neutral; ///< As JSON text.
};

constexpr NeutralKey neutralKeys[] = {
    {"attention_bias", "false"},         {"mlp_bias", "false"},      {"clip_qkv", "null"},
    {"quantization_config", "null"},     {"num_local_experts", "0"}, {"attn_logit_softcapping", "null"},
    {"final_logit_softcapping", "null"}, {"logit_scale", "1"},
};

bool isExplicitNull(const json &object, const char *key) {
  auto it = object.find(key);
  return it != object.end() && it->is_null();
}

class HfConfigReader {
public:
  HfConfigReader(const json &document, const json &generation) : document(document), generation(generation) {}

  Result<ModelConfig> run() {
    FUSEC_RETURN_IF_ERROR(readArchitecture());
    FUSEC_RETURN_IF_ERROR(checkNeutralKeys());
    FUSEC_RETURN_IF_ERROR(readSizes());
    FUSEC_RETURN_IF_ERROR(readHeads());
    FUSEC_RETURN_IF_ERROR(readRope());
    FUSEC_RETURN_IF_ERROR(readWindow());
    FUSEC_RETURN_IF_ERROR(readTokens());
    FUSEC_RETURN_IF_ERROR(readGeneration());
    FUSEC_RETURN_IF_ERROR(validate(config));
    return std::move(config);
  }

private:
  Status readArchitecture() {
    FUSEC_ASSIGN_OR_RETURN(const json *classes, jsonArray(document, "architectures"));
    if (classes->size() != 1 || !(*classes)[0].is_string())
      return corruptData("key 'architectures': expected an array of one class name");
    const std::string &name = (*classes)[0].get_ref<const std::string &>();
    config.architecture = archByHfClass(name);
    if (!config.architecture)
      return unsupported("key 'architectures': expected one of " + knownHfClasses() + ", found " + quote(name));
    config.qkvBias = config.architecture->qkvBias == QkvBias::Required;
    return {};
  }

  Status checkNeutralKeys() const {
    for (const NeutralKey &row : neutralKeys)
      if (const json *value = jsonFind(document, row.key); value && *value != json::parse(row.neutral))
        return unsupported("key '" + std::string(row.key) + "': expected " + row.neutral + ", found " +
                           (value->is_structured() ? std::string(jsonTypeName(*value)) : value->dump()));
    FUSEC_ASSIGN_OR_RETURN(std::string activation, jsonStringOr(document, "hidden_act", "silu"));
    if (activation != "silu" && activation != "swish")
      return unsupported("key 'hidden_act': expected 'silu', found " + quote(activation));
    return {};
  }

  Status readSizes() {
    FUSEC_ASSIGN_OR_RETURN(config.layers, jsonInt(document, "num_hidden_layers"));
    FUSEC_ASSIGN_OR_RETURN(config.hidden, jsonInt(document, "hidden_size"));
    FUSEC_ASSIGN_OR_RETURN(config.ffn, jsonInt(document, "intermediate_size"));
    FUSEC_ASSIGN_OR_RETURN(config.vocab, jsonInt(document, "vocab_size"));
    FUSEC_ASSIGN_OR_RETURN(config.context,
                           jsonIntOr(document, "max_position_embeddings", config.architecture->hfDefaults.context));
    FUSEC_ASSIGN_OR_RETURN(config.normEps, jsonFloatOr(document, "rms_norm_eps", 1e-6));
    FUSEC_ASSIGN_OR_RETURN(config.tied, jsonBoolOr(document, "tie_word_embeddings", false));
    return {};
  }

  Status readHeads() {
    FUSEC_ASSIGN_OR_RETURN(config.heads, jsonInt(document, "num_attention_heads"));
    if (config.heads < 1)
      return corruptData("key 'num_attention_heads': expected at least 1, found " + std::to_string(config.heads));
    int64_t kvHeads = config.architecture->hfDefaults.kvHeads;
    if (kvHeads == 0 || isExplicitNull(document, "num_key_value_heads"))
      kvHeads = config.heads;
    FUSEC_ASSIGN_OR_RETURN(config.kvHeads, jsonIntOr(document, "num_key_value_heads", kvHeads));
    if (!jsonFind(document, "head_dim") && config.hidden % config.heads != 0)
      return notFound("key 'head_dim': missing, and hidden_size " + std::to_string(config.hidden) +
                      " is no multiple of " + std::to_string(config.heads) + " heads");
    FUSEC_ASSIGN_OR_RETURN(config.headDim, jsonIntOr(document, "head_dim", config.hidden / config.heads));
    return {};
  }

  /// Newer files keep everything in `rope_parameters`, older ones have
  /// `rope_theta` beside `rope_scaling`.
  Status readRope() {
    RopeConfig &rope = config.rope;
    rope.pairing = RopePairing::HalfSplit;
    const bool newer = jsonFind(document, "rope_parameters") != nullptr;
    const char *key = newer ? "rope_parameters" : "rope_scaling";
    json parameters = json::object();
    if (jsonFind(document, key)) {
      FUSEC_ASSIGN_OR_RETURN(const json *found, jsonObject(document, key));
      parameters = *found;
    }
    FUSEC_ASSIGN_OR_RETURN(rope.theta, jsonFloatOr(document, "rope_theta", 10000.0));
    FUSEC_ASSIGN_OR_RETURN(rope.theta, jsonFloatOr(parameters, "rope_theta", rope.theta));
    FUSEC_ASSIGN_OR_RETURN(double part, jsonFloatOr(document, "partial_rotary_factor", 1.0));
    FUSEC_ASSIGN_OR_RETURN(part, jsonFloatOr(parameters, "partial_rotary_factor", part));
    if (!(part > 0.0 && part <= 1.0))
      return corruptData("key 'partial_rotary_factor': expected above 0 up to 1, found " + std::to_string(part));
    rope.dims = static_cast<int64_t>(static_cast<double>(config.headDim) * part);
    Status status = readScaling(parameters);
    return status.ok() ? status : status.withContext("key '" + std::string(key) + "'");
  }

  Status readScaling(const json &parameters) {
    RopeConfig &rope = config.rope;
    FUSEC_ASSIGN_OR_RETURN(std::string type, jsonStringOr(parameters, "type", "default"));
    FUSEC_ASSIGN_OR_RETURN(type, jsonStringOr(parameters, "rope_type", type));
    if (type == "default")
      return {};
    if (type != "linear" && type != "llama3")
      return unsupported("key 'rope_type': expected default, linear or llama3, found " + quote(type));
    FUSEC_ASSIGN_OR_RETURN(rope.factor, jsonFloat(parameters, "factor"));
    rope.scaling = type == "linear" ? RopeScaling::Linear : RopeScaling::Llama3;
    if (rope.scaling == RopeScaling::Linear)
      return {};
    FUSEC_ASSIGN_OR_RETURN(rope.lowFreqFactor, jsonFloat(parameters, "low_freq_factor"));
    FUSEC_ASSIGN_OR_RETURN(rope.highFreqFactor, jsonFloat(parameters, "high_freq_factor"));
    FUSEC_ASSIGN_OR_RETURN(rope.originalContext, jsonInt(parameters, "original_max_position_embeddings"));
    return {};
  }

  Status readWindow() {
    const ArchInfo &arch = *config.architecture;
    FUSEC_ASSIGN_OR_RETURN(bool enabled, jsonBoolOr(document, "use_sliding_window", false));
    if (arch.hfWindow == HfWindow::Key)
      enabled = !isExplicitNull(document, "sliding_window");
    if (arch.hfWindow == HfWindow::Ignored)
      enabled = false;
    int64_t firstLayer = 0;
    if (arch.hfWindow == HfWindow::Flagged && enabled) {
      FUSEC_ASSIGN_OR_RETURN(firstLayer, jsonInt(document, "max_window_layers"));
    }
    if (jsonFind(document, "layer_types")) {
      FUSEC_ASSIGN_OR_RETURN(firstLayer, firstWindowLayer());
      if (firstLayer < config.layers && !enabled)
        return unsupported("key 'layer_types': 'sliding_attention' although no sliding window is configured");
    }
    if (!enabled || firstLayer >= config.layers)
      return {};
    FUSEC_ASSIGN_OR_RETURN(int64_t window, jsonIntOr(document, "sliding_window", arch.hfDefaults.slidingWindow));
    config.slidingWindow = window;
    config.slidingWindowFirstLayer = std::max<int64_t>(firstLayer, 0);
    return {};
  }

  /// `layer_types` as "full from 0, sliding from the returned layer on".
  Result<int64_t> firstWindowLayer() const {
    FUSEC_ASSIGN_OR_RETURN(const json *types, jsonArray(document, "layer_types"));
    if (static_cast<int64_t>(types->size()) != config.layers)
      return corruptData("key 'layer_types': expected " + std::to_string(config.layers) + " entries, found " +
                         std::to_string(types->size()));
    int64_t first = config.layers;
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      const json &type = (*types)[static_cast<size_t>(layer)];
      const bool sliding = type == "sliding_attention";
      if (!sliding && (type != "full_attention" || first < config.layers))
        return unsupported("key 'layer_types': expected full_attention for the first layers and sliding_attention "
                           "for the rest; layer " +
                           std::to_string(layer) + " differs");
      if (sliding)
        first = std::min(first, layer);
    }
    return first;
  }

  /// generation_config.json overrides config.json.
  const json &holderOf(const char *key) const { return jsonFind(generation, key) ? generation : document; }

  Status readTokens() {
    const json &bosHolder = holderOf("bos_token_id");
    if (jsonFind(bosHolder, "bos_token_id")) {
      FUSEC_ASSIGN_OR_RETURN(int64_t id, jsonInt(bosHolder, "bos_token_id"));
      config.bosId = id;
    }
    const json &eosHolder = holderOf("eos_token_id");
    const json *eos = jsonFind(eosHolder, "eos_token_id");
    if (!eos)
      return {};
    if (!eos->is_array()) {
      FUSEC_ASSIGN_OR_RETURN(int64_t id, jsonInt(eosHolder, "eos_token_id"));
      config.eosIds = {id};
      return {};
    }
    for (const json &element : *eos) {
      if (!element.is_number_integer())
        return invalidArgument("key 'eos_token_id': expected integers, found " + std::string(jsonTypeName(element)));
      config.eosIds.push_back(element.get<int64_t>());
    }
    return {};
  }

  Status readGeneration() {
    struct Row {
      const char *key;
      std::optional<float> GenerationDefaults::*field;
    };
    static constexpr Row rows[] = {
        {"temperature", &GenerationDefaults::temperature},
        {"top_p", &GenerationDefaults::topP},
        {"min_p", &GenerationDefaults::minP},
        {"repetition_penalty", &GenerationDefaults::repetitionPenalty},
    };
    for (const Row &row : rows) {
      if (!jsonFind(generation, row.key))
        continue;
      FUSEC_ASSIGN_OR_RETURN(double value, jsonFloat(generation, row.key));
      config.generation.*row.field = static_cast<float>(value);
    }
    if (jsonFind(generation, "top_k")) {
      FUSEC_ASSIGN_OR_RETURN(int64_t value, jsonInt(generation, "top_k"));
      config.generation.topK = value;
    }
    if (jsonFind(generation, "do_sample")) {
      FUSEC_ASSIGN_OR_RETURN(bool value, jsonBool(generation, "do_sample"));
      config.generation.doSample = value;
    }
    return {};
  }

  const json &document;
  const json &generation;
  ModelConfig config;
};

} // namespace

Result<ModelConfig> configFromHf(const json &document, const json &generation) {
  return HfConfigReader(document, generation).run();
}

Result<ModelConfig> configFromHf(const fs::path &directory) {
  FUSEC_ASSIGN_OR_RETURN(json document, readJsonFile(directory / "config.json"));
  json generation = json::object();
  std::error_code ignored;
  if (const fs::path path = directory / "generation_config.json"; fs::exists(path, ignored)) {
    FUSEC_ASSIGN_OR_RETURN(generation, readJsonFile(path));
  }
  Result<ModelConfig> config = configFromHf(document, generation);
  if (!config)
    return config.status().withContext((directory / "config.json").string());
  config->name = fs::weakly_canonical(directory, ignored).filename().string();
  return config;
}

} // namespace fusec::models
