//===- KernelCounts.cpp - what kernels do on the virtual device ------------===//
#include "tools/fusec/KernelCounts.h"

#include "runtime/device/virtual/VirtualDevice.h"
#include "runtime/exec/gpu/GpuExecutor.h"

#include <algorithm>
#include <cstdio>
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

  /// Appends `count` tokens behind `cached` ones; the counters are then of this step. What is in the cache is zero:
  /// no access depends on it.
  Status step(int64_t cached, int64_t count) {
    device->resetCounters();
    const std::vector<text::TokenId> tokens(static_cast<size_t>(count), 1);
    std::vector<int32_t> positions(tokens.size()), sequences(tokens.size(), 0);
    std::iota(positions.begin(), positions.end(), static_cast<int32_t>(cached));
    const int32_t last = static_cast<int32_t>(count - 1);
    return executor
        ->step({tokens, positions, sequences, blockTable, static_cast<int64_t>(blockTable.size()), {&last, 1}})
        .status();
  }

  void fill(codegen::KernelTableRow &row, std::vector<CountedLine> *lines) const {
    const virtualgpu::VirtualCounters done = device->counters(row.entry);
    if (done.launches == 0)
      return;
    row.countedBytes = sectorBytes * perLaunch(done.total.movedSectors, done);
    row.requestedBytes = sectorBytes * perLaunch(done.total.sectors, done);
    row.conflictFactor = done.bankConflictFactor();
    if (lines)
      addLines(row.entry, done, *lines);
  }

private:
  static constexpr int64_t sectorBytes = 32;

  static int64_t perLaunch(uint64_t count, const virtualgpu::VirtualCounters &done) {
    return static_cast<int64_t>(count / done.launches);
  }

  /// One line per place in a source, with all instructions made of it.
  static void addLines(const std::string &entry, const virtualgpu::VirtualCounters &done,
                       std::vector<CountedLine> &lines) {
    const size_t first = lines.size();
    for (const virtualgpu::VirtualCounters::Line &from : done.lines) {
      const virtualgpu::InstrCounters &count = from.counters;
      if (count.sectors == 0 && count.sharedWavefronts == 0)
        continue;
      auto line = std::find_if(lines.begin() + static_cast<ptrdiff_t>(first), lines.end(),
                               [&](const CountedLine &known) { return known.source == from.source; });
      if (line == lines.end())
        line = lines.insert(line, {.entry = entry, .source = from.source});
      line->askedBytes += perLaunch(count.bytes, done);
      line->requestedBytes += sectorBytes * perLaunch(count.sectors, done);
      line->countedBytes += sectorBytes * perLaunch(count.movedSectors, done);
      line->wavefronts += perLaunch(count.sharedWavefronts, done);
      line->idealWavefronts += perLaunch(count.sharedIdeal, done);
    }
  }

  CountingRun(std::unique_ptr<runtime::GpuExecutor> executor, virtualgpu::VirtualDevice &device)
      : executor(std::move(executor)), device(&device) {}
  std::unique_ptr<runtime::GpuExecutor> executor;
  virtualgpu::VirtualDevice *device; ///< Owned by the executor.
  std::vector<int32_t> blockTable;
};

} // namespace

Status countKernels(const std::filesystem::path &path, codegen::KernelTable &table, std::vector<CountedLine> *lines) {
  FUSEC_ASSIGN_OR_RETURN(runtime::Artifact artifact, runtime::Artifact::open(path));
  FUSEC_ASSIGN_OR_RETURN(CountingRun run, CountingRun::create(artifact, table.target));
  for (const codegen::TableStep &step : codegen::tableSteps) {
    FUSEC_RETURN_IF_ERROR(run.step(step.context - step.tokens, step.tokens));
    for (codegen::KernelTableRow &row : table.rows)
      if (row.tokens == step.tokens)
        run.fill(row, lines);
  }
  return {};
}

std::string countedLinesText(std::vector<CountedLine> lines) {
  std::sort(lines.begin(), lines.end(), [](const CountedLine &a, const CountedLine &b) {
    return std::tuple(a.entry, -a.requestedBytes, a.source) < std::tuple(b.entry, -b.requestedBytes, b.source);
  });
  std::string text, entry;
  for (const CountedLine &line : lines) {
    char row[160];
    if (line.entry != entry) {
      std::snprintf(row, sizeof row, "\n%-32s %12s %12s %12s %12s %12s\n", line.entry.c_str(), "asked B", "requested B",
                    "counted B", "wavefronts", "at least");
      text += row;
      entry = line.entry;
    }
    std::snprintf(row, sizeof row, "  %-30s %12lld %12lld %12lld %12lld %12lld\n", line.source.c_str(),
                  static_cast<long long>(line.askedBytes), static_cast<long long>(line.requestedBytes),
                  static_cast<long long>(line.countedBytes), static_cast<long long>(line.wavefronts),
                  static_cast<long long>(line.idealWavefronts));
    text += row;
  }
  return text;
}

} // namespace fusec
