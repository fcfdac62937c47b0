//===- GpuTarget.h - which of an artifact's targets a GPU runs ------------------===//
//
//  1. The target of exactly the GPU's architecture, its own features (sm_90a)
//     before the plain one: its cubins on a real GPU, its PTX on the virtual one.
//  2. Else the newest older target without features of its own. Its cubins run
//     on the same major number; else the driver compiles its PTX when the
//     artifact is loaded, which a note tells.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/gpu/GpuDevice.h"
#include "runtime/exec/Manifest.h"

#include <string>

namespace fusec::runtime {

struct GpuTargetChoice {
  const TargetInfo *target = nullptr;
  bool usesPtx = false; ///< Else cubins, where the target has them.
  std::string note;     ///< Empty, or a sentence for the user.
};

/// NotFound names what the artifact has and how to compile for this GPU.
Result<GpuTargetChoice> chooseGpuTarget(const Manifest &manifest, const GpuInfo &device);

/// "host kernels for avx512 and CUDA kernels for sm_80", "no kernels".
std::string describeTargets(const Manifest &manifest);

} // namespace fusec::runtime
