//===- GpuKernels.cpp ----------------------------------------------------------===//

#include "runtime/exec/gpu/GpuKernels.h"

#include "runtime/base/MappedFile.h"

namespace fusec::runtime {

static Status checkSharedMemory(const GpuInfo &device, const KernelVariant &variant) {
  if (variant.sharedBytes <= device.sharedBytesPerBlock)
    return {};
  return unsupported("kernel '" + variant.entry + "' needs " + std::to_string(variant.sharedBytes) +
                     " bytes of shared memory, " + device.name + " has " + std::to_string(device.sharedBytesPerBlock));
}

Result<GpuModule *> GpuKernels::moduleOf(GpuDevice &device, const Artifact &artifact, const std::string &file) {
  std::unique_ptr<GpuModule> &slot = modules[file];
  if (!slot) {
    FUSEC_ASSIGN_OR_RETURN(MappedFile image, MappedFile::open(artifact.directory / file));
    FUSEC_ASSIGN_OR_RETURN(slot, device.loadModule(image.bytes(), (artifact.directory / file).string()));
  }
  return slot.get();
}

Result<GpuKernels> GpuKernels::load(GpuDevice &device, const Artifact &artifact, const GpuTargetChoice &choice) {
  GpuKernels loaded;
  for (const auto &[name, variants] : choice.target->kernels) {
    std::vector<Variant> &resolved = loaded.kernels[name];
    for (const KernelVariant &variant : variants) {
      FUSEC_RETURN_IF_ERROR(checkSharedMemory(device.info(), variant));
      const bool usesPtx = choice.usesPtx || variant.image.empty();
      FUSEC_ASSIGN_OR_RETURN(GpuModule * module,
                             loaded.moduleOf(device, artifact, usesPtx ? variant.ptx : variant.image));
      FUSEC_ASSIGN_OR_RETURN(GpuFunction * function, module->function(variant.entry));
      resolved.push_back({&variant, function});
    }
  }
  return loaded;
}

} // namespace fusec::runtime
