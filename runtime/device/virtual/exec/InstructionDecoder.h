//===- InstructionDecoder.h - operands of one instruction --------------------===//
//
// What a family's decoder sees: the modifiers after its root, taken one by one,
// and the operands, turned into register slots of the expected width. Every
// modifier must be taken; finish() reports the rest by name.
//
//   std::optional<Type> type = d.takeType();
//   bool ftz = d.take("ftz");
//   FUSEC_RETURN_IF_ERROR(d.destination(0, 0, {4, true}));
//   FUSEC_RETURN_IF_ERROR(d.source(1, 0, {4, true}));
//   d.out.run = handler;
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/virtual/exec/Program.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"
#include "runtime/device/virtual/ptx/Ast.h"

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace fusec::virtualgpu {

class FunctionDecoder;

class InstructionDecoder {
public:
  InstructionDecoder(FunctionDecoder &function, const ptx::Instruction &in, Instr &out, size_t rootLength);

  const ptx::Instruction &in;
  Instr &out;

  // --- modifiers, without their dots ------------------------------------------
  /// Takes `word` wherever it is.
  bool take(std::string_view word);
  /// Takes the first of `words` that is there; its index, or -1.
  int takeOne(std::initializer_list<std::string_view> words);
  /// Takes the first type name.
  std::optional<ptx::Type> takeType();
  /// Takes everything that starts with `prefix` (cache hints).
  void takePrefixed(std::string_view prefix);
  const std::vector<std::string_view> &modifiers() const { return left; }
  /// Unsupported names the modifiers nobody took.
  Status finish() const;

  // --- operands ---------------------------------------------------------------
  size_t operandCount() const { return in.operands.size(); }
  const ptx::Operand &operand(size_t i) const { return in.operands[i]; }
  /// CorruptData when there are not between `least` and `most` operands.
  Status expectOperands(size_t least, size_t most) const;
  /// Operand i becomes out.dst[to] / out.src[to]. Bytes must match the register's.
  Status destination(size_t i, int to, ValueType type);
  Status source(size_t i, int to, ValueType type);
  /// The same for an operand that is not directly in the instruction; a sink gives noSlot.
  Result<uint32_t> destinationSlot(const ptx::Operand &operand, ValueType type);
  Result<uint32_t> sourceSlot(const ptx::Operand &operand, ValueType type);
  /// Any width: the slot and the register's bytes (0 = predicate).
  struct AnyRegister {
    uint32_t slot = noSlot;
    uint8_t bytes = 0;
  };
  Result<AnyRegister> anyRegister(const ptx::Operand &operand);
  /// Parts of a vector operand (or the one register) as out.list and out.count.
  Status registerList(size_t i, ValueType type, bool isSource);
  /// Entry i of out.list.
  uint32_t listEntry(uint32_t i) const;
  /// Appends to Program::lists; the index of the first.
  uint32_t addList(const std::vector<uint32_t> &slots);
  /// [register + offset] or [variable + offset]: out.src[to] (64-bit lanes) and out.immediate.
  /// A 32-bit base register sets out.width to 4.
  Status address(size_t i, int to);
  Result<uint32_t> constant(uint8_t bytes, uint64_t bits);
  /// Operand i is a label: out.immediate becomes its code index.
  Status labelTarget(size_t i);
  Status guard();
  Status decodeForm(const OpcodeTable::Form &form);

  FunctionDecoder &function;
  Status error(const std::string &what) const;

private:
  std::vector<std::string_view> left;
};

} // namespace fusec::virtualgpu
