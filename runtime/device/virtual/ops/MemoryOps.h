//===- MemoryOps.h - what the memory instructions share ----------------------===//
#pragma once

#include "runtime/device/virtual/exec/InstructionDecoder.h"

namespace fusec::virtualgpu {

/// Takes a state space; Generic when there is none.
ptx::Space takeSpace(InstructionDecoder &d);
/// How an access orders others.
enum class Strength { Weak, Strong, Release };
/// Takes the modifiers for caches, order and scope. Every access is sequentially consistent here; the
/// order only matters to the race check.
Strength takeMemoryHints(InstructionDecoder &d);

} // namespace fusec::virtualgpu
