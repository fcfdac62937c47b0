//===- Traffic.cpp ---------------------------------------------------------------------===//
#include "passes/report/Traffic.h"

#include "passes/report/KernelUse.h"

#include "runtime/schema/PanelLayout.h"

#include "mlir/IR/SymbolTable.h"

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
  return elements * type.getElementType().getIntOrFloatBitWidth() / 8;
}

/// The variant that runs at these sizes.
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

} // namespace

std::vector<LaunchTraffic> trafficOf(ModuleOp module, const StepSizes &sizes) {
  SymbolTable symbols(module);
  std::vector<LaunchTraffic> rows;
  for (auto program : module.getOps<plan::ProgramOp>())
    for (auto launch : program.getOps<plan::LaunchOp>()) {
      tile::KernelOp kernel = variantFor(symbols.lookup<plan::KernelOp>(launch.getKernel()), symbols, sizes);
      LaunchTraffic row{launch};
      for (auto [use, buffer] : llvm::zip(usesOf(kernel), launch.getBuffers())) {
        auto declared = buffer.getDefiningOp<plan::BufferOp>();
        auto type = cast<tile::BufferType>(buffer.getType());
        // An append writes one position per token, whatever the cache holds.
        bool sliced = use.gathered || (type.isPaged() && use.written);
        double bytes = bytesOf(type, sizes, sliced, rowsOf(kernel, sizes));
        if (type.isPaged() && use.written)
          bytes /= std::max(1.0, extentOf(type.getDims()[1], sizes));
        row.readBytes += use.read ? bytes : 0;
        row.writtenBytes += use.written ? bytes : 0;
        if (declared.getKind() != plan::BufferKind::Activation)
          row.minimumBytes += bytes * (use.read + use.written);
      }
      rows.push_back(row);
    }
  return rows;
}

} // namespace fusec
