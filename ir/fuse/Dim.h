//===- Dim.h - one dimension of a tensor, and how its extent is known ------===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/Hashing.h"

namespace fusec::fuse {

enum class DimKind : uint8_t { Static, Symbolic, Ragged, Paged };

/// A dimension: a static extent, or a kind and the name of a run-time symbol.
/// A value type; `symbol` is null exactly when the dimension is static.
struct Dim {
  DimKind kind = DimKind::Static;
  int64_t size = 0;
  mlir::StringAttr symbol;

  static Dim fixed(int64_t size) { return {DimKind::Static, size, {}}; }
  static Dim dynamic(DimKind kind, mlir::MLIRContext *context, llvm::StringRef symbol) {
    return {kind, 0, mlir::StringAttr::get(context, symbol)};
  }
  bool isStatic() const { return kind == DimKind::Static; }
  bool operator==(const Dim &o) const { return kind == o.kind && size == o.size && symbol == o.symbol; }
  bool operator!=(const Dim &o) const { return !(*this == o); }
};

inline llvm::hash_code hash_value(const Dim &d) {
  return llvm::hash_combine(static_cast<int>(d.kind), d.size, d.symbol);
}

/// Prints `[ragged(T), 576]`.
void printDims(mlir::AsmPrinter &printer, llvm::ArrayRef<Dim> dims);
/// Parses `[` dim (`,` dim)* `]`; emits an error at the offending token.
mlir::ParseResult parseDims(mlir::AsmParser &parser, llvm::SmallVectorImpl<Dim> &dims);
/// The text of one dimension, for messages.
std::string toString(const Dim &dim);

} // namespace fusec::fuse
