//===- Detokenizer.cpp - token ids to text, one token at a time ------------===//
#include "runtime/text/Detokenizer.h"

#include "runtime/text/Utf8.h"

namespace fusec::text {

Detokenizer::Detokenizer(const Tokenizer &t, DecodeOptions o)
    : tokenizer(t), options(o), spacesToStrip(o.continuesText ? 0 : t.leadingSpacesStripped()) {}

std::string Detokenizer::push(TokenId id) {
  if (options.skipSpecial && tokenizer.isSpecial(id))
    return {};
  std::string_view bytes = tokenizer.piece(id);
  while (spacesToStrip > 0 && !bytes.empty()) {
    bool space = bytes.front() == ' ';
    bytes.remove_prefix(space ? 1 : 0);
    spacesToStrip = space ? spacesToStrip - 1 : 0;
  }
  held += bytes;
  std::string delta;
  size_t at = 0;
  while (at < held.size()) {
    CodePoint c = decodeUtf8(held, at);
    if (c.truncated)
      break;
    delta += c.valid ? std::string_view(held).substr(at, c.length) : kReplacementCharacter;
    at += c.length;
  }
  held.erase(0, at);
  return delta;
}

std::string Detokenizer::finish() {
  std::string delta = held.empty() ? std::string() : std::string(kReplacementCharacter);
  held.clear();
  spacesToStrip = options.continuesText ? 0 : tokenizer.leadingSpacesStripped();
  return delta;
}

} // namespace fusec::text
