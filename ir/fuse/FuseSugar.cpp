//===- FuseSugar.cpp - verifiers of the named ops -----------------------------===//
//
// Each check names the constraint of FuseSugar.td it stands for.
//
//===----------------------------------------------------------------------===//
#include "ir/fuse/FuseDialect.h"

using namespace mlir;
using namespace fusec::fuse;

namespace {
GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

bool isVector(GraphTensorType type, Type element, const Dim &dim) {
  return type.getRank() == 1 && type.getElementType() == element && type.getDim(0) == dim;
}
} // namespace

LogicalResult LinearOp::verify() {
  GraphTensorType x = typeOf(getX()), w = typeOf(getW()), y = typeOf(getResult());
  if (w.getRank() != 2 || x.getRank() < 1 || x.getDims().back() != w.getDim(1))
    return emitOpError("C1: cannot multiply ") << x << " by " << w;
  SmallVector<Dim> dims(x.getDims());
  dims.back() = w.getDim(0);
  if (y.getDims() != ArrayRef<Dim>(dims))
    return emitOpError("C1: result ") << y << " is not the input with " << toString(w.getDim(0)) << " last";
  if (getBias() && !isVector(typeOf(getBias()), y.getElementType(), w.getDim(0)))
    return emitOpError("C2: bias ") << getBias().getType() << " is not a vector of " << toString(w.getDim(0));
  return success();
}

LogicalResult RMSNormOp::verify() {
  GraphTensorType x = typeOf(getX()), w = typeOf(getW());
  if (x != getType() || x.getRank() < 1 || !isVector(w, x.getElementType(), x.getDims().back()))
    return emitOpError("C1: cannot norm ") << x << " with weights " << w << " into " << getType();
  if (getEpsilon().convertToDouble() < 0)
    return emitOpError("C2: epsilon is negative");
  return success();
}

LogicalResult RopeOp::verify() {
  GraphTensorType x = typeOf(getX()), f = typeOf(getFrequencies());
  if (x.getRank() != 3 || x != getType())
    return emitOpError("C1: expected [tokens, heads, head] of one type, found ") << x << " and " << getType();
  if (!isVector(typeOf(getPositions()), IntegerType::get(getContext(), 32), x.getDim(0)))
    return emitOpError("C2: positions ") << getPositions().getType() << " are not an i32 vector over "
                                         << toString(x.getDim(0));
  if (f.getRank() != 1 || !f.getElementType().isF64() || !f.getDim(0).isStatic() || !x.getDim(2).isStatic() ||
      2 * f.getDim(0).size > x.getDim(2).size)
    return emitOpError("C3: frequencies ") << f << " do not fit a head of " << toString(x.getDim(2));
  return success();
}

LogicalResult SwigluOp::verify() { return success(); }

LogicalResult AttentionOp::verify() {
  GraphTensorType q = typeOf(getQ()), k = typeOf(getK()), v = typeOf(getV()), o = typeOf(getResult());
  if (q.getRank() != 3 || k.getRank() != 4 || v.getRank() != 4 || k.getDim(1).kind != DimKind::Paged ||
      k.getDims().take_front(3) != v.getDims().take_front(3) || q.getDim(2) != k.getDim(3) || !q.getDim(1).isStatic() ||
      !k.getDim(2).isStatic() || k.getDim(2).size == 0 || q.getDim(1).size % k.getDim(2).size != 0)
    return emitOpError("C1: queries ") << q << " do not fit caches " << k << " and " << v;
  for (Value index : {getPositions(), getSequences()})
    if (!isVector(typeOf(index), IntegerType::get(getContext(), 32), q.getDim(0)))
      return emitOpError("C2: ") << index.getType() << " is not an i32 vector over " << toString(q.getDim(0));
  if (o.getRank() != 2 || o.getDim(0) != q.getDim(0) || o.getDim(1) != Dim::fixed(q.getDim(1).size * v.getDim(3).size))
    return emitOpError("C3: result ") << o << " is not [tokens, heads * head]";
  if (getWindow() && static_cast<int64_t>(*getWindow()) <= 0)
    return emitOpError("C4: the window is ") << *getWindow() << ", expected a positive number";
  return success();
}

LogicalResult SoftmaxOp::verify() {
  if (getX().getType() != getType() || typeOf(getX()).getRank() < 1)
    return emitOpError("C1: cannot normalise ") << getX().getType() << " into " << getType();
  return success();
}
