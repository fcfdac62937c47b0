//===- ActivationArena.cpp ---------------------------------------------------===//

#include "runtime/exec/ActivationArena.h"

#include <algorithm>

namespace fusec::runtime {

namespace {
constexpr int64_t slotAlignment = 64;
} // namespace

Result<ActivationArena> ActivationArena::create(const Manifest &manifest, const SymbolValues &maxima) {
  ActivationArena arena;
  FUSEC_ASSIGN_OR_RETURN(arena.layout, SlotLayout::create(manifest, maxima, slotAlignment));
  FUSEC_ASSIGN_OR_RETURN(arena.memory, Buffer::allocate(std::max(arena.layout.bytes(), slotAlignment), "activations"));
  return arena;
}

} // namespace fusec::runtime
