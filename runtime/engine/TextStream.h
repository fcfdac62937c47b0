//===- TextStream.h - token ids to text deltas that honour stop strings -------===//
//
// A Detokenizer followed by a StopMatcher. The deltas concatenate to the text of
// the generation, cut before the earliest stop string.
//
// Ownership: a value. Threading: one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/Detokenizer.h"
#include "runtime/text/StopMatcher.h"

#include <span>
#include <string>
#include <vector>

namespace fusec::runtime {

class TextStream {
public:
  /// `prompt`: what the text continues; decides whether a leading space is kept.
  static Result<TextStream> create(const text::Tokenizer &tokenizer, std::span<const text::TokenId> prompt,
                                   std::vector<std::string> stopStrings);

  /// Text that became certain with this token; "" once stopped.
  std::string push(text::TokenId id);
  /// Releases what was held back. No more calls after it.
  std::string finish();
  /// A stop string was met.
  bool stopped() const { return stops.stopped(); }

private:
  TextStream(text::Detokenizer detokenizer, text::StopMatcher stops)
      : detokenizer(std::move(detokenizer)), stops(std::move(stops)) {}

  text::Detokenizer detokenizer;
  text::StopMatcher stops;
};

} // namespace fusec::runtime
