//===- OpcodeTable.h - every instruction the virtual device knows ------------===//
//
// One file per family adds its rows (addFloatOps, ...). A row is either a whole
// form ("add.rn.f32", with operands given by a lambda's types) or a root with a
// decoder of its own ("ld", "cp.async"). Forms are looked up first, then the
// longest root. What is in no row is an error that names opcode and line.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/virtual/ops/Lanewise.h"

#include <string>
#include <string_view>
#include <unordered_map>

namespace fusec::virtualgpu {

class InstructionDecoder;

class OpcodeTable {
public:
  using Decode = Status (*)(InstructionDecoder &);

  struct Form {
    Handler run = nullptr;
    ValueType result{};
    const ValueType *sources = nullptr;
    int sourceCount = 0;
  };

  /// All families.
  static const OpcodeTable &instance();

  template <auto Function> void lanewise(const std::string &form) {
    using Traits = TraitsOf<Function>;
    forms[form] = {&Traits::template run<Function>, Traits::result, Traits::types, Traits::sources};
  }
  void root(const std::string &name, Decode decode) { roots[name] = decode; }

  const Form *findForm(const std::string &opcode) const {
    auto found = forms.find(opcode);
    return found == forms.end() ? nullptr : &found->second;
  }
  /// The decoder of the longest root that starts `opcode`, and that root's length.
  std::pair<Decode, size_t> findRoot(std::string_view opcode) const;

private:
  std::unordered_map<std::string, Form> forms;
  std::unordered_map<std::string, Decode> roots;
};

// The families, one per file of ops/.
void addIntegerOps(OpcodeTable &table);
void addCarryOps(OpcodeTable &table);
void addBitOps(OpcodeTable &table);
void addFloatOps(OpcodeTable &table);
void addHalfOps(OpcodeTable &table);
void addApproximateOps(OpcodeTable &table);
void addCompareOps(OpcodeTable &table);
void addConvertOps(OpcodeTable &table);
void addFp8Ops(OpcodeTable &table);
void addMoveOps(OpcodeTable &table);
void addControlOps(OpcodeTable &table);
void addMemoryOps(OpcodeTable &table);
void addAtomicOps(OpcodeTable &table);
void addBarrierOps(OpcodeTable &table);
void addWarpOps(OpcodeTable &table);
void addMatrixOps(OpcodeTable &table);
void addAsyncCopyOps(OpcodeTable &table);
void addMbarrierOps(OpcodeTable &table);
void addBulkCopyOps(OpcodeTable &table);
void addWgmmaOps(OpcodeTable &table);

} // namespace fusec::virtualgpu
