//===- MachineRates.h - what this machine can do, for the roofline ----------===//
#pragma once

namespace fusec {

struct MachineRates {
  double bytesPerSecond = 0; ///< Read from memory by all threads together.
  double flopsPerSecond = 0; ///< f32 multiply-adds, two operations each, at the widest vectors used.
};

/// Measures both for about a quarter of a second each, on `threads` threads. An estimate: it is
/// meant to draw a line by, not to compare machines.
MachineRates measureMachine(int threads);

} // namespace fusec
