//===- TokenizerDocument.h - writing fusec's tokenizer.json ----------------===//
//
// The pieces of a tokenizer.json that all importers write the same way.
//
// Threading: free functions on the caller's values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::models {

/// Token types, numbered alike in SentencePiece models and in GGUF.
enum class TokenType { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

/// A row of a vocabulary before it is written.
struct VocabularyEntry {
  std::string_view text; ///< Valid UTF-8.
  float score = 0;
  TokenType type = TokenType::Normal;
  bool rstrip = false; ///< White space after the token belongs to it.
};

struct SentencePieceOptions {
  bool addDummyPrefix = true; ///< A text begins with a space.
  bool removeExtraWhitespace = false;
  bool byteFallback = true;
  std::optional<int64_t> unknownId;
};

/// What surrounds a text.
struct SpecialIds {
  std::optional<int64_t> bos, eos;
  bool addBos = false, addEos = false;
  std::vector<int64_t> ends; ///< Beyond eos and the well-known names.
};

/// Whether tokens of this type are cut out of the text before merging.
bool isAddedType(TokenType type);

/// `added_tokens` for all control, user-defined and unknown entries.
nlohmann::json addedTokensJson(const std::vector<VocabularyEntry> &vocabulary);

/// A whole document for a SentencePiece BPE vocabulary.
nlohmann::json sentencePieceDocument(const std::vector<VocabularyEntry> &vocabulary,
                                     const SentencePieceOptions &options);

/// Adds `post_processor` (BOS/EOS around a text).
/// CorruptData when an id is outside the vocabulary.
Status setPostProcessor(nlohmann::json &document, const SpecialIds &ids,
                        const std::vector<VocabularyEntry> &vocabulary);

/// Adds the "fusec" object. Ends are eos, `ids.ends`, and control tokens with
/// well-known names ("<|im_end|>", "<|eot_id|>", ...).
void setExtension(nlohmann::json &document, const SpecialIds &ids);

/// True for control tokens by which chat models end their turn.
bool isEndOfTurnName(std::string_view name);

/// The post-processor that puts token `bos` before and `eos` after a text;
/// each is {spelling, id} or absent.
using NamedToken = std::optional<std::pair<std::string, int64_t>>;
nlohmann::json templatePostProcessor(const NamedToken &bos, const NamedToken &eos);

/// The document itself when fusec's own reader accepts it.
Result<nlohmann::json> checkedDocument(nlohmann::json document);

} // namespace fusec::models
