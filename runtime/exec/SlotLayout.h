//===- SlotLayout.h - where activations and outputs live ------------------------===//
//
// Buffers of one slot share memory: the compiler proved that they are never live
// together. A slot is as large as its largest buffer at the step limits; slots
// follow each other. Numbers only; the memory is its user's. Values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Manifest.h"

#include <cstdint>
#include <map>

namespace fusec::runtime {

class SlotLayout {
public:
  /// Slots start at multiples of `alignment`, a multiple of 64. ResourceExhausted
  /// when the sizes overflow.
  static Result<SlotLayout> create(const Manifest &manifest, const SymbolValues &maxima, int64_t alignment);

  /// Offset of a slot, which must be one of the manifest's.
  int64_t offset(int32_t slot) const { return slots.at(slot).offset; }
  /// Slack included.
  int64_t slotBytes(int32_t slot) const { return slots.at(slot).bytes; }
  int64_t bytes() const { return total; }

private:
  struct Slot {
    int64_t bytes = 0;
    int64_t offset = 0;
  };
  std::map<int32_t, Slot> slots;
  int64_t total = 0;
};

} // namespace fusec::runtime
