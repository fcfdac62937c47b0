//===- Control.cpp - scf.for and scf.if ---------------------------------------------===//
#include "ir/reference/Ops/TileOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fusec::reference {

namespace {
std::vector<Lanes> valuesOf(TileFrame &frame, ValueRange values) {
  std::vector<Lanes> lanes;
  for (Value value : values)
    lanes.push_back(frame.get(value));
  return lanes;
}

void setAll(TileFrame &frame, ValueRange values, std::vector<Lanes> lanes) {
  for (auto [value, l] : llvm::zip(values, lanes))
    frame.set(value, std::move(l));
}
} // namespace

Status runFor(TileFrame &frame, Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  FUSEC_ASSIGN_OR_RETURN(int64_t lower, frame.index(loop.getLowerBound()));
  FUSEC_ASSIGN_OR_RETURN(int64_t upper, frame.index(loop.getUpperBound()));
  FUSEC_ASSIGN_OR_RETURN(int64_t step, frame.index(loop.getStep()));
  if (step <= 0)
    return invalidArgument(describe(op) + ": the step is " + std::to_string(step) + ", expected a positive number");
  std::vector<Lanes> carried = valuesOf(frame, loop.getInitArgs());
  for (int64_t i = lower; i < upper; i += step) {
    frame.set(loop.getInductionVar(), {static_cast<double>(i)});
    setAll(frame, loop.getRegionIterArgs(), std::move(carried));
    FUSEC_RETURN_IF_ERROR(frame.runBlock(*loop.getBody()));
    carried = valuesOf(frame, loop.getBody()->getTerminator()->getOperands());
  }
  setAll(frame, loop.getResults(), std::move(carried));
  return {};
}

Status runIf(TileFrame &frame, Operation *op) {
  auto branch = cast<scf::IfOp>(op);
  FUSEC_ASSIGN_OR_RETURN(int64_t condition, frame.index(branch.getCondition()));
  Region &region = condition ? branch.getThenRegion() : branch.getElseRegion();
  if (region.empty())
    return {};
  FUSEC_RETURN_IF_ERROR(frame.runBlock(region.front()));
  setAll(frame, branch.getResults(), valuesOf(frame, region.front().getTerminator()->getOperands()));
  return {};
}

} // namespace fusec::reference
