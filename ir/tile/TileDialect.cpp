//===- TileDialect.cpp - registration, types and attributes of tile ---------===//
#include "ir/tile/TileDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec::tile;
using fusec::fuse::Dim;

#include "ir/tile/TileDialect.cpp.inc"
#include "ir/tile/TileEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/tile/TileTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/tile/TileAttrs.cpp.inc"

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/tile/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/tile/TileOps.cpp.inc"
      >();
}

Type BufferType::parse(AsmParser &parser) {
  SmallVector<Dim> dims;
  Type element;
  Layout layout = Layout::Rows;
  std::optional<fusec::StorageType> storage;
  if (parser.parseLess() || fuse::parseDims(parser, dims) || parser.parseComma() || parser.parseType(element))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return {};
    if (std::optional<Layout> known = symbolizeLayout(word))
      layout = *known;
    else if (auto type = fusec::storageTypeByName(std::string_view(word.data(), word.size())))
      storage = type;
    else
      return parser.emitError(loc, "'") << word << "' is neither a layout nor a storage type", Type();
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<BufferType>(parser.getContext(), dims, element, layout, storage);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<";
  fuse::printDims(printer, getDims());
  printer << ", " << getElementType();
  if (getLayout() != Layout::Rows)
    printer << ", " << stringifyLayout(getLayout());
  if (getStorage())
    printer << ", " << fusec::info(*getStorage()).name;
  printer << ">";
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<Dim> dims, Type element,
                                 Layout layout, std::optional<fusec::StorageType> storage) {
  if (layout == Layout::Panel && (dims.size() != 2 || !storage))
    return emitError() << "a panel buffer is a matrix with a storage type";
  bool paged = layout == Layout::PagedK || layout == Layout::PagedV;
  if (paged && (dims.size() != 4 || dims[1].kind != fuse::DimKind::Paged))
    return emitError() << "a paged buffer is [sequences, paged(..), heads, head]";
  if (paged && storage && !fuse::isNarrowing(*storage, element))
    return emitError() << "a paged buffer is stored as its element type, or for f32 in a shorter one of "
                       << cacheTypeNames() << "; found " << fusec::info(*storage).name << " for " << element;
  if (!paged && storage && !isWeightType(*storage))
    return emitError() << "only a paged buffer is stored in " << fusec::info(*storage).name;
  return success();
}

Attribute AxisAttr::parse(AsmParser &parser, Type) {
  SmallVector<Dim> dims;
  int64_t tile = 0;
  if (parser.parseLess() || fuse::parseDims(parser, dims) || parser.parseKeyword("by") || parser.parseInteger(tile) ||
      parser.parseGreater())
    return {};
  if (dims.size() != 1)
    return parser.emitError(parser.getNameLoc(), "an axis has one extent, found ") << dims.size(), Attribute();
  return parser.getChecked<AxisAttr>(parser.getContext(), dims.front(), tile);
}

void AxisAttr::print(AsmPrinter &printer) const {
  printer << "<";
  fuse::printDims(printer, {getExtent()});
  printer << " by " << getTile() << ">";
}

LogicalResult AxisAttr::verify(function_ref<InFlightDiagnostic()> emitError, Dim extent, int64_t tile) {
  if (tile <= 0)
    return emitError() << "a grid tile is positive, found " << tile;
  return success();
}
