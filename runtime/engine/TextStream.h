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
  /// `includeStop`: the stop string that ends the text is part of it.
  static Result<TextStream> create(const text::Tokenizer &tokenizer, std::span<const text::TokenId> prompt,
                                   std::vector<std::string> stopStrings, bool includeStop = false);

  /// Text that became certain with this token; "" once stopped. With
  /// `looksForStops` false no stop string is seen that begins in this text.
  std::string push(text::TokenId id, bool looksForStops = true);
  /// Releases what was held back. No more calls after it.
  std::string finish();
  /// A stop string was met.
  bool stopped() const { return stops.stopped(); }
  /// Its index; -1 before that.
  int matchedStop() const { return stops.matchedStop(); }

private:
  TextStream(text::Detokenizer detokenizer, text::StopMatcher stops, std::vector<std::string> shownStops)
      : detokenizer(std::move(detokenizer)), stops(std::move(stops)), shownStops(std::move(shownStops)) {}
  std::string withStop(std::string text) const;

  text::Detokenizer detokenizer;
  text::StopMatcher stops;
  std::vector<std::string> shownStops; ///< The stop strings, when they are part of the text.
};

} // namespace fusec::runtime
