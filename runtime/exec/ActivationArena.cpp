//===- ActivationArena.cpp ---------------------------------------------------===//

#include "runtime/exec/ActivationArena.h"

#include <algorithm>
#include <string>

namespace fusec::runtime {

namespace {

constexpr int64_t slotAlignment = 64;
/// Kernels may load one vector past a buffer's end.
constexpr int64_t slackBytes = 64;
/// Far beyond any machine; keeps the sums below from overflowing.
constexpr int64_t maxBytes = int64_t{1} << 46;

int64_t slotSize(int64_t bytes) { return (bytes + slotAlignment - 1) / slotAlignment * slotAlignment + slackBytes; }

} // namespace

Result<ActivationArena> ActivationArena::create(const Manifest &manifest, const SymbolValues &maxima) {
  ActivationArena arena;
  for (const BufferInfo &buffer : manifest.buffers) {
    if (buffer.kind != BufferKind::Activation && buffer.kind != BufferKind::Output)
      continue;
    std::optional<int64_t> bytes = buffer.bytesAt(maxima);
    if (!bytes || *bytes > maxBytes)
      return resourceExhausted("buffer '" + buffer.name + "' is too large for this chunk and context");
    Slot &slot = arena.slots[buffer.slot];
    slot.bytes = std::max(slot.bytes, slotSize(*bytes));
  }
  int64_t total = 0;
  for (auto &[id, slot] : arena.slots) {
    slot.offset = total;
    total += slot.bytes;
    if (total > maxBytes)
      return resourceExhausted("the activations are too large for this chunk and context");
  }
  FUSEC_ASSIGN_OR_RETURN(arena.memory, Buffer::allocate(std::max(total, slotAlignment), "activations"));
  return arena;
}

} // namespace fusec::runtime
