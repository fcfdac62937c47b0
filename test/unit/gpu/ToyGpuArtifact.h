//===- ToyGpuArtifact.h - the toy model with kernels for GPUs ----------------------===//
//
// The toy artifact of test/unit/runtime with a CUDA target beside the host's:
// PTX only, from fixtures/ToyKernels.ptx and ToySampling.ptx.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/unit/runtime/ToyArtifact.h"

#include <nlohmann/json.hpp>

namespace fusec::runtime::test {

/// The toy manifest with the target "sm_80", its last one. With `tiles`, decode steps of up to four tokens go through
/// kernels that handle two tokens at a time and do not ask whether they exist.
nlohmann::json toyGpuManifest(bool tiles = false);

/// The same with a launch that chooses tokens, for the GPU only: from fixtures/ToySampling.ptx.
nlohmann::json toySamplingManifest();

class ToyGpuArtifact : public ToyArtifact {
public:
  explicit ToyGpuArtifact(ToyRule rule = ToyRule::Checksum, const nlohmann::json &manifest = toyGpuManifest());
};

} // namespace fusec::runtime::test
