//===- TokenizerImportFuzzer.cpp - libFuzzer entry for tokenizer sources ---===//
//
// The bytes are taken as a SentencePiece model and as a GGUF file.
//
//===----------------------------------------------------------------------===//
#include "models/import/Gguf.h"
#include "models/import/TokenizerImport.h"

#include <cstddef>
#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  (void)fusec::models::importSentencePiece(bytes).ok();
  if (auto file = fusec::models::Gguf::parse(bytes))
    (void)fusec::models::importTokenizer(*file).ok();
  return 0;
}
