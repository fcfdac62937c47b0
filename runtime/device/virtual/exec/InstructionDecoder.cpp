//===- InstructionDecoder.cpp - operands of one instruction ------------------===//

#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/exec/FunctionDecoder.h"
#include "runtime/device/virtual/exec/SpecialRegisters.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

#include <algorithm>
#include <bit>

namespace fusec::virtualgpu {
namespace {

using Kind = ptx::Operand::Kind;

std::string bitsOf(uint8_t bytes) { return bytes ? std::to_string(8 * bytes) + "-bit register" : "predicate"; }

uint64_t floatBits(double value, uint8_t bytes) {
  return bytes == 4 ? std::bit_cast<uint32_t>(static_cast<float>(value)) : std::bit_cast<uint64_t>(value);
}

uint64_t cut(int64_t value, uint8_t bytes) {
  return bytes >= 8 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(value) & ((uint64_t(1) << 8 * bytes) - 1);
}

} // namespace

InstructionDecoder::InstructionDecoder(FunctionDecoder &function, const ptx::Instruction &in, Instr &out,
                                       size_t rootLength)
    : in(in), out(out), function(function) {
  std::string_view rest = std::string_view(in.opcode).substr(rootLength);
  while (!rest.empty()) {
    size_t end = std::min(rest.find('.', 1), rest.size());
    left.push_back(rest.substr(1, end - 1));
    rest.remove_prefix(end);
  }
}

Status InstructionDecoder::error(const std::string &what) const {
  return unsupported("PTX line " + std::to_string(in.line) + ": " + in.opcode + ": " + what);
}

// --- modifiers -----------------------------------------------------------------

bool InstructionDecoder::take(std::string_view word) {
  auto found = std::find(left.begin(), left.end(), word);
  if (found == left.end())
    return false;
  left.erase(found);
  return true;
}

int InstructionDecoder::takeOne(std::initializer_list<std::string_view> words) {
  int i = 0;
  for (std::string_view word : words) {
    if (take(word))
      return i;
    ++i;
  }
  return -1;
}

std::optional<ptx::Type> InstructionDecoder::takeType() {
  for (auto at = left.begin(); at != left.end(); ++at)
    if (std::optional<ptx::Type> type = ptx::typeNamed(*at)) {
      left.erase(at);
      return type;
    }
  return std::nullopt;
}

void InstructionDecoder::takePrefixed(std::string_view prefix) {
  std::erase_if(left, [prefix](std::string_view word) { return word.starts_with(prefix); });
}

Status InstructionDecoder::finish() const {
  if (left.empty())
    return {};
  std::string words;
  for (std::string_view word : left)
    words += (words.empty() ? "." : " .") + std::string(word);
  return unsupported("PTX line " + std::to_string(in.line) + ": the virtual device does not know the modifier " +
                     words + " of '" + in.opcode + "'");
}

// --- operands --------------------------------------------------------------------

Status InstructionDecoder::expectOperands(size_t least, size_t most) const {
  if (operandCount() >= least && operandCount() <= most)
    return {};
  return error("expected " + std::to_string(least) + (most != least ? " to " + std::to_string(most) : "") +
               " operands, found " + std::to_string(operandCount()));
}

Status InstructionDecoder::guard() {
  if (in.guard.empty())
    return {};
  const FunctionDecoder::Register *found = function.findRegister(in.guard, in.scope);
  if (!found || found->bytes != 0)
    return error("the guard '" + in.guard + "' is not a predicate");
  out.guard = found->slot;
  out.guardInverted = in.guardInverted;
  return {};
}

Result<InstructionDecoder::AnyRegister> InstructionDecoder::anyRegister(const ptx::Operand &operand) {
  if (operand.kind == Kind::Sink)
    return AnyRegister{};
  const FunctionDecoder::Register *found =
      operand.kind == Kind::Name ? function.findRegister(operand.name, in.scope) : nullptr;
  if (!found)
    return error("expected a register, found '" + operand.name + "'");
  return AnyRegister{found->slot, found->bytes};
}

Result<uint32_t> InstructionDecoder::destinationSlot(const ptx::Operand &operand, ValueType type) {
  FUSEC_ASSIGN_OR_RETURN(AnyRegister found, anyRegister(operand));
  if (found.slot != noSlot && found.bytes != type.bytes)
    return error("the destination '" + operand.name + "' is a " + bitsOf(found.bytes) + ", expected a " +
                 bitsOf(type.bytes));
  return found.slot;
}

Result<uint32_t> InstructionDecoder::constant(uint8_t bytes, uint64_t bits) {
  return function.constantSlot(bytes, bits);
}

Result<uint32_t> InstructionDecoder::sourceSlot(const ptx::Operand &operand, ValueType type) {
  if (operand.kind == Kind::Integer) {
    if (type.bytes == 0)
      return function.constantSlot(0, operand.integer ? fullMask : 0);
    if (type.isFloat)
      return function.constantSlot(type.bytes, floatBits(static_cast<double>(operand.integer), type.bytes));
    return function.constantSlot(type.bytes, cut(operand.integer, type.bytes));
  }
  if (operand.kind == Kind::Float)
    return function.constantSlot(type.bytes, floatBits(operand.floating, type.bytes));
  if (operand.kind != Kind::Name)
    return error("an operand is not a register or a number");
  if (std::optional<Special> special = specialNamed(operand.name))
    return function.specialSlot(*special, type.bytes);
  if (const FunctionDecoder::Register *found = function.findRegister(operand.name, in.scope)) {
    if (found->bytes != type.bytes)
      return error("'" + operand.name + "' is a " + bitsOf(found->bytes) + ", expected a " + bitsOf(type.bytes));
    return found->slot;
  }
  if (operand.name == "WARP_SZ")
    return function.constantSlot(type.bytes, warpLanes);
  return function.addressSlot(operand.name, operand.integer, type.bytes, in.scope, in.line);
}

Status InstructionDecoder::destination(size_t i, int to, ValueType type) {
  FUSEC_ASSIGN_OR_RETURN(out.dst[to], destinationSlot(operand(i), type));
  return {};
}

Status InstructionDecoder::source(size_t i, int to, ValueType type) {
  FUSEC_ASSIGN_OR_RETURN(out.src[to], sourceSlot(operand(i), type));
  if (operand(i).inverted) {
    if (type.bytes != 0)
      return error("'!' before something that is not a predicate");
    out.inverted = static_cast<uint8_t>(out.inverted | 1 << to);
  }
  return {};
}

Status InstructionDecoder::decodeForm(const OpcodeTable::Form &form) {
  const size_t count = static_cast<size_t>(form.sourceCount) + 1;
  FUSEC_RETURN_IF_ERROR(expectOperands(count, count));
  FUSEC_RETURN_IF_ERROR(destination(0, 0, form.result));
  for (int i = 0; i < form.sourceCount; ++i)
    FUSEC_RETURN_IF_ERROR(source(static_cast<size_t>(i) + 1, i, form.sources[i]));
  // Writing to the sink `_` has no effect.
  if (out.dst[0] != noSlot)
    out.run = form.run;
  return {};
}

uint32_t InstructionDecoder::listEntry(uint32_t i) const { return function.listEntry(out.list + i); }

uint32_t InstructionDecoder::addList(const std::vector<uint32_t> &slots) { return function.addList(slots); }

Status InstructionDecoder::registerList(size_t i, ValueType type, bool isSource) {
  const ptx::Operand &whole = operand(i);
  std::vector<ptx::Operand> parts = whole.kind == Kind::Vector ? whole.parts : std::vector<ptx::Operand>{whole};
  std::vector<uint32_t> slots;
  for (const ptx::Operand &part : parts) {
    FUSEC_ASSIGN_OR_RETURN(uint32_t slot, isSource ? sourceSlot(part, type) : destinationSlot(part, type));
    slots.push_back(slot);
  }
  out.count = static_cast<uint16_t>(slots.size());
  out.list = addList(slots);
  return {};
}

Status InstructionDecoder::address(size_t i, int to) {
  const ptx::Operand &memory = operand(i);
  if (memory.kind != Kind::Memory)
    return error("operand " + std::to_string(i + 1) + " is not an address in brackets");
  out.width = 8;
  out.immediate = memory.integer;
  if (memory.name.empty()) {
    out.src[to] = function.constantSlot(8, 0);
    return {};
  }
  if (const FunctionDecoder::Register *found = function.findRegister(memory.name, in.scope)) {
    if (found->bytes != 4 && found->bytes != 8)
      return error("the address '" + memory.name + "' is a " + bitsOf(found->bytes));
    out.width = found->bytes;
    out.src[to] = found->slot;
    return {};
  }
  FUSEC_ASSIGN_OR_RETURN(out.src[to], function.addressSlot(memory.name, 0, 8, in.scope, in.line));
  return {};
}

Status InstructionDecoder::labelTarget(size_t i) { return function.branchTo(operand(i).name, in.scope, in.line); }

} // namespace fusec::virtualgpu
