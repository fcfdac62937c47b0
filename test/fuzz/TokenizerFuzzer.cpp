//===- TokenizerFuzzer.cpp - libFuzzer entry for tokenizer.json ------------===//
#include "runtime/text/Tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace fusec::text;
  auto tokenizer = Tokenizer::parse({reinterpret_cast<const char *>(data), size});
  if (!tokenizer)
    return 0;
  for (bool parseSpecial : {false, true})
    if (auto ids =
            tokenizer->encode("a b<|end|>1 \xE6\x97\xA5\xFF", {.addSpecial = true, .parseSpecial = parseSpecial}))
      (void)tokenizer->decode(*ids);
  return 0;
}
