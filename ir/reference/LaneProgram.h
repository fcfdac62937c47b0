//===- LaneProgram.h - a scalar region, ready to run over lanes --------------===//
//
// The body of fuse.map, fuse.reduce or tile.reduce as a list of instructions
// over slots of lanes. `arith.constant`s may stand in the region or outside it.
//
//   FUSEC_ASSIGN_OR_RETURN(LaneProgram body, LaneProgram::compile(block, precision));
//   body.argument(0)[lane] = ...;   body.run(n);   body.result(0)[lane]
//
// Ownership: holds its lanes; the block may go away. Threading: one at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/LaneOps.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace fusec::reference {

class LaneProgram {
public:
  static constexpr int64_t maxLanes = 256;

  /// Compiles a block that ends in a terminator whose operands are the results.
  static Result<LaneProgram> compile(mlir::Block &block, Precision precision, std::optional<Element> accumulate = {});

  /// Lanes of a block argument, to be written before each run.
  double *argument(unsigned i) { return slot(arguments[i]); }
  /// The dimensions `fuse.index` asks for, and their lanes, to be written like arguments.
  llvm::ArrayRef<std::pair<int64_t, unsigned>> indexDims() const { return indices; }
  double *slot(unsigned i) { return lanes.data() + static_cast<int64_t>(i) * maxLanes; }
  const double *result(unsigned i) const { return lanes.data() + static_cast<int64_t>(results[i]) * maxLanes; }
  /// Runs over the first `n` <= maxLanes lanes.
  void run(int64_t n);

private:
  struct Step {
    LaneInstruction instruction;
    llvm::SmallVector<unsigned, 3> operands;
    unsigned result;
  };
  unsigned addSlot();
  Status addOp(mlir::Operation &op, Precision precision, std::optional<Element> accumulate);
  Result<unsigned> slotOf(mlir::Value value);
  Status addConstant(mlir::Value value, mlir::Attribute attribute);

  std::vector<double> lanes;
  llvm::DenseMap<mlir::Value, unsigned> slots;
  llvm::SmallVector<unsigned, 4> arguments, results;
  llvm::SmallVector<std::pair<int64_t, unsigned>, 4> indices;
  std::vector<Step> steps;
};

} // namespace fusec::reference
