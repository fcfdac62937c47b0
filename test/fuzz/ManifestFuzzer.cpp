//===- ManifestFuzzer.cpp - libFuzzer entry for manifest.json ------------------===//

#include "runtime/exec/Manifest.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace fusec::runtime;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  fusec::Result<Manifest> manifest = parseManifest(text, "manifest.json", 4096);
  if (!manifest)
    return 0;
  // What the runtime computes from a manifest it accepted.
  SymbolValues values;
  values.values.fill(1 << 20);
  for (const BufferInfo &buffer : manifest->buffers)
    (void)buffer.bytesAt(values);
  for (const TargetInfo &target : manifest->targets)
    for (const auto &[name, variants] : target.kernels)
      for (const KernelVariant &variant : variants)
        (void)(variant.accepts(values) ? variant.programs(values) : 0);
  return 0;
}
