//===- TokenizerImport.h - model files to fusec's tokenizer.json -----------===//
//
// Turns the tokenizer that comes with a model into the one format the runtime
// reads (runtime/text/Tokenizer.h):
//
//   FUSEC_ASSIGN_OR_RETURN(nlohmann::json document, importTokenizer(gguf));
//   FUSEC_RETURN_IF_ERROR(writeFile(out / "tokenizer.json", document.dump()));
//
// Sources: GGUF metadata (`tokenizer.ggml.*`, models "gpt2" and "llama"), a
// Hugging Face directory with tokenizer.json, or one with a SentencePiece
// tokenizer.model. All are hostile input; every import ends with a trial
// Tokenizer::parse, so a returned document loads.
//
// Threading: free functions without shared state.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "models/import/Gguf.h"
#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <span>

namespace fusec::models {

/// Tokenizer of a GGUF file. Unsupported for other `tokenizer.ggml.model`
/// kinds and for a `tokenizer.ggml.pre` that has no row in PreTokenizers.def.
Result<nlohmann::json> importTokenizer(const Gguf &file);

/// Tokenizer of a Hugging Face directory: tokenizer.json if there, else
/// tokenizer.model; tokenizer_config.json, special_tokens_map.json and
/// generation_config.json refine BOS/EOS when present.
Result<nlohmann::json> importTokenizer(const std::filesystem::path &directory);

/// A SentencePiece model (the protobuf in tokenizer.model). BPE models with
/// the identity normalizer; Unsupported for unigram, word and char models.
Result<nlohmann::json> importSentencePiece(std::span<const std::byte> model);

} // namespace fusec::models
