//===- ModelInfo.h - what an artifact says about its model ------------------===//
//
// Plain data read from manifest.json. Values; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/Pooling.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fusec::runtime {

/// Sampling defaults that the model's authors recommend; absent = no opinion.
struct GenerationDefaults {
  std::optional<float> temperature;
  std::optional<int> topK;
  std::optional<float> topP;
  std::optional<float> minP;
  std::optional<float> repetitionPenalty;
};

/// Of an artifact that was compiled for embeddings.
struct EmbeddingInfo {
  int64_t width = 0; ///< Numbers in an embedding: the model's hidden size.
  Pooling pooling = Pooling::Last;
};

struct ModelInfo {
  std::string name;
  std::string architecture;    ///< "llama", "qwen2", ...
  std::string digest;          ///< Identifies the source weights.
  std::string compilerVersion; ///< The fusec version that wrote the artifact.
  std::string kvDtype;         ///< How the KV cache is stored: "f32", "f16", "bf16" or "fp8_e4m3".
  std::string kvLayout;        ///< Where a sequence's pages lie: "paged" or "contiguous".
  int64_t vocabSize = 0;       ///< Columns of the logits = rows of the embedding.
  int64_t contextLength = 0;   ///< Tokens the model was trained for.
  std::optional<int32_t> bosId;
  std::vector<int32_t> eosIds; ///< Tokens that end a generation.
  int64_t bytes = 0;           ///< Bytes of the source model's weights.
  GenerationDefaults generation;
  std::optional<EmbeddingInfo> embedding; ///< Set: steps give hidden states, and no text can be generated.

  /// Columns of what a step gives: of logits, or of hidden states.
  int64_t rowWidth() const { return embedding ? embedding->width : vocabSize; }
};

} // namespace fusec::runtime
