//===- Vectors.cpp - the vector ops that kernels use -------------------------------===//
#include "ir/reference/Ops/TileOps.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fusec::reference {

namespace {
/// The number of the first element that a position names, and how many it names.
struct Range {
  int64_t first, count;
};

template <typename Op> Result<Range> rangeOf(TileFrame &frame, Op op, ArrayRef<int64_t> shape) {
  int64_t first = 0, dynamic = 0, depth = 0;
  for (int64_t position : op.getStaticPosition()) {
    if (ShapedType::isDynamic(position)) {
      FUSEC_ASSIGN_OR_RETURN(position, frame.index(op.getDynamicPosition()[dynamic++]));
    }
    if (position < 0 || position >= shape[depth])
      return invalidArgument("position " + std::to_string(position) + " is outside a vector " + toString(shape));
    first = first * shape[depth++] + position;
  }
  const int64_t count = numElements(shape.drop_front(depth));
  return Range{first * count, count};
}
} // namespace

Status runBroadcast(TileFrame &frame, Operation *op) {
  auto broadcast = cast<vector::BroadcastOp>(op);
  const Lanes &source = frame.get(broadcast.getSource());
  const ArrayRef<int64_t> from = lanesShape(broadcast.getSourceType()), to = lanesShape(broadcast.getType());
  Lanes lanes;
  lanes.reserve(numElements(to));
  FUSEC_RETURN_IF_ERROR(forEachIndex(to, [&](ArrayRef<int64_t> at) {
    // Trailing dimensions line up; an extent of one stretches.
    int64_t position = 0;
    for (size_t d = 0; d < from.size(); ++d)
      position = position * from[d] + (from[d] == 1 ? 0 : at[to.size() - from.size() + d]);
    lanes.push_back(source[position]);
    return Status();
  }));
  frame.set(broadcast.getResult(), std::move(lanes));
  return {};
}

Status runExtract(TileFrame &frame, Operation *op) {
  auto extract = cast<vector::ExtractOp>(op);
  const Lanes &source = frame.get(extract.getSource());
  FUSEC_ASSIGN_OR_RETURN(Range range, rangeOf(frame, extract, lanesShape(extract.getSource().getType())));
  frame.set(extract.getResult(), Lanes(source.begin() + range.first, source.begin() + range.first + range.count));
  return {};
}

Status runInsert(TileFrame &frame, Operation *op) {
  auto insert = cast<vector::InsertOp>(op);
  Lanes lanes = frame.get(insert.getDest());
  FUSEC_ASSIGN_OR_RETURN(Range range, rangeOf(frame, insert, lanesShape(insert.getType())));
  const Lanes &value = frame.get(insert.getValueToStore());
  std::copy(value.begin(), value.end(), lanes.begin() + range.first);
  frame.set(insert.getResult(), std::move(lanes));
  return {};
}

Status runExtractStridedSlice(TileFrame &frame, Operation *op) {
  auto slice = cast<vector::ExtractStridedSliceOp>(op);
  const Lanes &source = frame.get(slice.getSource());
  const ArrayRef<int64_t> from = lanesShape(slice.getSource().getType());
  auto offset = [&](size_t d) {
    return d < slice.getOffsets().size() ? cast<IntegerAttr>(slice.getOffsets()[d]).getInt() : 0;
  };
  Lanes lanes;
  FUSEC_RETURN_IF_ERROR(forEachIndex(lanesShape(slice.getType()), [&](ArrayRef<int64_t> at) {
    int64_t position = 0; // strides are one, as the op's verifier demands
    for (size_t d = 0; d < from.size(); ++d)
      position = position * from[d] + offset(d) + at[d];
    lanes.push_back(source[position]);
    return Status();
  }));
  frame.set(slice.getResult(), std::move(lanes));
  return {};
}

Status runFromElements(TileFrame &frame, Operation *op) {
  Lanes lanes;
  for (Value value : op->getOperands())
    lanes.push_back(frame.get(value)[0]);
  frame.set(op->getResult(0), std::move(lanes));
  return {};
}

Status runShapeCast(TileFrame &frame, Operation *op) {
  Lanes lanes = frame.get(op->getOperand(0));
  frame.set(op->getResult(0), std::move(lanes));
  return {};
}

Status runShuffle(TileFrame &frame, Operation *op) {
  auto shuffle = cast<vector::ShuffleOp>(op);
  Lanes joined = frame.get(shuffle.getV1());
  llvm::append_range(joined, frame.get(shuffle.getV2()));
  const ArrayRef<int64_t> shape = lanesShape(shuffle.getV1().getType());
  const int64_t count = shape.empty() ? 1 : numElements(shape.drop_front());
  Lanes lanes;
  for (int64_t entry : shuffle.getMask())
    for (int64_t i = 0; i < count; ++i)
      lanes.push_back(entry < 0 ? NAN : joined[entry * count + i]); // -1 is poison
  frame.set(shuffle.getResult(), std::move(lanes));
  return {};
}

} // namespace fusec::reference
