//===- TokenizerImport.cpp - model files to fusec's tokenizer.json ---------===//
#include "models/import/TokenizerImport.h"

namespace fusec::models {

Result<nlohmann::json> importTokenizer(const Gguf &) { return unsupported("tokenizer import: not built yet"); }
Result<nlohmann::json> importTokenizer(const std::filesystem::path &) { return unsupported("tokenizer import: not built yet"); }
Result<nlohmann::json> importSentencePiece(std::span<const std::byte>) { return unsupported("tokenizer import: not built yet"); }

} // namespace fusec::models
