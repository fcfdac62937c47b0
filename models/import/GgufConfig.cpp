//===- GgufConfig.cpp - GGUF metadata to a ModelConfig ---------------------===//

#include "models/import/Dequantize.h"
#include "models/import/ModelConfig.h"
#include "models/import/Quote.h"

#include <algorithm>

namespace fusec::models {
namespace {

/// Keys (behind "<arch>.") that change the computation in ways fusec does not
/// implement, with the value that means "off".
struct NeutralKey {
  std::string_view suffix;
  double neutral;
};

constexpr NeutralKey neutralKeys[] = {
    {"expert_count", 0},
    {"expert_used_count", 0},
    {"attention.scale", 0},
    {"attention.clamp_kqv", 0},
    {"attention.max_alibi_bias", 0},
    {"attention.causal", 1},
    {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
    {"logit_scale", 1},
    {"residual_scale", 1},
    {"embedding_scale", 1},
    {"use_parallel_residual", 0},
    {"rope.scaling.attn_factor", 1},
};

class GgufConfigReader {
public:
  explicit GgufConfigReader(const Gguf &file) : file(file) {}

  Result<ModelConfig> run() {
    FUSEC_RETURN_IF_ERROR(readArchitecture());
    FUSEC_RETURN_IF_ERROR(checkNeutralKeys());
    FUSEC_RETURN_IF_ERROR(readSizes());
    FUSEC_RETURN_IF_ERROR(readHeads());
    FUSEC_RETURN_IF_ERROR(readRope());
    FUSEC_RETURN_IF_ERROR(readRopeFactors());
    FUSEC_RETURN_IF_ERROR(readTokens());
    FUSEC_RETURN_IF_ERROR(readGeneration());
    FUSEC_RETURN_IF_ERROR(readPooling());
    config.tied = !file.findTensor("output.weight");
    config.qkvBias = config.architecture->qkvBias == QkvBias::Required || file.findTensor("blk.0.attn_q.bias");
    FUSEC_RETURN_IF_ERROR(validate(config));
    return std::move(config);
  }

private:
  std::string key(std::string_view suffix) const { return prefix + std::string(suffix); }

  /// A count, also when it is written as an array with the same value for each layer.
  Result<int64_t> count(std::string_view suffix) const {
    const GgufValue *value = file.find(key(suffix));
    if (!value || !value->asArray())
      return file.getInt(key(suffix));
    FUSEC_ASSIGN_OR_RETURN(std::vector<int64_t> values, file.getInts(key(suffix)));
    if (values.empty() || std::any_of(values.begin(), values.end(), [&](int64_t v) { return v != values[0]; }))
      return unsupported("key " + quote(key(suffix)) + ": values that differ between layers");
    return values[0];
  }

  Result<int64_t> countOr(std::string_view suffix, int64_t fallback) const {
    return file.has(key(suffix)) ? count(suffix) : Result<int64_t>(fallback);
  }

  Result<double> floatOr(std::string_view suffix, double fallback) const {
    return file.has(key(suffix)) ? file.getFloat(key(suffix)) : Result<double>(fallback);
  }

  Status readArchitecture() {
    FUSEC_ASSIGN_OR_RETURN(std::string_view architecture, file.getString("general.architecture"));
    config.architecture = archByGgufName(architecture);
    if (!config.architecture)
      return unsupported("key 'general.architecture': expected one of " + knownGgufNames() + ", found " +
                         quote(architecture));
    prefix = std::string(architecture) + ".";
    if (file.has("general.name")) {
      FUSEC_ASSIGN_OR_RETURN(std::string_view title, file.getString("general.name"));
      config.name = title;
    }
    return {};
  }

  Status checkNeutralKeys() const {
    for (const NeutralKey &row : neutralKeys) {
      const GgufValue *value = file.find(key(row.suffix));
      if (!value)
        continue;
      Result<int64_t> integer = value->asInt();
      Result<double> number = value->asFloat();
      Result<bool> flag = value->asBool();
      const double found = integer ? static_cast<double>(*integer) : number ? *number : flag ? *flag : row.neutral + 1;
      if (found != row.neutral)
        return unsupported("key " + quote(key(row.suffix)) + ": " + value->preview() + " is not supported");
    }
    return {};
  }

  Status readSizes() {
    FUSEC_ASSIGN_OR_RETURN(config.layers, count("block_count"));
    FUSEC_ASSIGN_OR_RETURN(config.hidden, count("embedding_length"));
    FUSEC_ASSIGN_OR_RETURN(config.ffn, count("feed_forward_length"));
    FUSEC_ASSIGN_OR_RETURN(config.context, count("context_length"));
    FUSEC_ASSIGN_OR_RETURN(config.normEps, file.getFloat(key("attention.layer_norm_rms_epsilon")));
    const TensorInfo *embedding = file.findTensor("token_embd.weight");
    FUSEC_ASSIGN_OR_RETURN(config.vocab, countOr("vocab_size", embedding ? embedding->shape.front() : 0));
    if (!embedding && !file.has(key("vocab_size")))
      return notFound("tensor 'token_embd.weight': missing");
    FUSEC_ASSIGN_OR_RETURN(int64_t window, countOr("attention.sliding_window", 0));
    if (window != 0)
      config.slidingWindow = window;
    return {};
  }

  Status readHeads() {
    FUSEC_ASSIGN_OR_RETURN(config.heads, count("attention.head_count"));
    FUSEC_ASSIGN_OR_RETURN(config.kvHeads, countOr("attention.head_count_kv", config.heads));
    if (config.heads < 1)
      return corruptData("key " + quote(key("attention.head_count")) + ": expected at least 1, found " +
                         std::to_string(config.heads));
    const bool explicitLength = file.has(key("attention.key_length"));
    if (!explicitLength && config.hidden % config.heads != 0)
      return notFound("key " + quote(key("attention.key_length")) + ": missing, and hidden size " +
                      std::to_string(config.hidden) + " is no multiple of " + std::to_string(config.heads) + " heads");
    FUSEC_ASSIGN_OR_RETURN(config.headDim, countOr("attention.key_length", config.hidden / config.heads));
    FUSEC_ASSIGN_OR_RETURN(int64_t valueLength, countOr("attention.value_length", config.headDim));
    if (valueLength != config.headDim)
      return unsupported("key " + quote(key("attention.value_length")) + ": expected the key length " +
                         std::to_string(config.headDim) + ", found " + std::to_string(valueLength));
    return {};
  }

  Status readRope() {
    RopeConfig &rope = config.rope;
    rope.pairing = config.architecture->ggufPairing;
    FUSEC_ASSIGN_OR_RETURN(rope.dims, countOr("rope.dimension_count", config.headDim));
    FUSEC_ASSIGN_OR_RETURN(rope.theta, floatOr("rope.freq_base", 10000.0));
    // `scale_linear` is the older spelling of a linear factor.
    FUSEC_ASSIGN_OR_RETURN(rope.factor, floatOr("rope.scale_linear", 1.0));
    FUSEC_ASSIGN_OR_RETURN(rope.factor, floatOr("rope.scaling.factor", rope.factor));
    std::string_view type = rope.factor != 1.0 ? "linear" : "none";
    if (file.has(key("rope.scaling.type"))) {
      FUSEC_ASSIGN_OR_RETURN(type, file.getString(key("rope.scaling.type")));
    }
    if (type != "none" && type != "linear")
      return unsupported("key " + quote(key("rope.scaling.type")) + ": expected none or linear, found " + quote(type));
    rope.scaling = type == "linear" ? RopeScaling::Linear : RopeScaling::None;
    if (rope.scaling == RopeScaling::None)
      rope.factor = 1.0;
    return {};
  }

  /// Converters store Llama 3's scaling as one divisor per rotary pair.
  Status readRopeFactors() {
    const TensorInfo *tensor = file.findTensor("rope_freqs.weight");
    if (!tensor)
      return {};
    if (tensor->shape != std::vector<int64_t>{config.rope.dims / 2})
      return corruptData("tensor 'rope_freqs.weight': expected shape " + shapeText({config.rope.dims / 2}) +
                         ", found " + shapeText(tensor->shape));
    config.rope.factors.resize(static_cast<size_t>(tensor->shape[0]));
    dequantizeRow(tensor->type, tensor->data, config.rope.factors.data(), tensor->shape[0]);
    if (config.rope.scaling == RopeScaling::None)
      config.rope.scaling = RopeScaling::Llama3;
    return {};
  }

  Result<std::optional<int64_t>> tokenId(std::string_view name) const {
    if (!file.has(name))
      return std::optional<int64_t>();
    FUSEC_ASSIGN_OR_RETURN(int64_t id, file.getInt(name));
    return std::optional<int64_t>(id);
  }

  Status readTokens() {
    FUSEC_ASSIGN_OR_RETURN(config.bosId, tokenId("tokenizer.ggml.bos_token_id"));
    // A turn (eot) or a message to a tool (eom) ends the model's text as well.
    for (const char *name :
         {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
      FUSEC_ASSIGN_OR_RETURN(std::optional<int64_t> id, tokenId(name));
      if (id && std::find(config.eosIds.begin(), config.eosIds.end(), *id) == config.eosIds.end())
        config.eosIds.push_back(*id);
    }
    const GgufValue *tokens = file.find("tokenizer.ggml.tokens");
    const GgufArray *array = tokens ? tokens->asArray() : nullptr;
    if (array && array->count > config.vocab)
      return corruptData("key 'tokenizer.ggml.tokens': expected at most " + std::to_string(config.vocab) +
                         " tokens (rows of the embedding), found " + std::to_string(array->count));
    return {};
  }

  Status readGeneration() {
    struct Row {
      const char *name;
      std::optional<float> GenerationDefaults::*field;
    };
    static constexpr Row rows[] = {
        {"general.sampling.temp", &GenerationDefaults::temperature},
        {"general.sampling.top_p", &GenerationDefaults::topP},
        {"general.sampling.min_p", &GenerationDefaults::minP},
        {"general.sampling.penalty_repeat", &GenerationDefaults::repetitionPenalty},
    };
    for (const Row &row : rows) {
      if (!file.has(row.name))
        continue;
      FUSEC_ASSIGN_OR_RETURN(double value, file.getFloat(row.name));
      config.generation.*row.field = static_cast<float>(value);
    }
    FUSEC_ASSIGN_OR_RETURN(config.generation.topK, tokenId("general.sampling.top_k"));
    return {};
  }

  Status readPooling() {
    const std::string name = key("pooling_type");
    if (!file.has(name))
      return {};
    FUSEC_ASSIGN_OR_RETURN(int64_t type, file.getInt(name));
    for (const PoolingRow &row : poolings)
      if (row.ggufType == type)
        config.pooling = row.pooling;
    if (config.pooling || type == 0) // 0: none.
      return {};
    return unsupported("key " + quote(name) + ": expected 0 (none), 1 (mean), 2 (cls) or 3 (last), found " +
                       std::to_string(type));
  }

  const Gguf &file;
  std::string prefix;
  ModelConfig config;
};

} // namespace

Result<ModelConfig> configFromGguf(const Gguf &file) { return GgufConfigReader(file).run(); }

} // namespace fusec::models
