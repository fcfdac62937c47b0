//===- FuseOps.cpp - verifiers and folds of the primitives -------------------===//
//
// Each check names the constraint of FuseOps.td it stands for.
//
//===----------------------------------------------------------------------===//
#include "ir/fuse/FuseDialect.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec::fuse;

#define GET_OP_CLASSES
#include "ir/fuse/FuseOps.cpp.inc"

namespace {

std::string shapeOf(ArrayRef<Dim> dims) {
  std::string text = "[";
  for (auto [i, d] : llvm::enumerate(dims))
    text += (i ? ", " : "") + toString(d);
  return text + "]";
}

bool isVectorOf(GraphTensorType type, unsigned bits, const Dim &dim) {
  return type.getRank() == 1 && type.getElementType().isSignlessInteger(bits) && type.getDim(0) == dim;
}

/// One map from `dims` iteration dimensions to `rank` indices, without symbols.
LogicalResult checkMap(Operation *op, StringRef what, AffineMap map, unsigned dims, int64_t rank) {
  if (map.getNumSymbols() != 0)
    return op->emitOpError("C1: the ") << what << " map must not have symbols";
  if (map.getNumDims() != dims)
    return op->emitOpError("C1: the ") << what << " map takes " << map.getNumDims() << " indices, expected " << dims;
  if (static_cast<int64_t>(map.getNumResults()) != rank)
    return op->emitOpError("C1: the ") << what << " map gives " << map.getNumResults() << " indices, expected the rank "
                                       << rank;
  return success();
}

/// A scalar region whose arguments and yielded values have the given types.
LogicalResult checkRegion(Operation *op, StringRef constraint, Region &region, ArrayRef<Type> args,
                          ArrayRef<Type> yields) {
  Block &block = region.front();
  if (TypeRange(block.getArgumentTypes()) != TypeRange(args))
    return op->emitOpError(constraint) << ": the region takes (" << block.getArgumentTypes() << "), expected (" << args
                                       << ")";
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || TypeRange(yield.getOperandTypes()) != TypeRange(yields))
    return op->emitOpError(constraint) << ": the region must yield (" << yields << ")";
  return success();
}

/// A repair region: (old, new, acc...) -> acc... with `old` and `new` of one type.
LogicalResult checkRepair(Operation *op, StringRef constraint, Region &region, ArrayRef<Type> carrier) {
  if (region.empty())
    return success();
  if (region.front().getNumArguments() < 2)
    return op->emitOpError(constraint) << ": the repair region takes an old and a new value first";
  SmallVector<Type> args(2, region.front().getArgument(0).getType());
  llvm::append_range(args, carrier);
  return checkRegion(op, constraint, region, args, carrier);
}

/// The gather/scatter shape rule: [index dimension, table dimensions but the first].
SmallVector<Dim> sliceDims(GraphTensorType indices, GraphTensorType table) {
  SmallVector<Dim> dims = {indices.getDim(0)};
  llvm::append_range(dims, table.getDims().drop_front());
  return dims;
}

LogicalResult checkIndices(Operation *op, GraphTensorType indices, GraphTensorType table) {
  if (indices.getRank() != 1 || !indices.getElementType().isSignlessInteger(32))
    return op->emitOpError("C1: indices are a vector of i32, found ") << indices;
  if (table.getRank() == 0)
    return op->emitOpError("C2: the table needs at least one dimension");
  return success();
}

} // namespace

LogicalResult WeightOp::verify() {
  if (getNames().empty())
    return emitOpError("C1: needs at least one name");
  auto type = cast<GraphTensorType>(getType());
  if (!llvm::all_of(type.getDims(), [](const Dim &d) { return d.isStatic(); }) || !type.getStorage())
    return emitOpError("C2: a weight is static and has a storage type, found ") << type;
  return success();
}

LogicalResult ConstantOp::verify() {
  auto type = cast<GraphTensorType>(getType());
  auto shaped = cast<ShapedType>(getValue().getType());
  SmallVector<int64_t> shape;
  for (const Dim &d : type.getDims())
    shape.push_back(d.isStatic() ? d.size : -1);
  if (ArrayRef<int64_t>(shape) != shaped.getShape() || shaped.getElementType() != type.getElementType())
    return emitOpError("C1: the value's type ") << shaped << " does not fit " << type;
  return success();
}

LogicalResult IndexOp::verify() {
  auto map = (*this)->getParentOfType<MapOp>();
  int64_t rank = cast<GraphTensorType>(map.getType()).getRank();
  if (static_cast<int64_t>(getDim()) < 0 || static_cast<int64_t>(getDim()) >= rank)
    return emitOpError("dim ") << getDim() << " is not below the result's rank " << rank;
  return success();
}

LogicalResult MapOp::verify() {
  if (getMaps().size() != getInputs().size())
    return emitOpError("C1: has ") << getMaps().size() << " maps for " << getInputs().size() << " inputs";
  auto result = cast<GraphTensorType>(getType());
  SmallVector<Type> elements;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    auto type = cast<GraphTensorType>(input.getType());
    if (failed(checkMap(*this, ("input " + Twine(i)).str(), getMap(i), result.getRank(), type.getRank())))
      return failure();
    elements.push_back(type.getElementType());
  }
  StringRef constraint = TypeRange(getBody().front().getArgumentTypes()) != TypeRange(elements) ? "C2" : "C3";
  if (failed(checkRegion(*this, constraint, getBody(), elements, {result.getElementType()})))
    return failure();
  for (Operation &op : getBody().front().without_terminator())
    if (!isMemoryEffectFree(&op))
      return emitOpError("C4: the body holds '") << op.getName() << "', which has side effects";
  return success();
}

SmallVector<unsigned> ContractOp::getSummedDims() {
  SmallVector<unsigned> summed;
  for (unsigned d = 0; d < getNumIterationDims(); ++d)
    if (!getMap(2).isFunctionOfDim(d))
      summed.push_back(d);
  return summed;
}

SmallVector<Dim> ContractOp::getIterationExtents() {
  SmallVector<Dim> extents(getNumIterationDims(), Dim::fixed(-1));
  Value values[] = {getResult(), getLhs(), getRhs()};
  unsigned maps[] = {2, 0, 1};
  for (auto [value, m] : llvm::zip(values, maps))
    for (auto [expr, dim] : llvm::zip(getMap(m).getResults(), cast<GraphTensorType>(value.getType()).getDims()))
      if (auto d = dyn_cast<AffineDimExpr>(expr); d && extents[d.getPosition()] == Dim::fixed(-1))
        extents[d.getPosition()] = dim;
  return extents;
}

LogicalResult ContractOp::verify() {
  if (getMaps().size() != 3)
    return emitOpError("C1: has ") << getMaps().size() << " maps, expected 3 (lhs, rhs, result)";
  unsigned dims = getNumIterationDims();
  Value values[] = {getLhs(), getRhs(), getResult()};
  StringRef names[] = {"lhs", "rhs", "result"};
  for (unsigned i = 0; i < 3; ++i)
    if (failed(checkMap(*this, names[i], getMap(i), dims, cast<GraphTensorType>(values[i].getType()).getRank())))
      return failure();
  if (!getMap(2).isProjectedPermutation())
    return emitOpError("C2: the result map must be a projected permutation");
  SmallVector<unsigned> summed = getSummedDims();
  if (summed.empty())
    return emitOpError("C3: sums over no dimension");
  SmallVector<Dim> extents = getIterationExtents();
  for (unsigned d : summed)
    if (extents[d] == Dim::fixed(-1))
      return emitOpError("C3: no operand dimension is named by summed dimension ") << d << " alone";
  for (unsigned m = 0; m < 2; ++m)
    for (auto [expr, dim] : llvm::zip(getMap(m).getResults(), cast<GraphTensorType>(values[m].getType()).getDims()))
      if (auto d = dyn_cast<AffineDimExpr>(expr); d && extents[d.getPosition()] != dim)
        return emitOpError("C4: iteration dimension ")
               << d.getPosition() << " has extent " << toString(extents[d.getPosition()]) << " but the " << names[m]
               << " has " << toString(dim);
  return checkRepair(*this, "C5", getRepair(), {cast<GraphTensorType>(getType()).getElementType()});
}

LogicalResult ReduceOp::verify() {
  if (getInputs().empty())
    return emitOpError("C1: needs at least one input");
  auto first = cast<GraphTensorType>(getInputs().front().getType());
  SmallVector<Type> elements;
  for (Value input : getInputs()) {
    auto type = cast<GraphTensorType>(input.getType());
    if (type.getDims() != first.getDims())
      return emitOpError("C1: inputs have dimensions ")
             << shapeOf(first.getDims()) << " and " << shapeOf(type.getDims());
    elements.push_back(type.getElementType());
  }
  ArrayRef<int64_t> dims = getDims();
  if (dims.empty() || dims.back() >= first.getRank() || dims.front() < 0 ||
      !llvm::is_sorted(dims, [](int64_t a, int64_t b) { return a <= b; }))
    return emitOpError("C2: reduced dimensions must be ascending and below the rank ") << first.getRank();
  if (getInit().size() != elements.size())
    return emitOpError("C3: has ") << getInit().size() << " init values for " << elements.size() << " inputs";
  for (auto [init, element] : llvm::zip(getInit(), elements))
    if (auto typed = dyn_cast<TypedAttr>(init); !typed || typed.getType() != element)
      return emitOpError("C3: init ") << init << " is not of the input's element type " << element;
  SmallVector<Type> twice(elements);
  llvm::append_range(twice, elements);
  if (failed(checkRegion(*this, "C4", getCombine(), twice, elements)))
    return failure();
  if (getNumResults() != elements.size())
    return emitOpError("C5: has ") << getNumResults() << " results for " << elements.size() << " inputs";
  SmallVector<Dim> remaining;
  for (int64_t d = 0; d < first.getRank(); ++d)
    if (!llvm::is_contained(dims, d))
      remaining.push_back(first.getDim(d));
  for (auto [result, element] : llvm::zip(getResults(), elements))
    if (result.getType() != GraphTensorType::get(getContext(), remaining, element))
      return emitOpError("C5: result ") << result.getType() << ", expected dimensions " << shapeOf(remaining);
  return checkRepair(*this, "C6", getRepair(), elements);
}

LogicalResult GatherOp::verify() {
  auto table = cast<GraphTensorType>(getTable().getType()), indices = cast<GraphTensorType>(getIndices().getType());
  auto result = cast<GraphTensorType>(getType());
  if (failed(checkIndices(*this, indices, table)))
    return failure();
  if (result != GraphTensorType::get(getContext(), sliceDims(indices, table), table.getElementType()))
    return emitOpError("C2: result ") << result << ", expected dimensions " << shapeOf(sliceDims(indices, table));
  return success();
}

LogicalResult ScatterOp::verify() {
  auto target = cast<GraphTensorType>(getTarget().getType()), indices = cast<GraphTensorType>(getIndices().getType());
  if (failed(checkIndices(*this, indices, target)))
    return failure();
  if (getUpdates().getType() != GraphTensorType::get(getContext(), sliceDims(indices, target), target.getElementType()))
    return emitOpError("C2: updates ") << getUpdates().getType() << ", expected dimensions "
                                       << shapeOf(sliceDims(indices, target));
  return success();
}

LogicalResult KVAppendOp::verify() {
  auto cache = cast<GraphTensorType>(getCache().getType()), values = cast<GraphTensorType>(getValues().getType());
  if (cache.getRank() < 2 || cache.getDim(1).kind != DimKind::Paged || values.getRank() + 1 != cache.getRank() ||
      values.getDims().drop_front() != cache.getDims().drop_front(2) ||
      values.getElementType() != cache.getElementType() || values.getStorage())
    return emitOpError("C1: cannot append ") << values << " to " << cache;
  for (Value index : {getSequences(), getPositions()})
    if (!isVectorOf(cast<GraphTensorType>(index.getType()), 32, values.getDim(0)))
      return emitOpError("C2: ") << index.getType() << " is not an i32 vector over " << toString(values.getDim(0));
  if (!getCache().hasOneUse())
    return emitOpError("C3: the cache is updated in place, so it must have no other use");
  return success();
}

LogicalResult ViewOp::verify() {
  auto source = cast<GraphTensorType>(getSource().getType()), result = cast<GraphTensorType>(getType());
  if (failed(checkMap(*this, "source", getMap(), result.getRank(), source.getRank())))
    return failure();
  if (source.getElementType() != result.getElementType())
    return emitOpError("C2: element types ") << source.getElementType() << " and " << result.getElementType();
  return success();
}

OpFoldResult ViewOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType() && getMap().isIdentity())
    return getSource();
  auto inner = getSource().getDefiningOp<ViewOp>();
  if (!inner)
    return {};
  AffineMap composed = simplifyAffineMap(inner.getMap().compose(getMap()));
  setMapAttr(AffineMapAttr::get(composed));
  getSourceMutable().assign(inner.getSource());
  return getResult();
}

LogicalResult ReshapeOp::verify() {
  auto source = cast<GraphTensorType>(getSource().getType()), result = cast<GraphTensorType>(getType());
  if (source.getElementType() != result.getElementType())
    return emitOpError("C1: element types ") << source.getElementType() << " and " << result.getElementType();
  // Products of the static runs between dynamic dimensions.
  auto runs = [](GraphTensorType type) {
    SmallVector<Dim> list = {Dim::fixed(1)};
    for (const Dim &d : type.getDims()) {
      if (d.isStatic())
        list.back().size *= d.size;
      else
        list.append({d, Dim::fixed(1)});
    }
    return list;
  };
  if (runs(source) != runs(result))
    return emitOpError("C2: ") << source << " and " << result << " do not hold the same elements";
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  auto inner = getSource().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  getSourceMutable().assign(inner.getSource());
  return getResult();
}
