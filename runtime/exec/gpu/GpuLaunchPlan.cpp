//===- GpuLaunchPlan.cpp -------------------------------------------------------===//

#include "runtime/exec/gpu/GpuLaunchPlan.h"

#include <algorithm>
#include <limits>

namespace fusec::runtime {

GpuLaunchPlan GpuLaunchPlan::bind(const Manifest &manifest, const GpuKernels &kernels,
                                  std::span<const GpuAddress> addresses, GpuAddress sizes) {
  GpuLaunchPlan plan;
  for (const LaunchInfo &launch : manifest.launches) {
    switch (launch.kind) {
    case LaunchKind::Kernel: {
      Row row{&launch, &kernels.variants(launch.kernel), {}};
      for (int32_t arg : launch.args)
        row.parameters.push_back(addresses[arg]);
      row.parameters.push_back(sizes);
      plan.rows.push_back(std::move(row));
      break;
    }
    }
  }
  return plan;
}

const GpuKernels::Variant *GpuLaunchPlan::variantFor(const Row &row, const SymbolValues &values) {
  auto variant = std::find_if(row.variants->begin(), row.variants->end(),
                              [&](const GpuKernels::Variant &v) { return v.info->accepts(values); });
  return variant == row.variants->end() ? nullptr : &*variant;
}

bool GpuLaunchPlan::serves(StepGoal goal, const SymbolValues &values) const {
  bool found = false;
  for (const Row &row : rows) {
    if (row.info->goals.empty() || !row.info->serves(goal))
      continue;
    if (!variantFor(row, values))
      return false;
    found = true;
  }
  return found;
}

Result<std::vector<PlannedLaunch>> GpuLaunchPlan::at(const SymbolValues &values, StepGoal goal) const {
  std::vector<PlannedLaunch> list;
  list.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row &row = rows[i];
    if (!row.info->serves(goal))
      continue;
    const GpuKernels::Variant *variant = variantFor(row, values);
    if (!variant)
      continue;
    std::optional<int64_t> programs = variant->info->programs(values);
    if (!programs || *programs > std::numeric_limits<int32_t>::max())
      return internalError("launch '" + row.info->name + "': more programs than a grid holds");
    if (*programs == 0)
      continue;
    GpuLaunch launch;
    launch.function = variant->function;
    launch.grid.x = static_cast<uint32_t>(*programs);
    launch.block.x = static_cast<uint32_t>(variant->info->threads);
    launch.sharedBytes = static_cast<uint32_t>(variant->info->sharedBytes);
    launch.parameters = row.parameters;
    list.push_back({i, variant->info, *programs, launch});
  }
  return list;
}

GpuGraphLaunch asCaptured(const GpuLaunch &launch) {
  return {launch.function->name(), launch.grid,        launch.block,
          launch.cluster,          launch.sharedBytes, {launch.parameters.begin(), launch.parameters.end()}};
}

} // namespace fusec::runtime
