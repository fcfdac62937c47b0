//===- SlotLayout.cpp --------------------------------------------------------===//

#include "runtime/exec/SlotLayout.h"

#include <algorithm>
#include <string>

namespace fusec::runtime {

namespace {

constexpr int64_t slotAlignment = 64;
/// Kernels may load one vector past a buffer's end.
constexpr int64_t slackBytes = 64;
/// Far beyond any machine; keeps the sums below from overflowing.
constexpr int64_t maxBytes = int64_t{1} << 46;

int64_t roundUp(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

} // namespace

Result<SlotLayout> SlotLayout::create(const Manifest &manifest, const SymbolValues &maxima, int64_t alignment) {
  SlotLayout layout;
  for (const BufferInfo &buffer : manifest.buffers) {
    if (buffer.kind != BufferKind::Activation && buffer.kind != BufferKind::Output)
      continue;
    std::optional<int64_t> bytes = buffer.bytesAt(maxima);
    if (!bytes || *bytes > maxBytes)
      return resourceExhausted("buffer '" + buffer.name + "' is too large for this chunk and context");
    Slot &slot = layout.slots[buffer.slot];
    slot.bytes = std::max(slot.bytes, roundUp(*bytes, slotAlignment) + slackBytes);
  }
  for (auto &[id, slot] : layout.slots) {
    slot.offset = layout.total;
    layout.total += roundUp(slot.bytes, alignment);
    if (layout.total > maxBytes)
      return resourceExhausted("the activations are too large for this chunk and context");
  }
  return layout;
}

} // namespace fusec::runtime
