//===- RowTiles.h - kernels whose tiles of rows lie in mma accumulators ----===//
//
// A derived loop (attention) with rounded operands multiplies twice per block of
// its folded dimension:
//
//   query = ...                                     before the loops
//   for block:
//     score = dot(query, keys)                      keys:   staged [channels x block]
//     weight = ...score...
//     sum = dot(weight, values, sum...)             values: staged [block x channels]
//
// On tensor cores every tile of rows is in layout MmaRows, 16 rows per warp, padded
// to whole warps, and lanes to multiples of 16; right operands go through shared memory, a block ahead; the left
// operand from before the loops stays in registers as mma's A. findRowTiles says
// whether a kernel has this form, and what is what in it. It knows nothing of
// attention but the roles that it names.
//
// Threading: reads the kernel.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/EmitKernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace fusec::codegen::cuda {

/// An operand and the ops that nothing but it needs, loads among them: printed as one function of (row, column).
struct OperandTree {
  mlir::Value root;
  llvm::DenseSet<mlir::Operation *> ops;
  std::string name; ///< "query", "keys", "values"; a number tells equal ones apart.
  int64_t rows = 0, columns = 0;
  mlir::Value rowLimit;  ///< Rows from this number on are zero, or never looked at; null: all count.
  bool isSummed = false; ///< Its product adds to what the loop carries.
  /// Columns in shared memory, the last ones zero: ldmatrix brings 16 at a time.
  int64_t paddedColumns() const { return (columns + 15) / 16 * 16; }
  int64_t stagedBytes() const { return rows * paddedColumns() * 2; }
};

struct RowTiles {
  mlir::Type operand;       ///< f16 or bf16.
  int64_t rows = 0;         ///< Of every tile.
  int warps = 0;            ///< Each holds 16 rows; the last rows may be padding.
  bool isWarpgroup = false; ///< Products of four warps at once (wgmma).
  mlir::scf::ForOp loop;    ///< Over blocks.
  mlir::Value rowLimit;     ///< Rows from this number on are never stored; null: all are.
  OperandTree query;        ///< Root null: the left operand is a tile like others.
  std::vector<OperandTree> staged;
  llvm::DenseMap<mlir::Value, std::string> roles; ///< What values are called.

  /// Warps with rows that are not padding.
  int usedWarps() const { return static_cast<int>((rows + 15) / 16); }
  int64_t paddedRows() const { return 16 * static_cast<int64_t>(warps); }
  int threads() const { return 32 * warps; }
  const OperandTree *stagedAs(mlir::Value value) const;
  /// Printed with an operand, not where it stands.
  bool isPartOfOperand(mlir::Operation *op) const;
};

/// Nullopt when the kernel has no products with rounded operands, or has another form.
std::optional<RowTiles> findRowTiles(tile::KernelOp kernel, const CudaEmitOptions &options);

} // namespace fusec::codegen::cuda
