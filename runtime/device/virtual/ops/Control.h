//===- Control.h - handlers the decoder places itself ------------------------===//
#pragma once

#include "runtime/device/virtual/exec/Program.h"

namespace fusec::virtualgpu {

/// Ends the lanes of the mask.
Handler exitHandler();
/// A failed assert; src[0] (optional) = 64-bit address of its message.
Handler assertHandler();

} // namespace fusec::virtualgpu
