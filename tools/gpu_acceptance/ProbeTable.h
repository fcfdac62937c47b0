//===- ProbeTable.h - inputs and tolerances of kernels/Probes.cu ------------------===//
//
// One row per kernel and kind of input. Adding a probe is a kernel and a row.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fusec::acceptance {

/// Word `index` of a probe's input; `random` differs per word and is the same everywhere.
using WordMaker = uint32_t (*)(size_t index, uint64_t random);

struct Probe {
  const char *kernel;
  const char *inputs; ///< What the words are, for the report.
  const char *target; ///< Of the PTX file: "sm_80".
  int from, below;    ///< Compute capabilities that run it: from <= cc < below.
  uint32_t threads;   ///< Of the only block.
  size_t inWords, outWords;
  WordMaker make;
  /// How far a result may be from the virtual device's, as a share of its size; by column of the output, empty = same
  /// bits. With one column and `isAbsolute`: as a number.
  std::vector<double> tolerance = {};
  bool isAbsolute = false;
};

std::span<const Probe> probes();

/// The input of the probe.
std::vector<uint32_t> probeInput(const Probe &probe);

/// Empty when `found` is as near to `expected` as the row says; else the worst word. `summary` tells the largest
/// difference, also when it is allowed.
std::string compareProbe(const Probe &probe, std::span<const uint32_t> found, std::span<const uint32_t> expected,
                         std::string &summary);

} // namespace fusec::acceptance
