//===- TileCompute.cpp - dot, reduce, indices and elementwise ops on tiles --------===//
#include "ir/reference/Ops/Dot.h"
#include "ir/reference/Ops/TileOps.h"

using namespace mlir;

namespace fusec::reference {

Status runOrigin(TileFrame &frame, Operation *op) {
  auto origin = cast<tile::OriginOp>(op);
  frame.set(origin.getResult(), {static_cast<double>(frame.origins[origin.getAxis()])});
  return {};
}

Status runExtent(TileFrame &frame, Operation *op) {
  auto extent = cast<tile::ExtentOp>(op);
  auto it = frame.environment.symbols.find(extent.getSymbol());
  if (it == frame.environment.symbols.end())
    return notFound("size symbol '" + extent.getSymbol().str() + "' has no value");
  frame.set(extent.getResult(), {static_cast<double>(it->second)});
  return {};
}

Status runScalarConstant(TileFrame &frame, Operation *op) {
  auto constant = cast<arith::ConstantOp>(op);
  FUSEC_ASSIGN_OR_RETURN(Lanes lanes, constantValues(constant.getValue(), numElements(lanesShape(constant.getType()))));
  frame.set(constant.getResult(), std::move(lanes));
  return {};
}

Status runIndex(TileFrame &frame, Operation *op) {
  auto index = cast<tile::IndexOp>(op);
  FUSEC_ASSIGN_OR_RETURN(int64_t base, frame.index(index.getBase()));
  Lanes lanes;
  const int64_t dim = static_cast<int64_t>(index.getDim());
  FUSEC_RETURN_IF_ERROR(forEachIndex(lanesShape(index.getType()), [&](ArrayRef<int64_t> at) {
    lanes.push_back(wrapTo(Element::I32, base + at[dim]));
    return Status();
  }));
  frame.set(index.getResult(), std::move(lanes));
  return {};
}

Status runLaneOp(TileFrame &frame, Operation *op) {
  FUSEC_ASSIGN_OR_RETURN(const LaneInstruction *instruction, frame.instruction(op));
  const int64_t n = numElements(lanesShape(op->getResult(0).getType()));
  // A scalar condition selects whole vectors.
  std::vector<Lanes> widened(op->getNumOperands());
  SmallVector<const double *, 3> in;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const Lanes &lanes = frame.get(operand);
    if (static_cast<int64_t>(lanes.size()) < n)
      widened[i].assign(n, lanes[0]);
    in.push_back(widened[i].empty() ? lanes.data() : widened[i].data());
  }
  Lanes out(n);
  runLanes(*instruction, in.data(), out.data(), n);
  frame.set(op->getResult(0), std::move(out));
  return {};
}

Status runDot(TileFrame &frame, Operation *op) {
  auto dot = cast<tile::DotOp>(op);
  const ArrayRef<int64_t> lhsShape = lanesShape(dot.getLhs().getType()), accShape = lanesShape(dot.getType());
  const int64_t depth = lhsShape[1], columns = accShape[1];
  FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(dot.getType()));
  DotRounding rounding = DotRounding::of(frame.precision, element, element, element);
  if (std::optional<Type> operands = dot.getOperandType()) {
    FUSEC_ASSIGN_OR_RETURN(rounding.operands, elementOf(*operands));
  }
  const Lanes &lhs = frame.get(dot.getLhs()), &rhs = frame.get(dot.getRhs());
  Lanes acc = frame.get(dot.getAcc());
  for (int64_t m = 0; m < accShape[0]; ++m)
    accumulateDots(rounding, ArrayRef<double>(lhs).slice(m * depth, depth), {nullptr, rhs.data(), 1, columns},
                   MutableArrayRef<double>(acc).slice(m * columns, columns));
  frame.set(dot.getResult(), std::move(acc));
  return {};
}

/// Folds `length` lanes from `first` on into lane `first` of each carrier.
static void foldLanes(LaneProgram &combine, std::vector<Lanes> &carriers, int64_t first, int64_t length) {
  const size_t count = carriers.size();
  for (int64_t n = length / 2; n >= 1; n /= 2)
    // Lanes are independent within a step, so wide vectors go in pieces.
    for (int64_t start = first; start < first + n; start += LaneProgram::maxLanes) {
      const int64_t piece = std::min(first + n - start, LaneProgram::maxLanes);
      for (size_t c = 0; c < count; ++c) {
        std::copy_n(carriers[c].data() + start, piece, combine.argument(c));
        std::copy_n(carriers[c].data() + n + start, piece, combine.argument(count + c));
      }
      combine.run(piece);
      for (size_t c = 0; c < count; ++c)
        std::copy_n(combine.result(c), piece, carriers[c].data() + start);
    }
}

Status runTileReduce(TileFrame &frame, Operation *op) {
  auto reduce = cast<tile::ReduceOp>(op);
  FUSEC_ASSIGN_OR_RETURN(LaneProgram * combine, frame.combine(reduce));
  const ArrayRef<int64_t> shape = lanesShape(reduce.getInputs().front().getType());
  const int64_t length = shape.back(), rows = numElements(shape) / length;
  std::vector<Lanes> carriers;
  for (Value input : reduce.getInputs())
    carriers.push_back(frame.get(input));
  for (int64_t row = 0; row < rows; ++row)
    foldLanes(*combine, carriers, row * length, length);
  for (auto [result, carrier] : llvm::zip(reduce.getResults(), carriers)) {
    Lanes folded;
    for (int64_t row = 0; row < rows; ++row)
      folded.push_back(carrier[row * length]);
    frame.set(result, std::move(folded));
  }
  return {};
}

} // namespace fusec::reference
