//===- GrammarFuzzer.cpp - arbitrary bytes as a grammar ----------------------===//
//
// The first byte picks the kind; the rest is compiled under tight limits and,
// when it compiles, a few tokens are drawn from its masks. Any result is fine;
// crashing, hanging or a token that its mask offered and accept refuses is not.
//
//===----------------------------------------------------------------------===//
#include "runtime/grammar/Compile.h"

#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace fusec::grammar;

VocabularyPtr vocabulary() {
  static const VocabularyPtr bytes = [] {
    std::vector<std::string> pieces{"", "{\"", "\":", "\"}", "true", "\xF0\x9F", "\\u00", "ab"};
    for (int byte = 0; byte < 256; ++byte)
      pieces.emplace_back(1, static_cast<char>(byte));
    return Vocabulary::fromPieces(pieces, {0});
  }();
  return bytes;
}

/// The nth allowed token, or -1.
fusec::text::TokenId pick(const std::vector<uint32_t> &mask, size_t n) {
  std::vector<fusec::text::TokenId> allowed;
  for (size_t id = 0; id < mask.size() * 32; ++id)
    if (mask[id / 32] >> (id % 32) & 1)
      allowed.push_back(static_cast<fusec::text::TokenId>(id));
  return allowed.empty() ? -1 : allowed[n % allowed.size()];
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  Limits limits;
  limits.states = 20'000;
  limits.seconds = 0.5;
  limits.parallelStacks = 100;
  limits.cacheBytes = 4 << 20;
  GrammarText text{static_cast<GrammarKind>(data[0] % 6),
                   std::string(reinterpret_cast<const char *>(data) + 1, size - 1)};
  auto grammar = compile(text, vocabulary(), limits);
  if (!grammar)
    return 0;
  auto constraint = (*grammar)->start();
  std::vector<uint32_t> mask(vocabulary()->maskWords());
  for (size_t step = 0; step < 24 && !constraint->finished(); ++step) {
    constraint->allowed(mask);
    auto token = pick(mask, data[step % size]);
    if (token < 0)
      return 0;
    if (!constraint->accept(token))
      std::abort();
  }
  return 0;
}
