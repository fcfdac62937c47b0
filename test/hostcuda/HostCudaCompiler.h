//===- HostCudaCompiler.h - a kernel's CUDA text as a library of the host ---------===//
//
// The text that NVRTC gets, and the device library, compiled by clang as C++ with
// -Wall -Wextra as errors and UndefinedBehaviorSanitizer. Headers of inline PTX
// are replaced by those of the same name in ./device; one that has no such form
// is refused by name when a kernel includes it.
//
//   auto library = compileHostCuda({.name = source.entry, .text = source.text});   // a path
//
// Results are kept by content under FUSEC_HOSTCUDA_CACHE, with the sources that a
// debugger shows. FUSEC_HOSTCUDA_DEBUG in the environment: without optimisation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/DeviceLibrary.h"
#include "runtime/base/Status.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fusec::hostcuda {

struct HostCudaInput {
  std::string name;                          ///< Of the file that messages and debuggers show, without ".cu".
  std::string text;                          ///< Any number of kernels.
  std::vector<std::string> definitions = {}; ///< "-DNAME=value".
  std::span<const codegen::CudaHeader> headers = codegen::deviceLibrary();
  std::string target = "sm_80"; ///< Or "sm_90a".
};

/// The library's file. InvalidArgument with the compiler's first messages when it has any, warnings too. Not for
/// several threads at once; several processes may share the cache.
Result<std::filesystem::path> compileHostCuda(const HostCudaInput &input);

/// Empty, or why no kernel can be compiled here.
std::string whyNoHostCuda();

} // namespace fusec::hostcuda
