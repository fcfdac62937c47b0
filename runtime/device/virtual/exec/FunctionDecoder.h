//===- FunctionDecoder.h - ptx::Function to Program --------------------------===//
//
//   FUSEC_ASSIGN_OR_RETURN(Program program, decodeKernel(module, symbols, function));
//
// Calls of device functions are decoded in place, so a program has no call
// stack; recursion is therefore Unsupported.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/exec/Program.h"
#include "runtime/device/virtual/ptx/Ast.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace fusec::virtualgpu {

/// Device addresses of the module's .global and .const variables.
using SymbolAddresses = std::map<std::string, uint64_t>;

/// Errors name kernel, PTX line and opcode.
Result<Program> decodeKernel(const ptx::Module &module, const SymbolAddresses &symbols, const ptx::Function &kernel);

class FunctionDecoder {
public:
  FunctionDecoder(const ptx::Module &module, const SymbolAddresses &symbols, Program &program)
      : module(module), symbols(symbols), program(program) {}

  Status decodeEntry(const ptx::Function &kernel);

  // --- for InstructionDecoder ---------------------------------------------------
  struct Register {
    uint32_t slot = noSlot;
    uint8_t bytes = 0; ///< 0 = predicate.
  };
  /// Null when no register of that name is visible from the instruction.
  const Register *findRegister(const std::string &name, int scope);
  uint32_t constantSlot(uint8_t bytes, uint64_t bits);
  uint32_t specialSlot(Special which, uint8_t bytes);
  /// The address of a variable as 64-bit (or 32-bit) lanes.
  Result<uint32_t> addressSlot(const std::string &name, int64_t offset, uint8_t bytes, int scope, int line);
  /// `count` elements of `bytes` at `offset` of a parameter as lanes; NotFound when `name` is none.
  Result<uint32_t> parameterSlot(const std::string &name, int64_t offset, uint8_t bytes, int count, int scope,
                                 int line);
  /// The instruction's immediate (or list entry `entry`) becomes the code index of `label`.
  Status branchTo(const std::string &label, int scope, int line);
  Status branchTableTo(const std::string &table, int scope, int line, Instr &out);
  /// Replaces a call by the callee's body.
  Status inlineCall(const ptx::Instruction &call);
  /// ret: leaves the inlined function, or false at the kernel's top level.
  bool branchToReturn();
  uint32_t addList(const std::vector<uint32_t> &slots);
  uint32_t listEntry(uint32_t i) const { return program.lists[i]; }
  bool insideKernel() const { return frames.size() == 1; }
  /// The predicate that holds the carry of add.cc and friends.
  uint32_t carrySlot() {
    if (carry == noSlot)
      carry = newRegister(ptx::Type::Pred);
    return carry;
  }
  /// A slot of `bytes` per lane that nothing else uses.
  uint32_t allocateLanes(int64_t bytes);

private:
  struct Fixup {
    size_t instruction;
    size_t target; ///< Index of an AST instruction of the frame.
    int listEntry; ///< -1: the immediate.
  };
  struct Frame {
    const ptx::Function *function = nullptr;
    std::map<std::pair<int, std::string>, Register> registers;
    std::map<std::string, uint32_t> parameters;               ///< Of an inlined function, and of call scopes.
    std::map<std::pair<int, std::string>, int64_t> variables; ///< Offsets of .shared and .local.
    std::map<std::pair<int, std::string>, uint32_t> parameterVariables;
    std::vector<size_t> codeIndex;
    std::vector<Fixup> fixups;
  };
  Frame &frame() { return frames.back(); }
  Status decodeFrame();
  Status decodeInstruction(const ptx::Instruction &in);
  void resolveFixups();
  uint32_t newRegister(ptx::Type type);
  const ptx::Variable *findVariable(const std::string &name, int scope, int &foundIn);
  Result<uint32_t> variableSlot(const ptx::Variable &variable, int scope, int64_t offset, uint8_t bytes);
  int64_t sharedOffset(const ptx::Variable &variable, int scope);
  uint32_t parameterVariable(const ptx::Variable &variable, int scope);
  Result<size_t> findLabel(const std::string &label, int scope, int line);
  Status bindArguments(Frame &callee, const std::vector<ptx::Variable> &formal, const ptx::Operand *actual,
                       const ptx::Instruction &call);
  Status decodeBuiltinCall(const ptx::Instruction &call, const std::string &name, const ptx::Operand *arguments);
  void layOutParameters(const ptx::Function &kernel);
  void placeDynamicShared();

  const ptx::Module &module;
  const SymbolAddresses &symbols;
  Program &program;
  std::vector<Frame> frames;
  std::map<std::pair<uint8_t, uint64_t>, uint32_t> constants;
  std::map<std::pair<Special, uint8_t>, uint32_t> specials;
  std::map<std::tuple<std::string, int64_t, uint8_t, int>, uint32_t> kernelParameters;
  std::map<std::string, int64_t> sharedOffsets;
  struct DynamicUse {
    size_t constant; ///< Index of Program::constants.
    int64_t addend;
  };
  std::vector<DynamicUse> dynamicUses;
  int64_t dynamicAlignment = 16;
  uint32_t carry = noSlot;
  uint32_t predicateSlot = 0; ///< Next free predicate of the current 64-byte line.
};

} // namespace fusec::virtualgpu
