//===- Detokenizer.h - token ids to text, one token at a time --------------===//
//
//   Detokenizer detokenizer(tokenizer);
//   for (TokenId id : ids) out += detokenizer.push(id);
//   out += detokenizer.finish();            // == tokenizer.decode(ids)
//
// A character whose bytes are spread over several tokens is held back until it
// is complete, so every delta is valid UTF-8. Bytes that can no longer become a
// character turn into U+FFFD at once; an incomplete tail turns into a single
// U+FFFD in finish().
//
// Ownership: keeps a (cheap) copy of the Tokenizer. Threading: one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/Tokenizer.h"

#include <string>

namespace fusec::text {

class Detokenizer {
public:
  explicit Detokenizer(const Tokenizer &tokenizer, DecodeOptions options = {});

  /// Text that became certain with this token; often empty inside a character.
  /// Ids outside the vocabulary contribute nothing.
  std::string push(TokenId id);

  /// The dangling tail, then back to the initial state. "" when nothing is held.
  std::string finish();

private:
  Tokenizer tokenizer;
  DecodeOptions options;
  int spacesToStrip;
  std::string held; ///< A prefix of one character, at most 3 bytes.
};

} // namespace fusec::text
