//===- AccessMap.h - reading a tensor through an affine map ------------------===//
//
// Turns an index of an iteration space into a position in a tensor's storage.
// `create` proves the map in range over the whole space, or arranges a check at
// each point when floordiv and mod make the proof fail. Dimensions that occur
// in no floordiv or mod are linear: they move the position by a fixed step, so
// that inner loops need no map.
//
// Holds no reference to the tensor. Threading: immutable after creation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/Tensor.h"

#include "mlir/IR/AffineMap.h"

namespace fusec::reference {

class AccessMap {
public:
  /// `extents` are those of the iteration space. InvalidArgument when a linear
  /// map leaves the tensor; `what` names it in messages.
  static Result<AccessMap> create(mlir::AffineMap map, const Tensor &tensor, llvm::ArrayRef<int64_t> extents,
                                  const std::string &what);

  /// Position of the point's element in the tensor's storage.
  Result<int64_t> at(llvm::ArrayRef<int64_t> point) const;

  /// Whether each unit of an iteration dimension moves the position by `step`, always in range.
  bool isLinear(int64_t dim) const { return proven && linear[dim]; }
  int64_t step(int64_t dim) const { return steps[dim]; }
  /// True when `at` cannot fail anywhere in the space.
  bool isProven() const { return proven; }

private:
  Result<int64_t> atChecked(llvm::ArrayRef<int64_t> point) const;

  mlir::AffineMap map;
  Shape extents;             ///< Of the tensor.
  Shape strides;             ///< Of the tensor.
  std::vector<int64_t> rows; ///< Offsets of dimension 0 of a gathered tensor.
  bool gathered = false;
  int64_t base = 0;
  bool proven = true;
  bool allLinear = true;
  int64_t constant = 0;
  llvm::SmallVector<bool, 6> linear;
  Shape steps;
  std::string what;
};

/// True when no floordiv, ceildiv or mod of the expression contains the dimension.
bool isLinearIn(mlir::AffineExpr expr, unsigned dim);

/// The value of an affine expression without symbols at a point.
int64_t evaluate(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> point);

} // namespace fusec::reference
