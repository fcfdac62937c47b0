//===- OpcodeTable.cpp - every instruction the virtual device knows ----------===//

#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

OpcodeTable buildTable() {
  OpcodeTable table;
  for (auto add : {addIntegerOps, addCarryOps, addBitOps, addFloatOps, addHalfOps, addApproximateOps, addCompareOps,
                   addConvertOps, addFp8Ops, addMoveOps, addControlOps, addMemoryOps, addAtomicOps, addBarrierOps,
                   addWarpOps, addMatrixOps, addAsyncCopyOps, addMbarrierOps, addBulkCopyOps, addWgmmaOps})
    add(table);
  return table;
}

} // namespace

const OpcodeTable &OpcodeTable::instance() {
  static const OpcodeTable table = buildTable();
  return table;
}

std::pair<OpcodeTable::Decode, size_t> OpcodeTable::findRoot(std::string_view opcode) const {
  for (size_t size = opcode.size(); size != std::string_view::npos; size = opcode.rfind('.', size - 1)) {
    auto found = roots.find(std::string(opcode.substr(0, size)));
    if (found != roots.end())
      return {found->second, size};
    if (size == 0)
      break;
  }
  return {nullptr, 0};
}

} // namespace fusec::virtualgpu
