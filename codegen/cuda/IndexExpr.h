//===- IndexExpr.h - index arithmetic as C text that knows its range -------===//
//
// An IndexExpr is a C expression of an index plus what is known about it: a
// constant part, alignment, bounds, the extent it stays below. Arithmetic folds
// what it can, so that the text of a kernel says `token * 576 + k` and no more,
// uses / and % where nothing is negative, and needs no test where an index is
// provably in range. What is known follows the host's emitter (IndexMath.h).
//
//   IndexExpr k = IndexExpr::variable("k");  k.min = 0; k.max = 560; k.divisor = 16;
//   (k + constant(3)).floorDiv(16).text()    // "k / 16"
//
// Threading: values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fusec::codegen::cuda {

/// How tightly an expression's outermost operator binds, as C ranks them.
enum class Binding { Or, And, BitOr, BitXor, BitAnd, Equality, Relation, Shift, Sum, Product, Unary, Atom };

/// A C expression.
struct CExpr {
  std::string text;
  Binding binding = Binding::Atom;
  /// The text, in parentheses if it binds less tightly than `needed`.
  std::string in(Binding needed) const { return binding < needed ? "(" + text + ")" : text; }
};

struct IndexSplit;

/// `base + offset`; an empty base means a constant.
struct IndexExpr {
  CExpr base;
  int64_t offset = 0;
  int64_t divisor = 0;             ///< Divides the base; 0 when there is none (gcd(0, m) = m).
  std::optional<int64_t> min, max; ///< Bounds of the value.
  mlir::StringAttr symbol;         ///< If set: value <= symbol - margin.
  int64_t margin = 0;
  bool perLane = false; ///< Depends on the lane: not the same for all threads.
  /// Ways to write the value as a well aligned part and a bounded rest. A position `block + i` with i below the block's
  /// alignment stays in the block, whatever i is.
  std::vector<std::shared_ptr<const IndexSplit>> splits;

  static IndexExpr constant(int64_t v);
  /// A variable, or any expression about which nothing is known.
  static IndexExpr variable(CExpr text);
  bool isConstant() const { return base.text.empty(); }
  /// Largest known divisor of the whole value that divides `m`.
  int64_t alignment(int64_t m) const;
  /// The whole value as a C expression.
  CExpr expr() const;
  std::string text() const { return expr().text; }
  /// This value under another name: what is known of it stays.
  IndexExpr named(const std::string &name) const;

  IndexExpr plus(const IndexExpr &c) const;
  IndexExpr plus(int64_t c) const;
  IndexExpr times(const IndexExpr &c) const;
  IndexExpr times(int64_t c) const;
  /// Quotient rounded down, by m > 0.
  IndexExpr floorDiv(int64_t m) const;
  IndexExpr modulo(int64_t m) const;
  static IndexExpr smaller(const IndexExpr &a, const IndexExpr &c);
  static IndexExpr larger(const IndexExpr &a, const IndexExpr &c);
  /// `v`, which is one of `a` and `c`: what holds for both.
  static IndexExpr either(CExpr v, const IndexExpr &a, const IndexExpr &c);

  /// The value of an affine expression; nullopt when it divides by something that is no positive constant.
  static std::optional<IndexExpr> evaluate(mlir::AffineExpr expr, llvm::ArrayRef<IndexExpr> dims);
};

/// A well aligned value and a bounded, non-negative rest.
struct IndexSplit {
  IndexExpr coarse, fine;
};

} // namespace fusec::codegen::cuda
