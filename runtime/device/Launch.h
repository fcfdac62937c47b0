//===- Launch.h - one kernel launch, ready to run ----------------------------===//
//
// Plain data that borrows everything: the module's code, the argument table and
// the symbol values. Built by the Executor, run by a device.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace fusec::runtime {

/// The C ABI of compiled host kernels. Runs programs [begin, end) of the linear
/// program index (last grid axis fastest). Programs are independent of each
/// other, so any split over threads gives the same bytes.
///   args:    buffer addresses in the launch's order
///   symbols: values of the manifest's symbols, in its order
///   scratch: the calling thread's scratch memory, uninitialised
using KernelEntry = void (*)(void *const *args, const int64_t *symbols, int64_t begin, int64_t end, void *scratch);

struct Launch {
  KernelEntry entry = nullptr;
  void *const *args = nullptr;
  int64_t programs = 0; ///< 0 = nothing to do this step.
};

} // namespace fusec::runtime
