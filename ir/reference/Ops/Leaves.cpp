//===- Leaves.cpp - fuse.weight and fuse.constant -------------------------------===//
#include "ir/reference/LaneOps.h"
#include "ir/reference/Ops/GraphOps.h"

using namespace mlir;

namespace fusec::reference {

Result<Tensor> stackRows(ArrayRef<Tensor> parts) {
  if (parts.size() == 1)
    return parts[0];
  Shape shape(parts[0].shape());
  if (shape.empty())
    return invalidArgument("cannot stack scalars");
  bool single = parts[0].floats() != nullptr;
  shape[0] = 0;
  for (const Tensor &part : parts) {
    if (part.shape().drop_front() != parts[0].shape().drop_front())
      return invalidArgument("cannot stack " + toString(parts[0].shape()) + " and " + toString(part.shape()));
    shape[0] += part.dim(0);
    single &= part.floats() != nullptr && part.isContiguous();
  }
  Tensor::Floats floats;
  Tensor::Doubles doubles;
  for (const Tensor &part : parts) {
    if (single)
      floats.insert(floats.end(), part.floats() + part.base(), part.floats() + part.base() + part.size());
    else
      llvm::append_range(doubles, part.values());
  }
  if (single)
    return Tensor::fromFloats(shape, std::move(floats)).withElement(parts[0].element());
  return Tensor::fromValues(parts[0].element(), shape, std::move(doubles));
}

Status runWeight(GraphFrame &frame, Operation *op) {
  auto weight = cast<fuse::WeightOp>(op);
  FUSEC_ASSIGN_OR_RETURN(Tensor tensor, frame.environment.stackedWeight(weight.getNames()));
  FUSEC_ASSIGN_OR_RETURN(Shape expected, frame.extents(weight.getResult()));
  if (tensor.shape() != ArrayRef<int64_t>(expected))
    return invalidArgument("stored shape " + toString(tensor.shape()) + ", expected " + toString(expected));
  FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(weight.getType().getElementType()));
  frame.set(weight.getResult(), tensor.withElement(element));
  return {};
}

Status runConstant(GraphFrame &frame, Operation *op) {
  auto constant = cast<fuse::ConstantOp>(op);
  FUSEC_ASSIGN_OR_RETURN(Tensor like, frame.make(constant.getResult()));
  FUSEC_ASSIGN_OR_RETURN(std::vector<double> values, constantValues(constant.getValue(), like.size()));
  frame.set(constant.getResult(), Tensor::fromValues(like.element(), like.shape(), std::move(values)));
  return {};
}

} // namespace fusec::reference
