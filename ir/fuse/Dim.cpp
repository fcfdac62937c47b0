//===- Dim.cpp - text of dimensions ------------------------------------------===//
#include "ir/fuse/Dim.h"

using namespace mlir;

namespace fusec::fuse {

namespace {
struct KindName {
  DimKind kind;
  StringRef name;
};
constexpr KindName kindNames[] = {{DimKind::Symbolic, "sym"}, {DimKind::Ragged, "ragged"}, {DimKind::Paged, "paged"}};

StringRef nameOf(DimKind kind) {
  for (const KindName &row : kindNames)
    if (row.kind == kind)
      return row.name;
  return "static";
}

ParseResult parseDynamicDim(AsmParser &parser, Dim &dim) {
  StringRef kind, symbol;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&kind))
    return failure();
  for (const KindName &row : kindNames) {
    if (row.name != kind)
      continue;
    if (parser.parseLParen() || parser.parseKeyword(&symbol) || parser.parseRParen())
      return failure();
    dim = Dim::dynamic(row.kind, parser.getContext(), symbol);
    return success();
  }
  return parser.emitError(loc, "unknown dimension kind '")
         << kind << "', expected an integer, sym(..), ragged(..) or paged(..)";
}

ParseResult parseDim(AsmParser &parser, Dim &dim) {
  int64_t size = 0;
  SMLoc loc = parser.getCurrentLocation();
  OptionalParseResult fixed = parser.parseOptionalInteger(size);
  if (!fixed.has_value())
    return parseDynamicDim(parser, dim);
  if (*fixed)
    return failure();
  if (size < 0)
    return parser.emitError(loc, "a static dimension is not negative, found ") << size;
  dim = Dim::fixed(size);
  return success();
}
} // namespace

std::string toString(const Dim &dim) {
  if (dim.isStatic())
    return std::to_string(dim.size);
  return (nameOf(dim.kind) + "(" + dim.symbol.getValue() + ")").str();
}

void printDims(AsmPrinter &printer, ArrayRef<Dim> dims) {
  printer << "[";
  llvm::interleaveComma(dims, printer, [&](const Dim &d) { printer << toString(d); });
  printer << "]";
}

ParseResult parseDims(AsmParser &parser, SmallVectorImpl<Dim> &dims) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parseDim(parser, dims.emplace_back()); });
}

} // namespace fusec::fuse
