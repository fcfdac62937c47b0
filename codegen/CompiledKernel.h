//===- CompiledKernel.h - what the manifest says of one compiled kernel --------===//
//
// The common result of the targets' compilers (codegen/host, codegen/cuda). A
// target fills its own fields; the others stay zero or empty.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace fusec::codegen {

struct CompiledKernel {
  std::string entry;        ///< The kernel's name, and its symbol in the library or module.
  int64_t scratchBytes = 0; ///< Host: memory one thread needs to run programs.

  // CUDA.
  int64_t threads = 0;     ///< Of a block; a multiple of 32.
  int64_t sharedBytes = 0; ///< Dynamic shared memory of a block.
  int64_t registers = 0;   ///< Per thread, as compiled for the exact target.
  // Paths inside the artifact, e.g. "kernels/sm_80/k1_v0.cubin"; at least one of image and ptx.
  std::string image;  ///< cubin for exactly the target.
  std::string ptx;    ///< PTX text, for devices that are newer.
  std::string source; ///< CUDA C++ text, for people.
};

} // namespace fusec::codegen
