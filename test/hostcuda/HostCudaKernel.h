//===- HostCudaKernel.h - a compiled text whose kernels run on the host -----------===//
//
//   auto kernels = HostCudaKernels::create({.name = "norm_kernel", .text = text});
//   Status status = kernels->launch("norm_kernel", {.grid = 9, .threads = 64, .sharedBytes = 256,
//                                                   .parameters = {x.address, y.address}, .memory = {x, y}});
//
// A launch runs to its end or to its first fault, which is the Status: what is
// wrong, in which kernel, block, thread and line.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/hostcuda/HostCudaCompiler.h"
#include "test/hostcuda/runtime/HostLaunch.h"

#include <memory>

namespace fusec::hostcuda {

struct HostCudaLaunch {
  unsigned grid = 1, threads = 32, sharedBytes = 0;
  std::vector<uint64_t> parameters = {};           ///< Addresses.
  std::vector<::hostcuda::HostMemory> memory = {}; ///< What may be touched. Names live as long as the launch.
  uint64_t seed = 0;                               ///< Odd: threads take turns in the opposite order.
};

/// Owns a loaded library. Not thread-safe.
class HostCudaKernels {
public:
  static Result<std::unique_ptr<HostCudaKernels>> create(const HostCudaInput &input);
  ~HostCudaKernels();
  HostCudaKernels(const HostCudaKernels &) = delete;
  HostCudaKernels &operator=(const HostCudaKernels &) = delete;

  /// Internal with the fault; NotFound for a kernel that the text does not have.
  Status launch(const std::string &entry, const HostCudaLaunch &launch);

private:
  HostCudaKernels(std::filesystem::path path, void *library) : path(std::move(path)), library(library) {}
  std::string placeOf(uint64_t codeOffset) const;

  std::filesystem::path path;
  void *library;
};

} // namespace fusec::hostcuda
