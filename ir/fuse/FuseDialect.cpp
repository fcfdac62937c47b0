//===- FuseDialect.cpp - registration, types and attributes of fuse ---------===//
#include "ir/fuse/FuseDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec::fuse;

#include "ir/fuse/FuseDialect.cpp.inc"
#include "ir/fuse/FuseEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/fuse/FuseAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/fuse/FuseTypes.cpp.inc"

void FuseDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/fuse/FuseAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/fuse/FuseTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/fuse/FuseOps.cpp.inc"
      >();
}

LogicalResult NumericsAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type, Order, EmptyPolicy,
                                   Type operands) {
  if (operands && !operands.isF16() && !operands.isBF16())
    return emitError() << "operands are rounded to f16 or bf16, not to " << operands;
  return success();
}

Type GraphTensorType::parse(AsmParser &parser) {
  SmallVector<Dim> dims;
  Type element;
  std::optional<fusec::StorageType> storage;
  if (parser.parseLess() || parseDims(parser, dims) || parser.parseComma() || parser.parseType(element))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return {};
    storage = fusec::storageTypeByName(std::string_view(name.data(), name.size()));
    if (!storage)
      return parser.emitError(loc, "unknown storage type '") << name << "'", Type();
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<GraphTensorType>(parser.getContext(), dims, element, storage);
}

void GraphTensorType::print(AsmPrinter &printer) const {
  printer << "<";
  printDims(printer, getDims());
  printer << ", " << getElementType();
  if (getStorage())
    printer << ", " << fusec::info(*getStorage()).name;
  printer << ">";
}

LogicalResult GraphTensorType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<Dim> dims, Type element,
                                      std::optional<fusec::StorageType> storage) {
  bool paged = llvm::any_of(dims, [](const Dim &d) { return d.kind == DimKind::Paged; });
  if (paged && storage && !isNarrowing(*storage, element))
    return emitError() << "a paged tensor is stored as its element type, or for f32 in a shorter one of "
                       << cacheTypeNames() << "; found " << fusec::info(*storage).name << " for " << element;
  if (!paged && storage && !isWeightType(*storage))
    return emitError() << "only a paged tensor is stored in " << fusec::info(*storage).name;
  return success();
}
