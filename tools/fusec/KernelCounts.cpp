//===- KernelCounts.cpp - what kernels do on the virtual device ------------===//
#include "tools/fusec/KernelCounts.h"

#include "runtime/device/virtual/VirtualDevice.h"
#include "runtime/exec/gpu/GpuExecutor.h"

#include <algorithm>
#include <numeric>
#include <thread>

namespace fusec {

namespace {

/// One sequence on a virtual device.
class CountingRun {
public:
  static Result<CountingRun> create(const runtime::Artifact &artifact, const std::string &target) {
    virtualgpu::VirtualOptions options;
    options.target = target;
    options.checked = false;
    options.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<virtualgpu::VirtualDevice> device,
                           virtualgpu::VirtualDevice::create(options));
    virtualgpu::VirtualDevice *counters = device.get();
    runtime::GpuExecutorOptions executor;
    for (const codegen::TableStep &step : codegen::tableSteps) {
      executor.limits.tokens = std::max(executor.limits.tokens, step.tokens);
      executor.limits.contextTokens = std::max(executor.limits.contextTokens, step.context);
    }
    const int64_t page = artifact.manifest.kv.pageTokens;
    const int64_t pages = (executor.limits.contextTokens + page - 1) / page;
    executor.numPages = 1 + pages; // Page 0 is nobody's.
    executor.usesGraphs = false;
    FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<runtime::GpuExecutor> made,
                           runtime::GpuExecutor::create(artifact, std::move(device), executor));
    CountingRun run(std::move(made), *counters);
    run.blockTable.resize(static_cast<size_t>(pages));
    std::iota(run.blockTable.begin(), run.blockTable.end(), 1);
    return run;
  }

  /// Appends `count` tokens behind `cached` ones; the counters are then of this step.
  Status step(int64_t cached, int64_t count) {
    device->resetCounters();
    if (count == 0)
      return {};
    const std::vector<text::TokenId> tokens(static_cast<size_t>(count), 1);
    std::vector<int32_t> positions(tokens.size()), sequences(tokens.size(), 0);
    std::iota(positions.begin(), positions.end(), static_cast<int32_t>(cached));
    const int32_t last = static_cast<int32_t>(count - 1);
    return executor
        ->step({tokens, positions, sequences, blockTable, static_cast<int64_t>(blockTable.size()), {&last, 1}})
        .status();
  }

  void fill(codegen::KernelTableRow &row) const {
    const virtualgpu::VirtualCounters done = device->counters(row.entry);
    if (done.launches == 0)
      return;
    constexpr uint64_t sectorBytes = 32;
    row.countedBytes = static_cast<int64_t>(done.total.sectors * sectorBytes / done.launches);
    row.conflictFactor = done.bankConflictFactor();
  }

private:
  CountingRun(std::unique_ptr<runtime::GpuExecutor> executor, virtualgpu::VirtualDevice &device)
      : executor(std::move(executor)), device(&device) {}
  std::unique_ptr<runtime::GpuExecutor> executor;
  virtualgpu::VirtualDevice *device; ///< Owned by the executor.
  std::vector<int32_t> blockTable;
};

} // namespace

Status countKernels(const std::filesystem::path &path, codegen::KernelTable &table) {
  FUSEC_ASSIGN_OR_RETURN(runtime::Artifact artifact, runtime::Artifact::open(path));
  FUSEC_ASSIGN_OR_RETURN(CountingRun run, CountingRun::create(artifact, table.target));
  for (const codegen::TableStep &step : codegen::tableSteps) {
    FUSEC_RETURN_IF_ERROR(run.step(0, step.context - step.tokens));
    FUSEC_RETURN_IF_ERROR(run.step(step.context - step.tokens, step.tokens));
    for (codegen::KernelTableRow &row : table.rows)
      if (row.tokens == step.tokens)
        run.fill(row);
  }
  return {};
}

} // namespace fusec
