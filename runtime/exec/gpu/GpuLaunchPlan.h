//===- GpuLaunchPlan.h - from the symbols of a step to its launches -------------===//
//
// Binds each launch of the manifest to addresses once; then gives, for any values
// of the symbols and what the step is asked for, the kernels with their grids, and
// the library's products where the step may have them. A pure function of these:
// the list for a bucket is what its captured graph must hold.
//
// Borrows kernels and manifest. Immutable after bind.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/gpu/GpuProducts.h"
#include "runtime/exec/Manifest.h"
#include "runtime/exec/gpu/GpuKernels.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

/// One launch that has programs, or one product.
struct PlannedLaunch {
  size_t index;                 ///< Into Manifest::launches.
  const KernelVariant *variant; ///< Null for a product.
  int64_t programs;             ///< 1 for a product.
  GpuLaunch launch;             ///< Its parameters are the plan's.
  std::optional<GpuProduct> product = {};
};

class GpuLaunchPlan {
public:
  /// `addresses`: of the manifest's buffers; `sizes`: of the symbols' values.
  static GpuLaunchPlan bind(const Manifest &manifest, const GpuKernels &kernels, std::span<const GpuAddress> addresses,
                            GpuAddress sizes);

  /// Whether every launch that only some steps have, this kind among them, has a kernel for these sizes; false where
  /// there is no such launch.
  bool serves(StepGoal goal, const SymbolValues &values) const;

  /// `hasLibrary`: products may be the library's. Internal error when a grid is larger than a GPU's.
  Result<std::vector<PlannedLaunch>> at(const SymbolValues &values, StepGoal goal, bool hasLibrary) const;

private:
  struct Row {
    const LaunchInfo *info;
    const std::vector<GpuKernels::Variant> *variants; ///< Null for a product.
    std::vector<uint64_t> parameters;
    GpuProduct product; ///< All but the number of tokens,
    Extent tokens;      ///< which is this.
  };
  static const GpuKernels::Variant *variantFor(const Row &row, const SymbolValues &values);
  static Row bindProduct(const Manifest &manifest, const LaunchInfo &launch, std::span<const GpuAddress> addresses);
  static Result<std::optional<PlannedLaunch>> kernelAt(const Row &row, const SymbolValues &values);

  std::vector<Row> rows;
};

/// The launch as a graph lists it.
GpuGraphLaunch asCaptured(const GpuLaunch &launch);

} // namespace fusec::runtime
