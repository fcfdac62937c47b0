//===- TextStream.cpp --------------------------------------------------------===//

#include "runtime/engine/TextStream.h"

#include <algorithm>

namespace fusec::runtime {

Result<TextStream> TextStream::create(const text::Tokenizer &tokenizer, std::span<const text::TokenId> prompt,
                                      std::vector<std::string> stopStrings) {
  FUSEC_ASSIGN_OR_RETURN(text::StopMatcher stops, text::StopMatcher::create(std::move(stopStrings)));
  // After a prompt of control tokens alone (BOS) the text starts afresh, and a tokenizer's dummy leading space goes.
  bool continues =
      !std::all_of(prompt.begin(), prompt.end(), [&](text::TokenId id) { return tokenizer.isSpecial(id); });
  text::Detokenizer detokenizer(tokenizer, {.skipSpecial = true, .continuesText = continues});
  return TextStream(std::move(detokenizer), std::move(stops));
}

std::string TextStream::push(text::TokenId id) { return stops.push(detokenizer.push(id)); }

std::string TextStream::finish() {
  std::string tail = stops.push(detokenizer.finish());
  return tail + stops.finish();
}

} // namespace fusec::runtime
