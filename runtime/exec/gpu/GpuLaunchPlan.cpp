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
      Row row{&launch, &kernels.variants(launch.kernel), {}, {}, {}};
      for (int32_t arg : launch.args)
        row.parameters.push_back(addresses[arg]);
      row.parameters.push_back(sizes);
      plan.rows.push_back(std::move(row));
      break;
    }
    case LaunchKind::LibraryProduct:
      plan.rows.push_back(bindProduct(manifest, launch, addresses));
      break;
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

GpuLaunchPlan::Row GpuLaunchPlan::bindProduct(const Manifest &manifest, const LaunchInfo &launch,
                                              std::span<const GpuAddress> addresses) {
  const BufferInfo &rows = manifest.buffers[launch.args[0]], &weights = manifest.buffers[launch.args[1]];
  auto addressOf = [&](int32_t buffer) { return buffer == -1 ? GpuAddress(0) : addresses[buffer]; };
  Row row{&launch, nullptr, {}, {}, rows.dims[0]};
  row.product.operand = rows.type.name == "f16" ? GpuOperand::F16 : GpuOperand::BF16;
  row.product.outputs = weights.dims[0].constant;
  row.product.summed = weights.dims[1].constant;
  row.product.rows = addressOf(launch.args[0]);
  row.product.weights = addressOf(launch.args[1]);
  row.product.result = addressOf(launch.args[2]);
  row.product.addend = addressOf(launch.addend);
  row.product.bias = addressOf(launch.bias);
  return row;
}

Result<std::optional<PlannedLaunch>> GpuLaunchPlan::kernelAt(const Row &row, const SymbolValues &values) {
  const GpuKernels::Variant *variant = variantFor(row, values);
  if (!variant)
    return std::optional<PlannedLaunch>();
  std::optional<int64_t> programs = variant->info->programs(values);
  if (!programs || *programs > std::numeric_limits<int32_t>::max())
    return internalError("launch '" + row.info->name + "': more programs than a grid holds");
  if (*programs == 0)
    return std::optional<PlannedLaunch>();
  GpuLaunch launch;
  launch.function = variant->function;
  launch.grid.x = static_cast<uint32_t>(*programs);
  launch.block.x = static_cast<uint32_t>(variant->info->threads);
  launch.sharedBytes = static_cast<uint32_t>(variant->info->sharedBytes);
  launch.parameters = row.parameters;
  return std::optional<PlannedLaunch>({0, variant->info, *programs, launch});
}

Result<std::vector<PlannedLaunch>> GpuLaunchPlan::at(const SymbolValues &values, StepGoal goal, bool hasLibrary) const {
  std::vector<PlannedLaunch> list;
  list.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row &row = rows[i];
    if (!row.info->serves(goal) || !row.info->isDone(values, hasLibrary))
      continue;
    std::optional<PlannedLaunch> planned;
    if (row.variants) {
      FUSEC_ASSIGN_OR_RETURN(planned, kernelAt(row, values));
    } else if (const int64_t tokens = row.tokens.at(values); tokens > 0) {
      planned = PlannedLaunch{0, nullptr, 1, {}, row.product};
      planned->product->tokens = tokens;
    }
    if (!planned)
      continue;
    planned->index = i;
    list.push_back(*planned);
  }
  return list;
}

GpuGraphLaunch asCaptured(const GpuLaunch &launch) {
  return {launch.function->name(), launch.grid,        launch.block,
          launch.cluster,          launch.sharedBytes, {launch.parameters.begin(), launch.parameters.end()}};
}

} // namespace fusec::runtime
