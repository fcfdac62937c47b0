//===- ModelConfig.h - the hyper-parameters of a decoder model -------------===//
//
// One struct for every supported architecture, filled from GGUF metadata or
// from a Hugging Face config.json (+ generation_config.json).
//
//   FUSEC_ASSIGN_OR_RETURN(ModelConfig config, configFromGguf(file));
//   std::vector<float> frequency = rotaryFrequencies(config.rope);
//
// Reading fails with one message naming key, expected and found; a feature that
// fusec does not implement (yarn, experts, another activation, ...) is
// Unsupported, never ignored. Values are plain data: copyable, thread-safe.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "models/import/ArchTable.h"
#include "models/import/Gguf.h"
#include "runtime/base/Status.h"
#include "runtime/schema/Pooling.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fusec::models {

/// Which elements of a head turn together, for i in [0, dims/2).
enum class RopePairing : uint8_t {
  HalfSplit,   ///< (i, i + dims/2): Hugging Face weights, GGUF of qwen2.
  Interleaved, ///< (2i, 2i + 1): GGUF of llama, whose q and k rows are permuted for it.
};

enum class RopeScaling : uint8_t {
  None,
  Linear, ///< Every frequency is divided by `factor`.
  Llama3, ///< Long wavelengths are divided by `factor`, short ones kept, smooth in between.
};

/// Rotary embedding. Only the first `dims` elements of a head turn.
struct RopeConfig {
  double theta = 10000.0;
  int64_t dims = 0;
  RopePairing pairing = RopePairing::HalfSplit;
  RopeScaling scaling = RopeScaling::None;
  double factor = 1.0;
  /// Llama3 only; unset (0) when a GGUF gives `factors` instead.
  double lowFreqFactor = 0.0;
  double highFreqFactor = 0.0;
  int64_t originalContext = 0;
  /// dims/2 divisors of the frequencies from a GGUF's rope_freqs.weight; empty otherwise.
  std::vector<float> factors;
};

/// Angle per position of each rotary pair, `dims/2` values: position p turns
/// pair i by p * result[i] radians. Includes all scaling.
std::vector<float> rotaryFrequencies(const RopeConfig &rope);

/// Sampling defaults that the model's author ships.
struct GenerationDefaults {
  std::optional<float> temperature, topP, minP, repetitionPenalty;
  std::optional<int64_t> topK;
  std::optional<bool> doSample; ///< false: the author decodes greedily.
};

struct ModelConfig {
  const ArchInfo *architecture = nullptr; ///< Row of the table; never null after reading.
  std::string name;                       ///< For people; may be empty.
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t kvHeads = 0; ///< Divides `heads`.
  int64_t headDim = 0; ///< Need not be hidden / heads.
  int64_t ffn = 0;
  int64_t vocab = 0; ///< Rows of the embedding; the tokenizer may know fewer.
  double normEps = 0.0;
  RopeConfig rope;
  int64_t context = 0;
  /// Position t sees the last `slidingWindow` positions including itself, in
  /// layers from `slidingWindowFirstLayer` on; absent: full causal attention.
  std::optional<int64_t> slidingWindow;
  int64_t slidingWindowFirstLayer = 0;
  bool tied = false;              ///< Output matrix = embedding; no "output.weight" in the weights.
  bool qkvBias = false;           ///< attn_{q,k,v}.bias exist.
  std::optional<Pooling> pooling; ///< Set: the model is for embeddings, made so.
  GenerationDefaults generation;
  std::optional<int64_t> bosId;
  std::vector<int64_t> eosIds; ///< Any of them ends a text.
};

/// Reads `<arch>.*`, `tokenizer.ggml.*_token_id`, `general.sampling.*`.
/// `tied` and `qkvBias` follow from the presence of tensors.
Result<ModelConfig> configFromGguf(const Gguf &file);

/// Reads config.json and, when present, generation_config.json of `directory`.
Result<ModelConfig> configFromHf(const std::filesystem::path &directory);

/// The same from parsed documents; `generation` is an empty object when the
/// directory has no generation_config.json.
Result<ModelConfig> configFromHf(const nlohmann::json &document, const nlohmann::json &generation);

/// The relations any config must satisfy (positive sizes, heads divisible by
/// kvHeads, even rotary dims, token ids inside the vocabulary, ...). Both
/// readers end with it.
Status validate(const ModelConfig &config);

} // namespace fusec::models
