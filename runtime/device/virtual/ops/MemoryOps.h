//===- MemoryOps.h - what the memory instructions share ----------------------===//
#pragma once

#include "runtime/device/virtual/exec/InstructionDecoder.h"

namespace fusec::virtualgpu {

/// Takes a state space; Generic when there is none.
ptx::Space takeSpace(InstructionDecoder &d);
/// Takes modifiers that only steer caches or name the order and scope, which this device,
/// sequentially consistent, always satisfies.
void takeMemoryHints(InstructionDecoder &d);

} // namespace fusec::virtualgpu
