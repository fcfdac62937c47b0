//===- LaneProgram.cpp - compiling and running scalar regions -----------------===//
#include "ir/reference/LaneProgram.h"

#include "ir/fuse/FuseDialect.h"

using namespace mlir;

namespace fusec::reference {

unsigned LaneProgram::addSlot() {
  const unsigned slot = static_cast<unsigned>(lanes.size() / maxLanes);
  lanes.resize(lanes.size() + maxLanes, 0.0);
  return slot;
}

Status LaneProgram::addConstant(Value value, Attribute attribute) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<double> filled, constantValues(attribute, 1));
  const unsigned slot = addSlot();
  std::fill_n(this->slot(slot), maxLanes, filled[0]);
  slots[value] = slot;
  return {};
}

Result<unsigned> LaneProgram::slotOf(Value value) {
  if (auto it = slots.find(value); it != slots.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  auto constant = dyn_cast_or_null<arith::ConstantOp>(op);
  if (!constant)
    return unsupported((op ? describe(op) : std::string("a block argument")) +
                       ": only constants may be used inside a scalar region from outside it");
  FUSEC_RETURN_IF_ERROR(addConstant(value, constant.getValue()));
  return slots[value];
}

Status LaneProgram::addOp(Operation &op, Precision precision, std::optional<Element> accumulate) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return addConstant(constant.getResult(), constant.getValue());
  if (auto index = dyn_cast<fuse::IndexOp>(op)) {
    slots[index.getResult()] = addSlot();
    indices.push_back({static_cast<int64_t>(index.getDim()), slots[index.getResult()]});
    return {};
  }
  FUSEC_ASSIGN_OR_RETURN(LaneInstruction instruction, laneInstruction(&op, precision, accumulate));
  Step step{instruction, {}, 0};
  for (Value operand : op.getOperands()) {
    FUSEC_ASSIGN_OR_RETURN(unsigned slot, slotOf(operand));
    step.operands.push_back(slot);
  }
  step.result = slots[op.getResult(0)] = addSlot();
  steps.push_back(std::move(step));
  return {};
}

Result<LaneProgram> LaneProgram::compile(Block &block, Precision precision, std::optional<Element> accumulate) {
  LaneProgram program;
  for (Value argument : block.getArguments())
    program.arguments.push_back(program.slots[argument] = program.addSlot());
  for (Operation &op : block.without_terminator())
    FUSEC_RETURN_IF_ERROR(program.addOp(op, precision, accumulate));
  for (Value value : block.getTerminator()->getOperands()) {
    FUSEC_ASSIGN_OR_RETURN(unsigned slot, program.slotOf(value));
    program.results.push_back(slot);
  }
  return program;
}

void LaneProgram::run(int64_t n) {
  for (const Step &step : steps) {
    const double *in[4] = {};
    for (auto [i, operand] : llvm::enumerate(step.operands))
      in[i] = slot(operand);
    runLanes(step.instruction, in, slot(step.result), n);
  }
}

} // namespace fusec::reference
