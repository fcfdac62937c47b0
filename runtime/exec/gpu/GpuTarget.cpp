//===- GpuTarget.cpp -----------------------------------------------------------===//

#include "runtime/exec/gpu/GpuTarget.h"

#include <cstdlib>

namespace fusec::runtime {

namespace {

/// The number of a verified level: 90 of "sm_90a".
int architecture(const TargetInfo &target) { return std::atoi(target.level.c_str() + 3); }

/// "sm_90a" runs on sm_90 only.
bool hasOwnFeatures(const TargetInfo &target) { return target.level.back() >= 'a' && target.level.back() <= 'z'; }

/// Later rows of the manifest win ties, so that a plain target never hides one with features.
bool isBetterExact(const TargetInfo &candidate, const TargetInfo *best) {
  return !best || (hasOwnFeatures(candidate) && !hasOwnFeatures(*best));
}

bool hasPtx(const TargetInfo &target) {
  for (const auto &[name, variants] : target.kernels)
    for (const KernelVariant &variant : variants)
      if (variant.ptx.empty())
        return false;
  return true;
}

const TargetInfo *findExact(const Manifest &manifest, int capability, bool needsPtx) {
  const TargetInfo *best = nullptr;
  for (const TargetInfo &target : manifest.targets)
    if (target.kind == TargetKind::Cuda && architecture(target) == capability && (!needsPtx || hasPtx(target)) &&
        isBetterExact(target, best))
      best = &target;
  return best;
}

/// A device that interprets PTX, or of a later major number, needs the PTX.
const TargetInfo *findOlder(const Manifest &manifest, const GpuInfo &device) {
  const TargetInfo *best = nullptr;
  for (const TargetInfo &target : manifest.targets) {
    if (target.kind != TargetKind::Cuda || hasOwnFeatures(target) || architecture(target) >= device.computeCapability)
      continue;
    const bool runsItsCode = !device.isVirtual && architecture(target) / 10 == device.computeCapability / 10;
    if ((runsItsCode || hasPtx(target)) && (!best || architecture(target) > architecture(*best)))
      best = &target;
  }
  return best;
}

std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

} // namespace

std::string describeTargets(const Manifest &manifest) {
  const std::string host = join(manifest.levels(TargetKind::Host)), cuda = join(manifest.levels(TargetKind::Cuda));
  std::string text = host.empty() ? "" : "host kernels for " + host;
  if (!cuda.empty())
    text += (text.empty() ? "" : " and ") + ("CUDA kernels for " + cuda);
  return text.empty() ? "no kernels" : text;
}

Result<GpuTargetChoice> chooseGpuTarget(const Manifest &manifest, const GpuInfo &device) {
  const std::string own = "sm_" + std::to_string(device.computeCapability);
  if (const TargetInfo *exact = findExact(manifest, device.computeCapability, device.isVirtual))
    return GpuTargetChoice{exact, device.isVirtual, ""};
  const TargetInfo *older = findOlder(manifest, device);
  // Code runs on later GPUs of the same major number.
  if (older && architecture(*older) / 10 == device.computeCapability / 10)
    return GpuTargetChoice{older, device.isVirtual, ""};
  if (older)
    return GpuTargetChoice{older, true,
                           "the artifact has no kernels for " + device.name + " (" + own + "); those for " +
                               older->level + " are compiled from PTX while loading"};
  return notFound("the artifact has no kernels for " + device.name + " (" + own + "): it has " +
                  describeTargets(manifest) +
                  "; compile the model with: fusec compile MODEL --target cuda -o DIRECTORY");
}

} // namespace fusec::runtime
