//===- Obligations.h - what must hold for two reductions to share a loop --------===//
//
//   aligned        one loop: the rows and the folded dimension are the same
//   separable      B's element splits into fresh data and a function of the row value
//   repair         the function's change can be applied safely to a partial result
//   homomorphism   that change commutes with how B combines
//   identity       an empty partial result stays empty under repair, -inf included
//   numerics       the contracts of both allow the reassociation
//   residency      the accumulators of a row fit on the chip
//
// Each is an entry of the `proof` attribute when it holds; the first that does
// not is the reason of the refusal.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/derive/Cascade.h"
#include "passes/derive/LinearMaps.h"
#include "passes/derive/Separation.h"

namespace fusec {

struct Derivation {
  std::string obstacle;  ///< "<obligation>: <why>"; empty: all hold.
  Separation separation; ///< How the element splits.
  bool scales = false;   ///< Repair multiplies by exp(f(new) - f(old)); else it adds f(new) - f(old).
  llvm::SmallVector<std::pair<llvm::StringRef, std::string>> proof;

  std::string summary() const;
  mlir::DictionaryAttr attribute(mlir::MLIRContext *context) const;
  /// Writes the proof and the repair region onto the reduction.
  void attach(mlir::Operation *op) const;
};

/// Derives the repair of `r` for `rowValue`, which holds rows of `root`.
Derivation derive(const Reduction &r, mlir::Value rowValue, fuse::ReduceOp root);

/// What the cost model says.
struct Gain {
  bool profitable = false;
  std::string figures;
};
/// Moving row factors behind a sum: worth it when the factor's reduction can then share the sum's loop.
Gain gainOfMoving(fuse::ContractOp op, const RowFactors &factors);
/// One loop instead of two: worth it when elements are not at hand for a second pass.
Gain gainOfSharing(const Reduction &r);

/// The contraction whose result, through elementwise ops, the elements of a reduction are; null: none.
mlir::Operation *productBehind(mlir::Value element);

} // namespace fusec
