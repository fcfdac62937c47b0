//===- EmitReduce.cpp - tile.reduce ----------------------------------------===//
//
// Prints the merge as a lambda for reduce() of reduce.cuh, and computes how
// much shared memory that takes.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/KernelPrinter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen::cuda {

LambdaText KernelPrinter::combineText(ReduceOp op) {
  Block &block = op.getCombine().front();
  LambdaText lambda;
  lambda.captures = false;
  size_t components = op.getInputs().size();
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
    std::string name = i < components ? "a" : "b";
    if (components > 1)
      name += std::to_string(i % components);
    bind(argument, {name});
    lambda.parameters.push_back(cType(argument.getType()) + " " + name);
  }
  SourceText inner;
  SourceText *outside = std::exchange(out, &inner);
  std::string here = location;
  emitBlock(block);
  location = here;
  out = outside;
  for (const std::string &line : inner.lines())
    if (!StringRef(line).starts_with("//"))
      lambda.statements.push_back(line);
  std::vector<std::string> results;
  for (Value v : block.getTerminator()->getOperands())
    results.push_back(scalar(v).text);
  lambda.result = components == 1 ? results.front() : "pack(" + llvm::join(results, ", ") + ")";
  return lambda;
}

/// Bytes that LaneFold of reduce.cuh passes through shared memory.
static int64_t exchangeBytesOf(ReduceOp op, TileShape shape, int64_t threads) {
  int64_t perRow = (shape.lanes + threads - 1) / threads;
  bool foldsRegisters = shape.lanes <= threads || (shape.lanes % threads == 0 && llvm::isPowerOf2_64(perRow));
  int64_t left = foldsRegisters ? std::min(shape.lanes, threads) : shape.lanes, bytes = 0;
  if (left <= 32)
    return 0;
  for (Value input : op.getInputs()) {
    int64_t bits = getElementTypeOrSelf(input.getType()).getIntOrFloatBitWidth();
    bytes += llvm::alignTo(shape.rows * left * std::max<int64_t>(1, bits / 8), 16);
  }
  return bytes;
}

void KernelPrinter::emitReduce(ReduceOp op) {
  TileShape shape = shapeOf(op.getInputs().front().getType());
  std::vector<std::string> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(tileName(input));
  if (!llvm::isPowerOf2_64(shape.lanes)) {
    fail(op, "folds a number of lanes that is no power of two");
    return;
  }
  const bool isRows = rowTiles && cast<VectorType>(op.getInputs().front().getType()).getRank() == 2; // within warps
  if (!isRows)
    needExchange(std::max<int64_t>(16, exchangeBytesOf(op, shape, threads)));
  const std::string call = isRows ? "reduce(" : "reduce(exchange, ";
  emitLocation(*op);
  LambdaText combine = combineText(op);
  bool isSingle = op.getInputs().size() == 1, isScalar = !isTile(op.getResult(0));
  std::string name = fresh(isSingle ? nameFor(op.getResult(0)) : "folded");
  std::string tiles = ", " + llvm::join(inputs, ", ") + ")";
  if (isSingle && isScalar) {
    out->call("const " + cType(op.getResult(0).getType()) + " " + name + " = scalar(" + call, {combine}, tiles + ");");
    return bind(op.getResult(0), {name});
  }
  out->call("const auto " + name + " = " + call, {combine}, tiles + ";");
  if (isSingle)
    return bind(op.getResult(0), {name});
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    std::string component = fresh(nameFor(result)), get = "get<" + std::to_string(i) + ">(" + name + ")";
    out->declare(component, "const auto " + component + " = " + (isScalar ? "scalar(" + get + ")" : get) + ";");
    bind(result, {component});
  }
}

} // namespace fusec::codegen::cuda
