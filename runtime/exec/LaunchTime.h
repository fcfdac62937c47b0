//===- LaunchTime.h - accumulated time of one launch of the plan ------------===//
//
// Filled while profiling is on; read by `fusec bench` and `fusec explain`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace fusec::runtime {

struct LaunchTime {
  std::string launch;   ///< "blk.0.attn_norm"
  std::string kernel;   ///< "k0"
  std::string entry;    ///< Entry point of the variant used last.
  int64_t runs = 0;     ///< Steps in which it had at least one program.
  int64_t programs = 0; ///< Summed over runs.
  double seconds = 0;   ///< Wall time including the closing barrier, summed over runs.
};

} // namespace fusec::runtime
