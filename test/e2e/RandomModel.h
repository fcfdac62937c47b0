//===- RandomModel.h - the models of golden/e2e/{tiny,storage}.json ---------===//
//
// Builds model files from the records of the golden files. The rules that make
// weights and prompts are stated in tools/scripts/make_{tiny,storage}_goldens.py.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/SamplingParams.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <vector>

namespace fusec::e2e {

/// Makes a Hugging Face directory of a record of tiny.json: config.json,
/// model.safetensors and a one-letter-per-token tokenizer.json.
void writeTinyModel(const nlohmann::json &record, const std::filesystem::path &directory);

/// Makes a GGUF file of a record of storage.json.
void writeStorageModel(const nlohmann::json &record, const std::filesystem::path &file);

/// The prompt of a record of either.
std::vector<runtime::TokenId> promptOf(const nlohmann::json &record);

/// Token ids below its vocabulary size.
int64_t vocabOf(const nlohmann::json &record);

/// Largest difference to the golden rows; `logits` is [length, vocab].
double worstDifference(const nlohmann::json &record, const std::vector<float> &logits);

} // namespace fusec::e2e
