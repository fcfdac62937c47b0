//===- SafetensorsFuzzer.cpp - safetensors bytes to tensors ----------------===//

#include "models/import/Safetensors.h"

#include <cstddef>
#include <cstdint>

using namespace fusec::models;

/// Keeps reads of tensor bytes from being optimised away.
static volatile unsigned sink;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fusec::Result<Safetensors> file = Safetensors::parse({reinterpret_cast<const std::byte *>(data), size});
  if (!file)
    return 0;
  unsigned sum = 0;
  for (const SafetensorsEntry &entry : file->entries()) {
    if (entry.bytes > 0)
      sum += std::to_integer<unsigned>(entry.data[0]) + std::to_integer<unsigned>(entry.data[entry.bytes - 1]);
    sum += file->tensor(entry.name).ok();
  }
  sink = sum;
  return 0;
}
