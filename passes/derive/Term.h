//===- Term.h - one element of a graph value as an expression ----------------------===//
//
// Elementwise ops between two reductions are opened up into one expression over
// the elements that anything else gives. Values that are the same along the
// reduced dimension stay closed: they are the row constants that rules speak of.
//
//   TermArena arena;
//   const Term *e = arena.element(value, reducedDim);   // null: more than `limit` nodes
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>

namespace fusec {

/// A node; owned by its arena.
struct Term {
  enum class Kind { Leaf, Constant, Index, Apply };
  Kind kind = Kind::Leaf;
  mlir::Value leaf;         ///< Leaf: the graph value it is an element of.
  mlir::AffineMap map;      ///< Leaf, Index: from the element's coordinates.
  mlir::Operation *op = {}; ///< Constant, Apply: the scalar op.
  llvm::SmallVector<const Term *, 3> operands;
};

class TermArena {
public:
  explicit TermArena(size_t limit = 4096) : limit(limit) {}

  /// An element of `value` at its own coordinates; maps along `reduced` are opened up.
  const Term *element(mlir::Value value, unsigned reduced);

private:
  const Term *expand(mlir::Value value, mlir::AffineMap map, unsigned reduced);
  const Term *expandBody(fuse::MapOp op, mlir::AffineMap map, unsigned reduced);
  const Term *make(Term term);

  size_t limit;
  std::deque<Term> nodes;
  llvm::DenseMap<std::pair<mlir::Value, mlir::AffineMap>, const Term *> known;
};

} // namespace fusec
