//===- Traffic.cpp ---------------------------------------------------------------------===//
#include "passes/report/Traffic.h"

#include "passes/report/AccessCount.h"
#include "passes/report/KernelUse.h"
#include "runtime/schema/PanelLayout.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;

namespace fusec {

namespace {

double extentOf(const fuse::Dim &dim, const StepSizes &sizes) {
  return static_cast<double>(dim.isStatic() ? dim.size : sizes.lookup(dim.symbol.getValue()));
}

double bytesOf(tile::BufferType type, const StepSizes &sizes, bool oneRowPerToken, double rows) {
  if (type.getLayout() == tile::Layout::Panel) {
    double row = static_cast<double>(packedBytes(*type.getStorage(), panelRows, type.getDims()[1].size)) / panelRows;
    return row * (oneRowPerToken ? rows : static_cast<double>(panelCount(type.getDims()[0].size) * panelRows));
  }
  double elements = 1;
  for (auto [i, dim] : llvm::enumerate(type.getDims()))
    elements *= i == 0 && oneRowPerToken ? rows : extentOf(dim, sizes);
  return elements * static_cast<double>(type.getElementBytes());
}

/// The variant that runs at these sizes; null when none does.
tile::KernelOp variantFor(plan::KernelOp kernel, const SymbolTable &symbols, const StepSizes &sizes) {
  for (auto variant : kernel.getVariants().getAsRange<plan::VariantAttr>())
    if (!variant.getSymbol() || sizes.lookup(variant.getSymbol().getValue()) <= variant.getLimit())
      return symbols.lookup<tile::KernelOp>(variant.getKernel().getValue());
  return {};
}

/// Rows that a gathering kernel takes: the extent of its first grid axis.
double rowsOf(tile::KernelOp kernel, const StepSizes &sizes) {
  return extentOf(cast<tile::AxisAttr>(kernel.getGrid()[0]).getExtent(), sizes);
}

struct ArgumentTraffic {
  plan::BufferOp buffer;
  double read = 0, written = 0;               ///< Once per launch.
  double loaded = 0, stored = 0, touched = 0; ///< By all programs.
};

/// Counts launches; launches of one kernel with the same inputs are counted once.
class LaunchCounter {
public:
  LaunchCounter(ModuleOp module, const StepSizes &sizes, const StepInputs &inputs)
      : symbols(module), sizes(sizes), inputs(inputs) {}

  /// The kernel that a launch runs; null when it does nothing at these sizes, or only beside a library.
  tile::KernelOp kernelOf(plan::LaunchOp launch) const {
    if (launch.getPath() && launch.getPath()->getKind() == plan::PathKind::Library)
      return {};
    return variantFor(symbols.lookup<plan::KernelOp>(launch.getKernel()), symbols, sizes);
  }

  std::vector<ArgumentTraffic> count(plan::LaunchOp launch, tile::KernelOp kernel) {
    std::vector<ArgumentTraffic> rows;
    const std::vector<AccessCount> &accesses = accessesOf(launch, kernel);
    for (auto [i, use] : llvm::enumerate(usesOf(kernel))) {
      Value buffer = launch.getBuffers()[i];
      auto type = cast<tile::BufferType>(buffer.getType());
      double bytes = bytesTouched(type, use, kernel);
      ArgumentTraffic row{buffer.getDefiningOp<plan::BufferOp>()};
      row.loaded = accesses[i].loadedBytes;
      row.stored = accesses[i].storedBytes;
      row.touched = accesses[i].touchedBytes;
      // Loops and views may leave a part of the buffer alone.
      row.read = use.read ? std::min(bytes, row.loaded) : 0;
      row.written = use.written ? std::min(bytes, row.stored) : 0;
      rows.push_back(row);
    }
    return rows;
  }

private:
  double bytesTouched(tile::BufferType type, const ArgumentUse &use, tile::KernelOp kernel) const {
    // An append writes one position per token, whatever the cache holds.
    bool appends = type.isPaged() && use.written;
    double bytes = bytesOf(type, sizes, use.gathered || appends, rowsOf(kernel, sizes));
    return appends ? bytes / std::max(1.0, extentOf(type.getDims()[1], sizes)) : bytes;
  }

  static std::string nameOf(Value buffer) { return buffer.getDefiningOp<plan::BufferOp>().getName().str(); }

  const std::vector<AccessCount> &accessesOf(plan::LaunchOp launch, tile::KernelOp kernel) {
    std::string key = kernel.getSymName().str();
    for (Value buffer : launch.getBuffers())
      if (!cast<tile::BufferType>(buffer.getType()).getElementType().isFloat())
        key += "," + nameOf(buffer);
    auto [it, isNew] = known.try_emplace(key);
    if (!isNew)
      return it->second;
    const SmallVector<std::string> names = llvm::map_to_vector(launch.getBuffers(), nameOf);
    it->second = countAccesses(
        kernel, sizes, [&](unsigned argument, ArrayRef<int64_t> index) { return inputs(names[argument], index); });
    return it->second;
  }

  SymbolTable symbols;
  const StepSizes &sizes;
  const StepInputs &inputs;
  std::map<std::string, std::vector<AccessCount>> known;
};

bool crossesTheStep(plan::BufferOp buffer) { return buffer.getKind() != plan::BufferKind::Activation; }

} // namespace

StepInputs singleSequence(const StepSizes &sizes, int64_t context) {
  int64_t tokens = sizes.lookup("T");
  return [=](StringRef buffer, ArrayRef<int64_t> index) -> std::optional<int64_t> {
    if (buffer == "positions")
      return std::max<int64_t>(0, context - tokens) + index.front();
    if (buffer == "sequences")
      return 0;
    if (buffer == "output_rows")
      return tokens - 1;
    if (buffer == "block_table")
      return index.back();
    return std::nullopt;
  };
}

std::vector<LaunchTraffic> trafficOf(ModuleOp module, const StepSizes &sizes, const StepInputs &inputs) {
  LaunchCounter counter(module, sizes, inputs);
  std::vector<LaunchTraffic> rows;
  for (auto program : module.getOps<plan::ProgramOp>())
    for (auto launch : program.getOps<plan::LaunchOp>()) {
      tile::KernelOp kernel = counter.kernelOf(launch);
      if (!kernel)
        continue;
      LaunchTraffic row{launch, kernel.getSymName()};
      for (const ArgumentTraffic &argument : counter.count(launch, kernel)) {
        row.readBytes += argument.read;
        row.writtenBytes += argument.written;
        row.loadedBytes += argument.loaded;
        row.storedBytes += argument.stored;
        row.touchedBytes += argument.touched;
        if (crossesTheStep(argument.buffer))
          row.minimumBytes += argument.read + argument.written;
      }
      rows.push_back(row);
    }
  return rows;
}

std::vector<LaunchTraffic> trafficOf(ModuleOp module, const StepSizes &sizes) {
  return trafficOf(module, sizes, singleSequence(sizes, sizes.lookup("C")));
}

double minimumBytesOf(ModuleOp module, const StepSizes &sizes, const StepInputs &inputs) {
  LaunchCounter counter(module, sizes, inputs);
  llvm::MapVector<Operation *, std::pair<double, double>> touched;
  for (auto program : module.getOps<plan::ProgramOp>())
    for (auto launch : program.getOps<plan::LaunchOp>())
      if (tile::KernelOp kernel = counter.kernelOf(launch))
        for (ArgumentTraffic &argument : counter.count(launch, kernel))
          if (crossesTheStep(argument.buffer)) {
            auto &[read, written] = touched[argument.buffer];
            read = std::max(read, argument.read);
            written = std::max(written, argument.written);
          }
  double total = 0;
  for (auto &[buffer, bytes] : touched)
    total += bytes.first + bytes.second;
  return total;
}

} // namespace fusec
