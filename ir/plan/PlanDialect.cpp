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
    if (!isa<BufferOp, LaunchOp>(op))
      return op.emitError("only plan.buffer and plan.launch may stand in a plan.program");
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
