//===- LaneOps.h - elementwise arith and math ops on lanes -------------------===//
//
// One table row per op name. The graph's scalar regions and the tile level's
// vectors run the same functions, over `n` lanes at once.
//
// Threading: instructions are immutable values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/Element.h"
#include "ir/reference/Precision.h"

#include "mlir/IR/Operation.h"

namespace fusec::reference {

struct LaneInstruction;
using LaneFunction = void (*)(const LaneInstruction &, const double *const *in, double *out, int64_t n);

/// An elementwise op, ready to run.
struct LaneInstruction {
  LaneFunction function = nullptr;
  Element from = Element::F64; ///< Of the first operand.
  Element to = Element::F64;   ///< Of the result.
  int64_t predicate = 0;       ///< Of cmpf and cmpi.
  bool rounds = false;         ///< Precision::Exact.
};

/// True for ops that `laneInstruction` knows.
bool isLaneOp(mlir::Operation *op);

/// Looks the op up. Float types are replaced by `accumulate` when it is given
/// (a reduction's accumulator may be wider than its elements). Unsupported for
/// an op without a row.
Result<LaneInstruction> laneInstruction(mlir::Operation *op, Precision precision,
                                        std::optional<Element> accumulate = {});

/// Runs and rounds. `in` holds one array of `n` lanes per operand; `out` may be one of them.
void runLanes(const LaneInstruction &instruction, const double *const *in, double *out, int64_t n);

/// The elements of an arith.constant's value, expanded; the value of a scalar is one lane.
Result<std::vector<double>> constantValues(mlir::Attribute value, int64_t count);

/// "op 'arith.addf' at loc(...)", for messages.
std::string describe(mlir::Operation *op);

} // namespace fusec::reference
