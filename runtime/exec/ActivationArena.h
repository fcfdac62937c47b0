//===- ActivationArena.h - memory of activations and outputs, by slot --------===//
//
// Host memory for the slots of SlotLayout, in one allocation. Owns it; move-only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Buffer.h"
#include "runtime/exec/Manifest.h"
#include "runtime/exec/SlotLayout.h"

#include <cstdint>

namespace fusec::runtime {

class ActivationArena {
public:
  /// ResourceExhausted when the sizes overflow or cannot be reserved.
  static Result<ActivationArena> create(const Manifest &manifest, const SymbolValues &maxima);

  /// Where a buffer of this slot lives; the slot must be one of the manifest's.
  std::byte *address(int32_t slot) const { return memory.data() + layout.offset(slot); }
  /// Slack included.
  int64_t slotBytes(int32_t slot) const { return layout.slotBytes(slot); }
  int64_t bytes() const { return memory.bytes(); }

private:
  SlotLayout layout;
  Buffer memory;
};

} // namespace fusec::runtime
