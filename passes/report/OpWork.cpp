//===- OpWork.cpp ----------------------------------------------------------------------===//
#include "passes/report/OpWork.h"

#include "passes/fusion/Cost.h"
#include "passes/fusion/DataFlow.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

double extentOf(const Dim &dim, const StepSizes &sizes) {
  return static_cast<double>(dim.isStatic() ? dim.size : sizes.lookup(dim.symbol.getValue()));
}

double elementBytes(GraphTensorType type) {
  if (auto storage = type.getStorage()) {
    const StorageTypeInfo &row = info(*storage);
    return static_cast<double>(row.blockBytes) / static_cast<double>(row.blockElements);
  }
  return type.getElementType().getIntOrFloatBitWidth() / 8.0;
}

/// The value in memory that index-only ops see.
Value baseOf(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isIndexOnly(def) || def->getNumOperands() == 0)
      break;
    value = def->getOperand(0);
  }
  return value;
}

/// Distinct bytes read through `operand`: no more than what is seen, nor than there is.
void addRead(Value operand, const StepSizes &sizes, llvm::MapVector<Value, double> &reads) {
  // A cache is seen through a gather whose indices are read, too.
  if (auto gather = operand.getDefiningOp<GatherOp>(); gather && isIndexOnly(gather))
    addRead(gather.getIndices(), sizes, reads);
  Value base = baseOf(operand);
  double seen = std::min(elementsOf(typeOf(operand), sizes), elementsOf(typeOf(base), sizes));
  double bytes = seen * elementBytes(typeOf(base));
  double &known = reads[base];
  known = std::min(known + bytes, bytesOf(typeOf(base), sizes));
}

double readBytes(Operation *op, const StepSizes &sizes) {
  llvm::MapVector<Value, double> reads;
  for (Value operand : op->getOperands()) {
    bool table = isa<GatherOp>(op) && operand == op->getOperand(0);
    bool target = isa<KVAppendOp>(op) && operand == cast<KVAppendOp>(op).getCache();
    if (table)
      reads[operand] += elementsOf(typeOf(op->getResult(0)), sizes) * elementBytes(typeOf(operand));
    else if (!target)
      addRead(operand, sizes, reads);
  }
  double total = 0;
  for (auto &[value, bytes] : reads)
    total += bytes;
  return total;
}

double writtenBytes(Operation *op, const StepSizes &sizes) {
  if (auto append = dyn_cast<KVAppendOp>(op))
    return elementsOf(typeOf(append.getValues()), sizes) * elementBytes(typeOf(append.getCache()));
  double total = 0;
  for (Value result : op->getResults())
    total += bytesOf(typeOf(result), sizes);
  return total;
}

} // namespace

StepSizes stepSizes(int64_t tokens, int64_t context, int64_t page) {
  StepSizes sizes;
  int64_t pages = (std::max(context, tokens) + page - 1) / page;
  sizes["T"] = tokens;
  sizes["S"] = sizes["R"] = 1;
  sizes["B"] = pages;
  sizes["C"] = pages * page;
  return sizes;
}

double elementsOf(GraphTensorType type, const StepSizes &sizes) {
  double product = 1;
  for (const Dim &dim : type.getDims())
    product *= extentOf(dim, sizes);
  return product;
}

double bytesOf(GraphTensorType type, const StepSizes &sizes) { return elementsOf(type, sizes) * elementBytes(type); }

double unfusedBytes(Operation *op, const StepSizes &sizes) { return readBytes(op, sizes) + writtenBytes(op, sizes); }

double operationsOf(Operation *op, const StepSizes &sizes) {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](ContractOp contract) {
        double product = 2;
        for (const Dim &dim : contract.getIterationExtents())
          product *= extentOf(dim, sizes);
        return product;
      })
      .Case(
          [&](MapOp map) { return elementsOf(typeOf(map.getResult()), sizes) * CostModel::operationsPerElement(map); })
      .Case([&](ReduceOp reduce) {
        return elementsOf(typeOf(reduce.getInputs().front()), sizes) * static_cast<double>(reduce.getInputs().size());
      })
      .Default(0.0);
}

} // namespace fusec
