//===- Tokenizer.h - text to token ids and back ----------------------------===//
//
// Reads fusec's `tokenizer.json`: the Hugging Face tokenizers format (model
// BPE with merges, ignore_merges or byte_fallback) plus one model type of our
// own, "SentencePieceBPE" (pieces with scores, merged best score first), plus
// a top-level "fusec" object {"bos_id", "eos_id", "end_ids"}.
//
//   FUSEC_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::load(dir / "tokenizer.json"));
//   FUSEC_ASSIGN_OR_RETURN(auto ids, tokenizer.encode("Hello", {.addSpecial = true}));
//   std::string text = tokenizer.decode(ids);
//
// The stages of encode, in order: replace invalid UTF-8, find added tokens,
// normalize, pre-tokenize, merge (BPE), add BOS/EOS.
//
// Ownership: a Tokenizer shares its immutable tables; copies are cheap.
// Threading: immutable after load, every member is safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/TokenId.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::text {

struct EncodeOptions {
  bool addSpecial = true;    ///< Add BOS/EOS as the tokenizer's post-processor asks.
  bool parseSpecial = false; ///< Text that spells an added token becomes that token. Leave it
                             ///< off for text a user typed.
};

/// A stretch of a prompt; only stretches with `parseSpecial` may spell added tokens.
struct PromptSpan {
  std::string_view text;
  bool parseSpecial = false;
};

struct DecodeOptions {
  bool skipSpecial = true;    ///< Leave out tokens flagged special.
  bool continuesText = false; ///< The tokens follow other text, so a leading space is kept
                              ///< where the decoder would strip it at the start of a text.
};

class Tokenizer {
public:
  /// Reads fusec's tokenizer.json. NotFound, CorruptData (contradicts its own
  /// format), InvalidArgument (wrong type of a field) or Unsupported (a kind of
  /// model, normalizer, pre-tokenizer or decoder fusec does not have).
  static Result<Tokenizer> load(const std::filesystem::path &tokenizerJson);
  static Result<Tokenizer> parse(std::string_view json);

  /// Tokenizes `text`. Bytes that are no UTF-8 count as U+FFFD.
  /// O(n log n) in the text length. InvalidArgument above 256 MiB,
  /// ResourceExhausted when a pre-tokenizer expression exceeds its match limit.
  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options = {}) const;

  /// Tokenizes the concatenation of `spans` as one text (words and merges may
  /// cross borders), but an added token is recognised only where all its
  /// characters come from spans with parseSpecial. This is how a rendered chat
  /// template keeps its own markers while user content stays plain text.
  Result<std::vector<TokenId>> encodeSpans(std::span<const PromptSpan> spans, bool addSpecial) const;

  /// Raw bytes one token stands for (not necessarily valid UTF-8); empty for
  /// ids outside [0, size()) and for holes in the vocabulary.
  std::string_view piece(TokenId id) const;

  /// The text of `ids`: joined bytes, invalid UTF-8 replaced by U+FFFD. Equals
  /// the joined deltas of a Detokenizer with the same options. Ids outside the
  /// vocabulary contribute nothing.
  std::string decode(std::span<const TokenId> ids, bool skipSpecial = true) const;
  std::string decode(std::span<const TokenId> ids, DecodeOptions options) const;

  /// Number of ids: the largest id + 1. Model embeddings may have more rows.
  int64_t size() const;
  /// Id of the token spelled `content` in the file (byte-level vocabularies
  /// use their own alphabet there).
  std::optional<TokenId> tokenToId(std::string_view content) const;
  /// True for added tokens flagged special (control tokens).
  bool isSpecial(TokenId id) const;
  /// True for any added token, special or not.
  bool isAdded(TokenId id) const;

  std::optional<TokenId> bosId() const;
  std::optional<TokenId> eosId() const;
  /// Tokens that end a generation (EOS, end of turn, ...); ascending.
  const std::vector<TokenId> &endIds() const;
  /// Leading ' ' bytes that decode strips at the start of a text (0 or 1 in
  /// known tokenizers).
  int leadingSpacesStripped() const;

private:
  struct Tables;
  explicit Tokenizer(std::shared_ptr<const Tables> t) : tables(std::move(t)) {}
  friend class TokenizerParser;

  std::shared_ptr<const Tables> tables;
};

} // namespace fusec::text
