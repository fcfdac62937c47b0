//===- Separation.h - taking a row value out of an element's expression -----------===//
//
// An element of reduction B that uses the row value d of reduction A must split
// into fresh data and a function of d alone:
//
//   exp(t - m)   =  exp(t) * exp(-m)      Scaled   (rule exp-difference)
//   x + f(d)                              Shifted  (rule shift)
//
// What the factor or the shift turns into when d changes is the repair of B's
// partial result. The rules are structural, ten of them, listed with their names
// in Separation.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/derive/Term.h"

#include "mlir/IR/Builders.h"

#include <functional>

namespace fusec {

/// A scalar function of the row value, ready to be written into a region.
struct RowFunction {
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Value)> emit;
  int direction = 0; ///< +1: grows with the row value, -1: falls, 0: not known.
  explicit operator bool() const { return static_cast<bool>(emit); }
};

struct Separation {
  enum class Form {
    Free,     ///< Does not use the row value.
    Row,      ///< `row(d)` alone.
    Scaled,   ///< fresh * exp(row(d)).
    Factored, ///< fresh * row(d), a plain factor.
    Shifted,  ///< fresh + row(d).
    Unknown,  ///< No rule applies; `obstacle` says where.
  };
  Form form = Form::Free;
  RowFunction row;
  llvm::SmallVector<llvm::StringRef, 2> rules; ///< Names of the rules used, inner to outer.
  std::string obstacle;
};

/// What is known of the row value and of the reduction behind it.
struct RowValue {
  mlir::Value value;        ///< The graph value with one element per row.
  mlir::TypedAttr identity; ///< What the reduction behind it gives for nothing seen yet.
};

/// Splits `element`. Pure; linear in the number of nodes.
Separation separate(const Term *element, const RowValue &row);

} // namespace fusec
