//===- Interpreter.cpp - the walk over a fuse graph -----------------------------===//
#include "ir/reference/Interpreter.h"

#include "ir/reference/LaneOps.h"
#include "ir/reference/Ops/GraphOps.h"

using namespace mlir;

namespace fusec::reference {

namespace {
struct OpRow {
  StringRef name;
  Status (*run)(GraphFrame &, Operation *);
};

constexpr OpRow opRows[] = {
    {"fuse.attention", runAttention},
    {"fuse.constant", runConstant},
    {"fuse.contract", runContract},
    {"fuse.gather", runGather},
    {"fuse.kv_append", runKVAppend},
    {"fuse.linear", runLinear},
    {"fuse.map", runMap},
    {"fuse.reduce", runReduce},
    {"fuse.reshape", runReshape},
    {"fuse.rms_norm", runRMSNorm},
    {"fuse.rope", runRope},
    {"fuse.scatter", runScatter},
    {"fuse.softmax", runSoftmax},
    {"fuse.swiglu", runSwiglu},
    {"fuse.view", runView},
    {"fuse.weight", runWeight},
};

/// Scalar constants that canonicalisation hoisted out of a region; read where they are used.
bool isHoistedConstant(Operation *op) { return isa<arith::ConstantOp>(op); }

Status runOp(GraphFrame &frame, Operation *op) {
  const StringRef name = op->getName().getStringRef();
  for (const OpRow &row : opRows)
    if (row.name == name)
      return row.run(frame, op).withContext(describe(op));
  if (isHoistedConstant(op))
    return {};
  return unsupported(describe(op) + ": the reference interpreter has no such op at graph level");
}

Status bindArguments(GraphFrame &frame, func::FuncOp func, ArrayRef<Tensor> inputs) {
  if (inputs.size() != func.getNumArguments())
    return invalidArgument("function '" + func.getName().str() + "' takes " + std::to_string(func.getNumArguments()) +
                           " inputs, found " + std::to_string(inputs.size()));
  for (auto [argument, input] : llvm::zip(func.getArguments(), inputs)) {
    const std::string what = "argument " + std::to_string(argument.getArgNumber());
    auto type = dyn_cast<fuse::GraphTensorType>(argument.getType());
    if (!type)
      return unsupported(what + " is not a fuse tensor");
    FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(type.getElementType()));
    if (element != input.element())
      return invalidArgument(what + " holds " + info(input.element()).name + ", expected " + info(element).name);
    FUSEC_RETURN_IF_ERROR(frame.environment.bind(type.getDims(), input.shape(), what));
    frame.set(argument, input);
  }
  return {};
}
} // namespace

Result<Tensor> Environment::stackedWeight(ArrayAttr names) {
  std::string key;
  for (Attribute name : names)
    key += cast<StringAttr>(name).getValue().str() + "\n";
  if (auto it = decoded->find(key); it != decoded->end())
    return it->second;
  if (!weight)
    return notFound("the environment gives no weights");
  std::vector<Tensor> parts;
  for (Attribute name : names) {
    FUSEC_ASSIGN_OR_RETURN(Tensor part, weight(cast<StringAttr>(name).getValue()));
    parts.push_back(std::move(part));
  }
  FUSEC_ASSIGN_OR_RETURN(Tensor stacked, stackRows(parts));
  (*decoded)[key] = stacked;
  return stacked;
}

Result<Shape> Environment::extents(ArrayRef<fuse::Dim> dims) const {
  Shape shape;
  for (const fuse::Dim &dim : dims) {
    auto it = dim.isStatic() ? symbols.end() : symbols.find(dim.symbol.getValue());
    if (!dim.isStatic() && it == symbols.end())
      return notFound("size symbol '" + dim.symbol.getValue().str() + "' has no value");
    shape.push_back(dim.isStatic() ? dim.size : it->second);
  }
  return shape;
}

Status Environment::bind(ArrayRef<fuse::Dim> dims, ArrayRef<int64_t> shape, const std::string &what) {
  if (dims.size() != shape.size())
    return invalidArgument(what + " has rank " + std::to_string(shape.size()) + ", expected " +
                           std::to_string(dims.size()));
  for (auto [dim, extent] : llvm::zip(dims, shape)) {
    const int64_t expected =
        dim.isStatic() ? dim.size : symbols.try_emplace(dim.symbol.getValue(), extent).first->second;
    if (expected != extent)
      return invalidArgument(what + " has shape " + toString(shape) + ", expected " + std::to_string(expected) +
                             " for " + fuse::toString(dim));
  }
  return {};
}

Result<Shape> GraphFrame::extents(Value value) const {
  return environment.extents(cast<fuse::GraphTensorType>(value.getType()).getDims());
}

Result<Tensor> GraphFrame::make(Value value) const {
  FUSEC_ASSIGN_OR_RETURN(Shape shape, extents(value));
  FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(cast<fuse::GraphTensorType>(value.getType()).getElementType()));
  return Tensor::filled(element, shape, 0.0);
}

Result<std::vector<Tensor>> interpretGraph(func::FuncOp func, ArrayRef<Tensor> inputs, const Environment &environment,
                                           Precision precision) {
  if (func.isExternal() || !llvm::hasSingleElement(func.getBody()))
    return unsupported("function '" + func.getName().str() + "' has no single block to run");
  GraphFrame frame(environment, precision);
  FUSEC_RETURN_IF_ERROR(bindArguments(frame, func, inputs));
  for (Operation &op : func.getBody().front().without_terminator())
    FUSEC_RETURN_IF_ERROR(runOp(frame, &op));
  std::vector<Tensor> results;
  for (Value value : func.getBody().front().getTerminator()->getOperands()) {
    if (!isa<fuse::GraphTensorType>(value.getType()))
      return unsupported("function '" + func.getName().str() + "' returns something that is not a fuse tensor");
    results.push_back(frame.get(value));
  }
  return results;
}

} // namespace fusec::reference
