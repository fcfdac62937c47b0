//===- GpuKernels.h - a target's kernels, loaded on a GPU -----------------------===//
//
// Owns the modules; the functions live as long. Move-only; must die before the
// device.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/gpu/GpuDevice.h"
#include "runtime/exec/Artifact.h"
#include "runtime/exec/gpu/GpuTarget.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::runtime {

class GpuKernels {
public:
  struct Variant {
    const KernelVariant *info;
    GpuFunction *function;
  };

  /// Errors name the file: missing, refused by the loader, without the entry;
  /// and the kernel that needs more shared memory than the GPU has.
  static Result<GpuKernels> load(GpuDevice &device, const Artifact &artifact, const GpuTargetChoice &choice);

  /// The variants of a kernel of the target.
  const std::vector<Variant> &variants(std::string_view kernel) const { return kernels.find(kernel)->second; }

private:
  Result<GpuModule *> moduleOf(GpuDevice &device, const Artifact &artifact, const std::string &file);

  std::map<std::string, std::unique_ptr<GpuModule>> modules; ///< By path in the artifact.
  std::map<std::string, std::vector<Variant>, std::less<>> kernels;
};

} // namespace fusec::runtime
