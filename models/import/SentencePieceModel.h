//===- SentencePieceModel.h - reader for tokenizer.model -------------------===//
//
// The few fields fusec needs of SentencePiece's ModelProto, read straight from
// the protobuf wire format: pieces, and parts of trainer_spec and
// normalizer_spec. Unknown fields are skipped; every length is checked.
//
// Ownership: views into the caller's bytes. Threading: plain data.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fusec::models {

struct SentencePieceModel {
  struct Piece {
    std::string_view text;
    float score = 0;
    int64_t type = 1; ///< As TokenType.
  };
  std::vector<Piece> pieces;

  // Defaults are those of the proto file.
  int64_t modelType = 1; ///< 1 unigram, 2 BPE, 3 word, 4 char.
  bool byteFallback = false;
  bool whitespaceAsSuffix = false;
  int64_t unknownId = 0, bosId = 1, eosId = 2; ///< -1 when absent.

  std::string_view normalizerName;
  std::string_view precompiledCharsmap;
  bool addDummyPrefix = true;
  bool removeExtraWhitespace = true;
  bool escapeWhitespace = true;

  /// CorruptData with the byte offset when the wire format is broken.
  static Result<SentencePieceModel> parse(std::span<const std::byte> bytes);
};

} // namespace fusec::models
