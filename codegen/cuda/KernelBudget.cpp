//===- KernelBudget.cpp - what a kernel may use ----------------------------===//
#include "codegen/cuda/KernelBudget.h"

#include "codegen/cuda/Occupancy.h"

namespace fusec::codegen {

namespace {

/// Registers: streaming families need many warps to cover memory latency, so theirs leave at least 16 warps on a
/// multiprocessor (65536 / 32 / 16 = 128); matrix families hold accumulators and may take what there is.
constexpr KernelBudget table[] = {
    {.family = "elementwise", .registers = 128},                 //
    {.family = "angles", .registers = 128, .stackBytes = 40},    // sin and cos of a huge double reduce it in memory.
    {.family = "copy", .registers = 128},                        // Embedding, gather, scatter, KV append.
    {.family = "norm", .registers = 128},                        //
    {.family = "reduce", .registers = 128},                      // Softmax, argmax, merges of splits.
    {.family = "gemv", .registers = 128},                        // Few rows times a streamed matrix.
    {.family = "gemm", .registers = 255},                        //
    {.family = "attention", .registers = 255, .stackBytes = 40}, // May rotate its queries itself: as angles.
    {.family = "sample", .registers = 128},                      //
    {.family = "test", .registers = 255},                        // Texts of tests and probes.
};

} // namespace

std::span<const KernelBudget> kernelBudgets() { return table; }

Result<const KernelBudget *> kernelBudgetOf(std::string_view family) {
  for (const KernelBudget &budget : table)
    if (budget.family == family)
      return &budget;
  return internalError("kernel family '" + std::string(family) + "' has no row in the table of budgets");
}

std::vector<std::string> excessOf(const KernelResources &found, const KernelBudget &budget, const LaunchShape &launch,
                                  const CudaTarget &target) {
  std::vector<std::string> excess;
  auto check = [&](const char *what, int64_t used, int64_t allowed) {
    if (used > allowed)
      excess.push_back(std::string(what) + ' ' + std::to_string(used) + " (allowed " + std::to_string(allowed) + ')');
  };
  check("registers", found.registers, budget.registers);
  check("spill bytes", found.spillStores + found.spillLoads, budget.spillBytes);
  check("stack bytes", found.stackBytes, budget.stackBytes);
  check("threads", launch.threads, CudaTarget::threadsPerBlock);
  check("shared bytes", found.sharedBytes + launch.dynamicShared, target.sharedPerBlock);
  for (const std::string &loss : found.losses)
    excess.push_back(loss);
  const KernelNeeds needs{launch.threads, found.registers, found.sharedBytes + launch.dynamicShared, found.barriers};
  if (excess.empty() && occupancyOf(target, needs).blocks == 0)
    excess.push_back(std::to_string(found.registers) + " registers times " + std::to_string(launch.threads) +
                     " threads (allowed " + std::to_string(CudaTarget::registersPerMultiprocessor) + " in all)");
  return excess;
}

} // namespace fusec::codegen
