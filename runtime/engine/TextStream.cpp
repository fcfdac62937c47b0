//===- TextStream.cpp --------------------------------------------------------===//

#include "runtime/engine/TextStream.h"

#include <algorithm>

namespace fusec::runtime {

Result<TextStream> TextStream::create(const text::Tokenizer &tokenizer, std::span<const text::TokenId> prompt,
                                      std::vector<std::string> stopStrings, bool includeStop) {
  std::vector<std::string> shown = includeStop ? stopStrings : std::vector<std::string>();
  FUSEC_ASSIGN_OR_RETURN(text::StopMatcher stops, text::StopMatcher::create(std::move(stopStrings)));
  // After a prompt of control tokens alone (BOS) the text starts afresh, and a tokenizer's dummy leading space goes.
  bool continues =
      !std::all_of(prompt.begin(), prompt.end(), [&](text::TokenId id) { return tokenizer.isSpecial(id); });
  text::Detokenizer detokenizer(tokenizer, {.skipSpecial = true, .continuesText = continues});
  return TextStream(std::move(detokenizer), std::move(stops), std::move(shown));
}

std::string TextStream::withStop(std::string text) const {
  return stopped() && !shownStops.empty() ? text + shownStops[static_cast<size_t>(stops.matchedStop())] : text;
}

std::string TextStream::push(text::TokenId id, bool looksForStops) {
  if (stopped())
    return {};
  std::string delta = detokenizer.push(id);
  return looksForStops ? withStop(stops.push(delta)) : delta;
}

std::string TextStream::finish() {
  if (stopped())
    return {};
  std::string tail = stops.push(detokenizer.finish());
  return withStop(tail + stops.finish());
}

} // namespace fusec::runtime
