//===- CudaDriverApi.h - libcuda, loaded at run time ----------------------------===//
//
// One table of function pointers, filled from the driver's library when a GPU is
// asked for: a program with GPU support runs where there is no driver.
//
//   FUSEC_ASSIGN_OR_RETURN(std::shared_ptr<const CudaDriverApi> api, CudaDriverApi::load());
//   FUSEC_RETURN_IF_ERROR(api->check(api->cuMemFree(address), "freeing device memory"));
//
// The library stays loaded: the driver does not survive being unloaded.
// Threading: immutable after load, safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaTypes.h"

#include <memory>
#include <string>

namespace fusec::runtime::cuda {

/// The oldest driver: kernel nodes of graphs are read in the form of CUDA 12.0.
inline constexpr int minimumDriverVersion = 12000;

/// 12040 -> "12.4"
std::string versionText(int version);

struct CudaDriverApi {
  /// Loads libcuda.so.1, or the library that the environment variable
  /// FUSEC_LIBCUDA names, and initialises the driver. NotFound without a driver,
  /// Unsupported for one that is too old; both say what was found and needed.
  static Result<std::shared_ptr<const CudaDriverApi>> load();

  /// Ok for Success; else an error that says what was being done, and the
  /// driver's name and words for it. OutOfMemory is ResourceExhausted.
  Status check(CallResult result, const std::string &doing) const;
  /// "CUDA_ERROR_NOT_FOUND (named symbol not found)"
  std::string describe(CallResult result) const;

  std::string library; ///< As it was loaded.
  int driverVersion = 0;

#define FUSEC_CUDA_FUNCTION(name, version, parameters) CallResult(*name) parameters = nullptr;
#include "runtime/device/cuda/CudaFunctions.def"

private:
  Status resolve(void *handle);
};

} // namespace fusec::runtime::cuda
