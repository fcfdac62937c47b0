//===- TileOps.cpp - verifiers of the tile ops --------------------------------===//
//
// Each check names the constraint of TileOps.td it stands for.
//
//===----------------------------------------------------------------------===//
#include "ir/tile/TileDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec::tile;
using fusec::fuse::Dim;

#define GET_OP_CLASSES
#include "ir/tile/TileOps.cpp.inc"

LogicalResult KernelOp::verify() {
  if (getGrid().empty() || !llvm::all_of(getGrid(), [](Attribute a) { return isa<AxisAttr>(a); }))
    return emitOpError("C2: the grid needs at least one #tile.axis and nothing else");
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  Block &block = getBody().front();
  for (BlockArgument arg : block.getArguments())
    if (!isa<BufferType>(arg.getType()))
      return emitOpError("C1: argument ") << arg.getArgNumber() << " is " << arg.getType() << ", expected a buffer";
  if (block.empty() || !isa<ReturnOp>(block.back()))
    return emitOpError("C3: the body must end in tile.return");
  return success();
}

LogicalResult OriginOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (!kernel || getAxis() >= kernel.getGrid().size())
    return emitOpError("axis ") << getAxis() << " is not in the kernel's grid";
  return success();
}

LogicalResult ScratchOp::verify() {
  auto type = cast<BufferType>(getType());
  bool isStatic = llvm::all_of(type.getDims(), [](const Dim &d) { return d.isStatic(); });
  if (!isStatic || type.getLayout() != Layout::Rows || type.getStorage())
    return emitOpError("C1: scratch memory is static rows without storage, found ") << type;
  return success();
}

static LogicalResult checkRows(Operation *op, Type value, Value rows) {
  auto vector = dyn_cast<VectorType>(value);
  if (rows && !(vector && vector.getRank() == 2))
    return op->emitOpError("C4: rows are counted in tiles of rank 2, not in ") << value;
  return success();
}

static LogicalResult checkAccess(Operation *op, Type value, BufferType buffer, AffineMap map, size_t indices,
                                 bool pages) {
  if (map.getNumSymbols() != 0 || map.getNumDims() != indices || map.getNumResults() != buffer.getRank())
    return op->emitOpError("C1: the map must take the ") << indices << " indices and give " << buffer.getRank()
                                                         << " of the buffer, found " << AffineMapAttr::get(map);
  Type element = value;
  int64_t rank = 0;
  if (auto vector = dyn_cast<VectorType>(value)) {
    element = vector.getElementType();
    rank = vector.getRank();
  }
  if (rank > 2 || rank > static_cast<int64_t>(indices) || element != buffer.getElementType())
    return op->emitOpError("C2: cannot move ") << value << " through " << indices << " indices of " << buffer;
  if (pages != buffer.isPaged())
    return op->emitOpError("C3: pages are given exactly for paged buffers");
  return success();
}

LogicalResult LoadOp::verify() {
  if (failed(checkRows(*this, getType(), getRows())))
    return failure();
  return checkAccess(*this, getType(), cast<BufferType>(getBuffer().getType()), getMap(), getIndices().size(),
                     static_cast<bool>(getPages()));
}

LogicalResult PrefetchOp::verify() {
  auto buffer = cast<BufferType>(getBuffer().getType());
  if (getShape().size() != 2 || getShape()[0] < 1 || getShape()[1] < 1)
    return emitOpError("C2: the shape has two positive sizes");
  return checkAccess(*this, VectorType::get(getShape(), buffer.getElementType()), buffer, getMap(), getIndices().size(),
                     static_cast<bool>(getPages()));
}

LogicalResult StoreOp::verify() {
  auto buffer = cast<BufferType>(getBuffer().getType());
  if (failed(checkAccess(*this, getValue().getType(), buffer, getMap(), getIndices().size(),
                         static_cast<bool>(getPages()))) ||
      failed(checkRows(*this, getValue().getType(), getRows())))
    return failure();
  auto vector = dyn_cast<VectorType>(getValue().getType());
  unsigned rank = vector ? vector.getRank() : 0, dims = getMap().getNumDims();
  for (unsigned d = dims - rank; d < dims; ++d)
    if (vector.getDimSize(d - (dims - rank)) > 1 && !getMap().isFunctionOfDim(d))
      return emitOpError("C5: the map ignores lane index ") << d << ", so lanes would write one element";
  bool isRounded = buffer.getStorage() && fuse::isNarrowing(*buffer.getStorage(), buffer.getElementType());
  if ((buffer.getStorage() && !isRounded) || buffer.getLayout() == Layout::Panel)
    return emitOpError("C5: a stored weight is read-only");
  return success();
}

LogicalResult IndexOp::verify() {
  auto type = cast<VectorType>(getType());
  if (!type.getElementType().isSignlessInteger(32) || static_cast<int64_t>(getDim()) >= type.getRank())
    return emitOpError("C1: ") << type << " has no i32 lane dimension " << getDim();
  return success();
}

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

LogicalResult DotOp::verify() {
  auto a = cast<VectorType>(getLhs().getType()), b = cast<VectorType>(getRhs().getType());
  auto c = cast<VectorType>(getType());
  bool ranks = a.getRank() == 2 && b.getRank() == 2 && c.getRank() == 2;
  if (!ranks || a.getDimSize(1) != b.getDimSize(0) || a.getDimSize(0) != c.getDimSize(0) ||
      b.getDimSize(1) != c.getDimSize(1) || a.getElementType() != b.getElementType() ||
      a.getElementType() != c.getElementType() || !isa<FloatType>(a.getElementType()))
    return emitOpError("C1: cannot multiply ") << a << " by " << b << " into " << c;
  if (std::optional<Type> operands = getOperandType(); operands && !(isHalf(*operands) && a.getElementType().isF32()))
    return emitOpError("C2: operands of f32 tiles are rounded to f16 or bf16, not to ") << *operands;
  return success();
}

LogicalResult ReduceOp::verify() {
  if (getInputs().empty())
    return emitOpError("C1: needs at least one input");
  SmallVector<Type> elements, results;
  ArrayRef<int64_t> shape = cast<VectorType>(getInputs().front().getType()).getShape();
  for (Value input : getInputs()) {
    auto type = cast<VectorType>(input.getType());
    bool isFoldable = type.getRank() == 1 || type.getRank() == 2;
    if (!isFoldable || type.isScalable() || type.getShape() != shape || !llvm::isPowerOf2_64(shape.back()))
      return emitOpError("C1: inputs are vectors of one shape and a power-of-two length, found ") << type;
    elements.push_back(type.getElementType());
    results.push_back(type.getRank() == 1 ? elements.back() : VectorType::get({shape[0], 1}, elements.back()));
  }
  if (TypeRange(getResultTypes()) != TypeRange(results))
    return emitOpError("C2: results (") << getResultTypes() << "), expected (" << results << ")";
  SmallVector<Type> twice(elements);
  llvm::append_range(twice, elements);
  Block &block = getCombine().front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (TypeRange(block.getArgumentTypes()) != TypeRange(twice) || !yield ||
      TypeRange(yield.getOperandTypes()) != TypeRange(elements))
    return emitOpError("C3: combine must take (") << twice << ") and yield (" << elements << ")";
  return success();
}
