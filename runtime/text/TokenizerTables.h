//===- TokenizerTables.h - what a loaded Tokenizer consists of -------------===//
//
// Private to Tokenizer.cpp and TokenizerParse.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/AddedTokens.h"
#include "runtime/text/BpeModel.h"
#include "runtime/text/Normalizer.h"
#include "runtime/text/PostProcessor.h"
#include "runtime/text/PreTokenizer.h"
#include "runtime/text/Tokenizer.h"

#include <optional>
#include <string>
#include <vector>

namespace fusec::text {

struct Tokenizer::Tables {
  Normalizer normalizer;
  PreTokenizer preTokenizer;
  BpeModel model;
  PostProcessor postProcessor;

  AddedTokenMatcher rawMatcher;        ///< Tokens looked for in the text as given.
  AddedTokenMatcher normalizedMatcher; ///< Tokens looked for after normalization.
  AddedTokenMatcher allMatcher;        ///< All, in the text as given (encodeSpans).

  std::vector<std::string> pieces; ///< Bytes by id.
  enum : uint8_t { kAdded = 1, kSpecial = 2 };
  std::vector<uint8_t> flags; ///< By id.
  TokenMap idOfSpelling;
  int spacesStripped = 0;
  std::optional<TokenId> bos, eos;
  std::vector<TokenId> ends;

  /// Appends the tokens of `text`, a stretch between added tokens.
  Status encodeStretch(std::string_view text, bool atTextStart, bool allowMarkers, std::vector<TokenId> &out) const;
  Status encodePlain(std::string text, bool atTextStart, std::vector<TokenId> &out) const;
};

} // namespace fusec::text
