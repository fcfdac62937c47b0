//===- TinyModel.h - the random models of golden/e2e/tiny.json --------------===//
//
// Builds a Hugging Face directory from a record of tiny.json; the rule that
// makes weights and prompts is stated in tools/scripts/make_tiny_goldens.py.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/SamplingParams.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <vector>

namespace fusec::e2e {

/// Writes config.json, model.safetensors and a one-letter-per-token tokenizer.json.
void writeTinyModel(const nlohmann::json &record, const std::filesystem::path &directory);

/// The record's prompt.
std::vector<runtime::TokenId> tinyPrompt(const nlohmann::json &record);

} // namespace fusec::e2e
