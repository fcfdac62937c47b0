//===- GgufFuzzer.cpp - GGUF bytes to a model ------------------------------===//
//
// Reads everything a hostile file can offer: metadata, tensor bytes, the
// configuration and the weight table.
//
//===----------------------------------------------------------------------===//

#include "models/import/Gguf.h"
#include "models/import/Model.h"

#include <cstddef>
#include <cstdint>

using namespace fusec::models;

/// Keeps reads of tensor bytes from being optimised away.
static volatile unsigned sink;

static void readEverything(const Gguf &file) {
  unsigned sum = 0;
  for (const GgufEntry &entry : file.metadata()) {
    sum += static_cast<unsigned>(entry.value.preview().size());
    if (auto values = entry.value.asInts())
      sum += static_cast<unsigned>(values->size());
    if (auto values = entry.value.asFloats())
      sum += static_cast<unsigned>(values->size());
    if (auto texts = entry.value.asStrings())
      for (std::string_view text : *texts)
        sum += text.empty() ? 0u : static_cast<unsigned char>(text.back());
  }
  for (const TensorInfo &tensor : file.tensors())
    sum += std::to_integer<unsigned>(tensor.data[0]) + std::to_integer<unsigned>(tensor.data[tensor.bytes - 1]);
  sink = sum;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fusec::Result<Gguf> file = Gguf::parse({reinterpret_cast<const std::byte *>(data), size});
  if (!file)
    return 0;
  readEverything(*file);
  if (fusec::Result<Model> model = Model::fromGguf(std::move(*file)))
    sink = static_cast<unsigned>(rotaryFrequencies(model->config().rope).size());
  return 0;
}
