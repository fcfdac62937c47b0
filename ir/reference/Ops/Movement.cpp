//===- Movement.cpp - gather, scatter, kv_append, view, reshape -----------------===//
#include "ir/reference/AccessMap.h"
#include "ir/reference/Ops/GraphOps.h"

using namespace mlir;

namespace fusec::reference {

Result<std::vector<int64_t>> indexValues(const Tensor &indices, int64_t limit, const std::string &what) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < indices.dim(0); ++i) {
    const double value = indices.get({i});
    if (!(value >= 0 && value < static_cast<double>(limit)))
      return invalidArgument(what + " " + std::to_string(i) + " is " + std::to_string(value) + ", expected 0 to " +
                             std::to_string(limit - 1));
    result.push_back(static_cast<int64_t>(value));
  }
  return result;
}

Status runGather(GraphFrame &frame, Operation *op) {
  auto gather = cast<fuse::GatherOp>(op);
  const Tensor source = frame.get(gather.getTable());
  const Tensor table = source.isGathered() ? source.clone() : source;
  FUSEC_ASSIGN_OR_RETURN(std::vector<int64_t> rows, indexValues(frame.get(gather.getIndices()), table.dim(0), "index"));
  frame.set(gather.getResult(), table.gatherRows(rows));
  return {};
}

namespace {
/// Copies `source[i, rest...]` to `target` at the position of `rowIndex(i)` followed by rest.
template <typename RowIndex> void copyRows(const Tensor &source, Tensor &target, RowIndex rowIndex) {
  const int64_t prefix = target.rank() - source.rank() + 1;
  Shape at(target.rank(), 0);
  (void)forEachIndex(source.shape(), [&](ArrayRef<int64_t> index) {
    const Shape row = rowIndex(index[0]);
    std::copy(row.begin(), row.end(), at.begin());
    std::copy(index.begin() + 1, index.end(), at.begin() + prefix);
    target.set(at, source.get(index));
    return Status();
  });
}
} // namespace

Status runScatter(GraphFrame &frame, Operation *op) {
  auto scatter = cast<fuse::ScatterOp>(op);
  Tensor result = frame.get(scatter.getTarget()).clone();
  FUSEC_ASSIGN_OR_RETURN(std::vector<int64_t> rows,
                         indexValues(frame.get(scatter.getIndices()), result.dim(0), "index"));
  // Ascending, so that the highest of equal indices wins.
  copyRows(frame.get(scatter.getUpdates()), result, [&](int64_t i) { return Shape{rows[i]}; });
  frame.set(scatter.getResult(), std::move(result));
  return {};
}

Status runKVAppend(GraphFrame &frame, Operation *op) {
  auto append = cast<fuse::KVAppendOp>(op);
  Tensor cache = frame.get(append.getCache());
  if (cache.holdsFloats() || cache.isGathered())
    return invalidArgument("the cache is not a plain tensor, so it cannot be updated in place");
  FUSEC_ASSIGN_OR_RETURN(std::vector<int64_t> sequences,
                         indexValues(frame.get(append.getSequences()), cache.dim(0), "sequence of token"));
  FUSEC_ASSIGN_OR_RETURN(std::vector<int64_t> positions,
                         indexValues(frame.get(append.getPositions()), cache.dim(1), "position of token"));
  Tensor values = frame.get(append.getValues());
  // What is stored is part of the op's meaning, so it is rounded in F64, too.
  if (auto storage = cast<fuse::GraphTensorType>(append.getCache().getType()).getStorage()) {
    values = values.clone();
    roundLanes(elementOf(*storage), values.doubles(), values.size());
  }
  copyRows(values, cache, [&](int64_t t) { return Shape{sequences[t], positions[t]}; });
  frame.set(append.getResult(), cache);
  return {};
}

Status runView(GraphFrame &frame, Operation *op) {
  auto view = cast<fuse::ViewOp>(op);
  const Tensor &source = frame.get(view.getSource());
  FUSEC_ASSIGN_OR_RETURN(Shape shape, frame.extents(view.getResult()));
  FUSEC_ASSIGN_OR_RETURN(AccessMap access, AccessMap::create(view.getMap(), source, shape, "source"));
  bool linear = numElements(shape) > 0 && !source.isGathered();
  Shape strides;
  for (size_t d = 0; d < shape.size(); ++d) {
    linear &= access.isLinear(d);
    strides.push_back(access.step(d));
  }
  if (linear) {
    FUSEC_ASSIGN_OR_RETURN(int64_t base, access.at(Shape(shape.size(), 0)));
    frame.set(view.getResult(), source.restrided(shape, strides, base));
    return {};
  }
  FUSEC_ASSIGN_OR_RETURN(Tensor result, frame.make(view.getResult()));
  double *out = result.doubles();
  FUSEC_RETURN_IF_ERROR(forEachIndex(result.shape(), [&](ArrayRef<int64_t> index) -> Status {
    FUSEC_ASSIGN_OR_RETURN(int64_t position, access.at(index));
    *out++ = source.load(position);
    return {};
  }));
  frame.set(view.getResult(), std::move(result));
  return {};
}

Status runReshape(GraphFrame &frame, Operation *op) {
  auto reshape = cast<fuse::ReshapeOp>(op);
  const Tensor &source = frame.get(reshape.getSource());
  FUSEC_ASSIGN_OR_RETURN(Shape shape, frame.extents(reshape.getResult()));
  if (numElements(shape) != source.size())
    return invalidArgument(toString(source.shape()) + " and " + toString(shape) + " do not hold as many elements");
  frame.set(reshape.getResult(), source.reshaped(shape));
  return {};
}

} // namespace fusec::reference
