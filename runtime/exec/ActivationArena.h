//===- ActivationArena.h - memory of activations and outputs, by slot --------===//
//
// Buffers of one slot share memory: the compiler proved that they are never live
// together. A slot is as large as its largest buffer at the step limits; slots
// follow each other in one allocation. Owns it; move-only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Buffer.h"
#include "runtime/exec/Manifest.h"

#include <cstdint>
#include <map>

namespace fusec::runtime {

class ActivationArena {
public:
  /// ResourceExhausted when the sizes overflow or cannot be reserved.
  static Result<ActivationArena> create(const Manifest &manifest, const SymbolValues &maxima);

  /// Where a buffer of this slot lives; the slot must be one of the manifest's.
  std::byte *address(int32_t slot) const { return memory.data() + slots.at(slot).offset; }
  /// Slack included.
  int64_t slotBytes(int32_t slot) const { return slots.at(slot).bytes; }
  int64_t bytes() const { return memory.bytes(); }

private:
  struct Slot {
    int64_t bytes = 0;
    int64_t offset = 0;
  };
  std::map<int32_t, Slot> slots;
  Buffer memory;
};

} // namespace fusec::runtime
