//===- PlanDialect.cpp - registration and verifiers of plan -----------------===//
#include "ir/plan/PlanDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec::plan;

#include "ir/plan/PlanDialect.cpp.inc"
#include "ir/plan/PlanEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/plan/PlanAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "ir/plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/plan/PlanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/plan/PlanOps.cpp.inc"
      >();
}

Attribute VariantAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr kernel;
  StringAttr symbol;
  int64_t limit = 0;
  if (parser.parseLess() || parser.parseAttribute(kernel))
    return {};
  if (succeeded(parser.parseOptionalKeyword("when"))) {
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseKeyword("upto") || parser.parseInteger(limit))
      return {};
    symbol = StringAttr::get(parser.getContext(), name);
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), kernel, symbol, limit);
}

void VariantAttr::print(AsmPrinter &printer) const {
  printer << "<" << getKernel();
  if (getSymbol())
    printer << " when " << getSymbol().getValue() << " upto " << getLimit();
  printer << ">";
}

LogicalResult ProgramOp::verify() {
  if (static_cast<int64_t>(getPage()) <= 0)
    return emitOpError("has a page of ") << getPage() << " positions, expected a positive number";
  for (Operation &op : getBody().front())
    if (!isa<BufferOp, LaunchOp, LibraryProductOp>(op))
      return op.emitError("only plan.buffer, plan.launch and plan.library_product may stand in a plan.program");
  return success();
}

LogicalResult BufferOp::verify() {
  bool planned = getKind() == BufferKind::Activation || getKind() == BufferKind::Output;
  if (planned != getSlot().has_value())
    return emitOpError("of kind '") << stringifyBufferKind(getKind()) << (planned ? "' needs a slot" : "' has no slot");
  if ((getKind() == BufferKind::Weight) != getParts().has_value())
    return emitOpError("has parts exactly when it is a weight");
  if ((getKind() == BufferKind::Constant) != getValue().has_value())
    return emitOpError("has a value exactly when it is a constant");
  return success();
}

LogicalResult PathAttr::verify(function_ref<InFlightDiagnostic()> emitError, PathKind, int64_t from) {
  if (from < 1)
    return emitError() << "a path is for steps from some number of tokens on, found " << from;
  return success();
}

SmallVector<Value> LibraryProductOp::getReadBuffers() {
  SmallVector<Value> read = {getRows(), getWeights()};
  for (Value more : {getAddend(), getBias()})
    if (more)
      read.push_back(more);
  return read;
}

LogicalResult LibraryProductOp::verify() {
  auto typeOf = [](Value buffer) { return cast<tile::BufferType>(buffer.getType()); };
  tile::BufferType rows = typeOf(getRows()), weights = typeOf(getWeights());
  auto isOperand = [](tile::BufferType type) {
    return type.getLayout() == tile::Layout::Rows && type.getRank() == 2 && type.getStorage() &&
           fuse::isNarrowing(*type.getStorage(), type.getElementType());
  };
  if (!isOperand(rows) || !isOperand(weights) || rows.getStorage() != weights.getStorage() ||
      rows.getDims()[1] != weights.getDims()[1])
    return emitOpError("C1: cannot multiply ") << rows << " by " << weights;
  auto isSum = [&](Value buffer, ArrayRef<fuse::Dim> dims) {
    return !buffer || typeOf(buffer) == tile::BufferType::get(getContext(), dims, Float32Type::get(getContext()));
  };
  const fuse::Dim dims[] = {rows.getDims()[0], weights.getDims()[0]};
  if (!isSum(getResult(), dims) || !isSum(getAddend(), dims) || !isSum(getBias(), dims[1]) ||
      (getAddend() && getBias()))
    return emitOpError("C2: the result, or what is added to it, has another type than the product");
  if (getPath().getKind() != PathKind::Library)
    return emitOpError("C3: is on the path of the kernels");
  return success();
}

LogicalResult KernelOp::verify() {
  if (getVariants().empty())
    return emitOpError("needs at least one variant");
  for (auto [i, attr] : llvm::enumerate(getVariants())) {
    auto variant = dyn_cast<VariantAttr>(attr);
    if (!variant)
      return emitOpError("variant ") << i << " is not a #plan.variant";
    bool last = i + 1 == getVariants().size();
    if (!last && !variant.getSymbol())
      return emitOpError("variant ") << i << " needs a condition: the variants behind it would never run";
  }
  return success();
}
