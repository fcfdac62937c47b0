//===- CudaKernelText.h - one kernel as CUDA C++ ---------------------------===//
//
// What the emitter writes and the compiler reads. One text is one module with
// one entry (docs/cuda/compiling.md).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace fusec::codegen {

struct CudaKernelText {
  std::string text;        ///< Includes nothing but the device library.
  std::string entry;       ///< Name of its one `extern "C"` kernel.
  int threads = 0;         ///< Per block, as its __launch_bounds__ says.
  int64_t sharedBytes = 0; ///< Dynamic shared memory per block.
  std::string family;      ///< Row of kernelBudgets().
};

} // namespace fusec::codegen
