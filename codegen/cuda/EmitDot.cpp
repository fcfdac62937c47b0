//===- EmitDot.cpp - tile.dot on the SIMT units ----------------------------===//
//
// Operands that are loads are lambdas which the sum calls as it advances. A left
// operand in registers goes through shared memory, since each thread needs all
// of its rows; of a right operand each thread has what it needs.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/KernelPrinter.h"

#include "codegen/cuda/Barriers.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen::cuda {

/// Left operands are functions (row, step), right ones (step, col).
void KernelPrinter::emitDotOperand(Value operand, bool isLeft, Type rounded, std::vector<std::string> &arguments,
                                   std::vector<LambdaText> &lambdas) {
  TileShape shape = shapeOf(operand.getType());
  std::string row = isLeft ? "row" : "step", col = isLeft ? "step" : "col";
  LambdaText lambda;
  auto load = operand.getDefiningOp<LoadOp>();
  if (load && !values.count(operand)) {
    lambda = loadText(access(load), row, col, shape);
  } else {
    std::string name = tileName(operand);
    if (rounded)
      name = "roundedTo<" + cType(rounded) + ">(" + name + ")";
    int64_t bytes = getElementTypeOrSelf(operand.getType()).getIntOrFloatBitWidth() / 8;
    if (isLeft)
      needExchange(shape.rows * shape.lanes * bytes);
    arguments.push_back(isLeft ? "spread(exchange, " + name + ")" : "rowsOf(" + name + ")");
    return;
  }
  if (rounded) {
    std::string type = cType(rounded);
    lambda.result = "static_cast<float>(" + type + "(" + lambda.result + "))";
  }
  lambdas.push_back(lambda);
  arguments.push_back("");
}

void KernelPrinter::emitDot(DotOp op) {
  emitLocation(*op);
  Type rounded = op.getOperandType().value_or(Type());
  std::string sum;
  if (isOverwritable(op.getAcc(), op->getBlock())) {
    sum = tileName(op.getAcc());
  } else {
    sum = fresh("sum");
    out->line("auto " + sum + " = " + tileName(op.getAcc()) + ";");
    variables.insert(sum);
  }
  std::vector<std::string> arguments;
  std::vector<LambdaText> lambdas;
  emitDotOperand(op.getLhs(), true, rounded, arguments, lambdas);
  emitDotOperand(op.getRhs(), false, rounded, arguments, lambdas);
  std::string before = "dot<" + std::to_string(shapeOf(op.getLhs().getType()).lanes) + ">(" + sum + ", ", after = ");";
  if (!arguments[0].empty())
    before += arguments[0] + ", ";
  if (lambdas.empty()) {
    out->line(before + arguments[1] + after);
  } else {
    if (!arguments[1].empty())
      after = ", " + arguments[1] + after;
    out->call(before, lambdas, after);
  }
  bind(op, {sum});
}

} // namespace fusec::codegen::cuda
