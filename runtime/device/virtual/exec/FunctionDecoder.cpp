//===- FunctionDecoder.cpp - ptx::Function to Program ------------------------===//

#include "runtime/device/virtual/exec/FunctionDecoder.h"
#include "runtime/device/virtual/exec/SpecialRegisters.h"
#include "runtime/device/virtual/memory/DeviceMemory.h"
#include "runtime/device/virtual/ops/Control.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

#include <algorithm>

namespace fusec::virtualgpu {
namespace {

int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

std::string atLine(int line) { return "PTX line " + std::to_string(line) + ": "; }

int product(const int (&v)[3]) { return v[0] * std::max(v[1], 1) * std::max(v[2], 1); }

} // namespace

Result<Program> decodeKernel(const ptx::Module &module, const SymbolAddresses &symbols, const ptx::Function &kernel) {
  Program program;
  program.name = kernel.name;
  program.maxThreads = product(kernel.maxThreads);
  program.requiredThreads = product(kernel.requiredThreads);
  Status status = FunctionDecoder(module, symbols, program).decodeEntry(kernel);
  if (!status.ok())
    return status.withContext("kernel '" + kernel.name + "'");
  return program;
}

Status FunctionDecoder::decodeEntry(const ptx::Function &kernel) {
  layOutParameters(kernel);
  frames.push_back({});
  frame().function = &kernel;
  FUSEC_RETURN_IF_ERROR(decodeFrame());
  Instr end;
  end.run = exitHandler();
  program.code.push_back(end);
  program.origins.push_back({kernel.line, {}, "end of the kernel"});
  placeDynamicShared();
  return {};
}

void FunctionDecoder::layOutParameters(const ptx::Function &kernel) {
  int64_t at = 0;
  for (const ptx::Variable &parameter : kernel.parameters) {
    at = roundUp(at, std::max<int64_t>(parameter.alignment, 1));
    program.parameters.push_back({parameter.name, at, parameter.bytes()});
    at += parameter.bytes();
  }
  program.parameterBytes = at;
}

/// Dynamic shared memory starts after the static variables, which are known only now.
void FunctionDecoder::placeDynamicShared() {
  if (!dynamicUses.empty()) {
    program.usesDynamicShared = true;
    program.staticSharedBytes = roundUp(program.staticSharedBytes, dynamicAlignment);
  }
  for (const DynamicUse &use : dynamicUses)
    program.constants[use.constant].bits = static_cast<uint64_t>(program.staticSharedBytes + use.addend);
}

Status FunctionDecoder::decodeFrame() {
  const ptx::Function &function = *frame().function;
  for (const ptx::Instruction &in : function.instructions) {
    frame().codeIndex.push_back(program.code.size());
    FUSEC_RETURN_IF_ERROR(decodeInstruction(in));
  }
  frame().codeIndex.push_back(program.code.size());
  resolveFixups();
  return {};
}

Status FunctionDecoder::decodeInstruction(const ptx::Instruction &in) {
  if (in.opcode == "call" || in.opcode == "call.uni")
    return inlineCall(in);
  const OpcodeTable &table = OpcodeTable::instance();
  const OpcodeTable::Form *form = table.findForm(in.opcode);
  auto [decode, rootLength] =
      form ? std::pair<OpcodeTable::Decode, size_t>{nullptr, in.opcode.size()} : table.findRoot(in.opcode);
  if (!form && !decode)
    return unsupported(atLine(in.line) + "the virtual device does not know the instruction '" + in.opcode + "'");
  Instr out;
  InstructionDecoder decoder(*this, in, out, rootLength);
  FUSEC_RETURN_IF_ERROR(decoder.guard());
  if (form)
    FUSEC_RETURN_IF_ERROR(decoder.decodeForm(*form));
  else
    FUSEC_RETURN_IF_ERROR(decode(decoder));
  if (!out.run)
    return Status(); // A declaration without effect.
  out.usedBytes = static_cast<uint8_t>(in.usedBytes);
  program.code.push_back(out);
  program.origins.push_back({in.line, in.source, in.opcode});
  return {};
}

// --- registers -----------------------------------------------------------------

uint32_t FunctionDecoder::allocateLanes(int64_t bytes) {
  uint32_t slot = program.registerBytes;
  program.registerBytes += static_cast<uint32_t>(roundUp(bytes * warpLanes, 64));
  return slot;
}

uint32_t FunctionDecoder::newRegister(ptx::Type type) {
  if (type != ptx::Type::Pred)
    return allocateLanes(std::max(ptx::byteSize(type), 2));
  if (predicateSlot % 64 == 0)
    predicateSlot = allocateLanes(2);
  uint32_t slot = predicateSlot;
  predicateSlot += 4;
  return slot;
}

/// The declaration that makes `name` visible, if any: exact, or prefix<count>.
static const ptx::RegisterDeclaration *declares(const ptx::Scope &scope, const std::string &name) {
  for (const ptx::RegisterDeclaration &declaration : scope.registers) {
    if (declaration.count == 0) {
      if (declaration.name == name)
        return &declaration;
      continue;
    }
    if (name.size() <= declaration.name.size() || !name.starts_with(declaration.name))
      continue;
    std::string digits = name.substr(declaration.name.size());
    bool number = std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (number && digits.size() < 9 && std::stoi(digits) < declaration.count)
      return &declaration;
  }
  return nullptr;
}

const FunctionDecoder::Register *FunctionDecoder::findRegister(const std::string &name, int scope) {
  for (int at = scope; at >= 0; at = frame().function->scopes[static_cast<size_t>(at)].parent) {
    auto known = frame().registers.find({at, name});
    if (known != frame().registers.end())
      return &known->second;
    const ptx::RegisterDeclaration *found = declares(frame().function->scopes[static_cast<size_t>(at)], name);
    if (!found)
      continue;
    uint8_t bytes = found->type == ptx::Type::Pred ? 0 : static_cast<uint8_t>(std::max(ptx::byteSize(found->type), 2));
    return &(frame().registers[{at, name}] = {newRegister(found->type), bytes});
  }
  return nullptr;
}

uint32_t FunctionDecoder::constantSlot(uint8_t bytes, uint64_t bits) {
  auto [at, isNew] = constants.try_emplace({bytes, bits}, 0u);
  if (isNew) {
    at->second = bytes ? allocateLanes(bytes) : newRegister(ptx::Type::Pred);
    program.constants.push_back({at->second, bytes, bits});
  }
  return at->second;
}

uint32_t FunctionDecoder::specialSlot(Special which, uint8_t bytes) {
  auto [at, isNew] = specials.try_emplace({which, bytes}, 0u);
  if (isNew) {
    at->second = allocateLanes(bytes);
    program.specials.push_back({at->second, bytes, which});
  }
  return at->second;
}

uint32_t FunctionDecoder::addList(const std::vector<uint32_t> &slots) {
  uint32_t first = static_cast<uint32_t>(program.lists.size());
  program.lists.insert(program.lists.end(), slots.begin(), slots.end());
  return first;
}

// --- variables and parameters ----------------------------------------------------

const ptx::Variable *FunctionDecoder::findVariable(const std::string &name, int scope, int &foundIn) {
  for (int at = scope; at >= 0; at = frame().function->scopes[static_cast<size_t>(at)].parent)
    for (const ptx::Variable &variable : frame().function->scopes[static_cast<size_t>(at)].variables)
      if (variable.name == name) {
        foundIn = at;
        return &variable;
      }
  foundIn = -1;
  for (const ptx::Variable &variable : module.variables)
    if (variable.name == name)
      return &variable;
  return nullptr;
}

int64_t FunctionDecoder::sharedOffset(const ptx::Variable &variable, int scope) {
  // A device function's static shared variable exists once, however often it is inlined.
  std::string key = scope < 0 ? variable.name : frame().function->name + ":" + std::to_string(scope) + variable.name;
  auto [at, isNew] = sharedOffsets.try_emplace(key, 0);
  if (isNew) {
    at->second = roundUp(program.staticSharedBytes, std::max<int64_t>(variable.alignment, 1));
    program.staticSharedBytes = at->second + variable.bytes();
    program.sharedVariables.push_back({variable.name, at->second, variable.bytes()});
  }
  return at->second;
}

Result<uint32_t> FunctionDecoder::variableSlot(const ptx::Variable &variable, int scope, int64_t offset,
                                               uint8_t bytes) {
  if (variable.space == ptx::Space::Shared && variable.elements == 0) {
    dynamicAlignment = std::max(dynamicAlignment, variable.alignment);
    uint32_t slot = allocateLanes(bytes);
    dynamicUses.push_back({program.constants.size(), offset});
    program.constants.push_back({slot, bytes, 0});
    return slot;
  }
  if (variable.space == ptx::Space::Shared)
    return constantSlot(bytes, static_cast<uint64_t>(sharedOffset(variable, scope) + offset));
  if (variable.space == ptx::Space::Local) {
    auto [at, isNew] = frame().variables.try_emplace({scope, variable.name}, 0);
    if (isNew) {
      at->second = roundUp(program.localBytes, std::max<int64_t>(variable.alignment, 1));
      program.localBytes = at->second + variable.bytes();
    }
    return constantSlot(bytes, static_cast<uint64_t>(at->second + offset));
  }
  auto known = symbols.find(variable.name);
  if (known == symbols.end())
    return notFound("variable '" + variable.name + "' has no address (extern?)");
  return constantSlot(bytes, known->second + static_cast<uint64_t>(offset));
}

Result<uint32_t> FunctionDecoder::addressSlot(const std::string &name, int64_t offset, uint8_t bytes, int scope,
                                              int line) {
  int foundIn = -1;
  if (const ptx::Variable *variable = findVariable(name, scope, foundIn)) {
    Result<uint32_t> slot = variableSlot(*variable, foundIn, offset, bytes);
    return slot ? std::move(slot) : Result<uint32_t>(slot.status().withContext("PTX line " + std::to_string(line)));
  }
  for (const Program::Parameter &parameter : program.parameters)
    if (parameter.name == name)
      return constantSlot(bytes, parameterBase + static_cast<uint64_t>(parameter.offset + offset));
  return corruptData(atLine(line) + "unknown register or variable '" + name + "'");
}

uint32_t FunctionDecoder::parameterVariable(const ptx::Variable &variable, int scope) {
  auto [at, isNew] = frame().parameterVariables.try_emplace({scope, variable.name}, 0u);
  if (isNew)
    at->second = allocateLanes(std::max<int64_t>(variable.bytes(), 8));
  return at->second;
}

Result<uint32_t> FunctionDecoder::parameterSlot(const std::string &name, int64_t offset, uint8_t bytes, int count,
                                                int scope, int line) {
  int foundIn = -1;
  const ptx::Variable *variable = findVariable(name, scope, foundIn);
  if (variable && variable->space == ptx::Space::Param)
    return parameterVariable(*variable, foundIn) + static_cast<uint32_t>(offset * warpLanes);
  auto bound = frame().parameters.find(name);
  if (bound != frame().parameters.end())
    return bound->second + static_cast<uint32_t>(offset * warpLanes);
  for (const Program::Parameter &parameter : program.parameters) {
    if (parameter.name != name)
      continue;
    if (offset < 0 || offset + bytes * count > parameter.bytes)
      return corruptData(atLine(line) + "reads past the end of parameter '" + name + "'");
    auto [at, isNew] = kernelParameters.try_emplace({name, offset, bytes, count}, 0u);
    if (isNew) {
      at->second = allocateLanes(std::max<int64_t>(bytes * count, 2));
      for (int i = 0; i < count; ++i)
        program.parameterSlots.push_back(
            {at->second + static_cast<uint32_t>(i * bytes * warpLanes), bytes, parameter.offset + offset + i * bytes});
    }
    return at->second;
  }
  return notFound(atLine(line) + "unknown parameter '" + name + "'");
}

// --- labels ------------------------------------------------------------------------

Result<size_t> FunctionDecoder::findLabel(const std::string &label, int scope, int line) {
  for (int at = scope; at >= 0; at = frame().function->scopes[static_cast<size_t>(at)].parent) {
    const auto &labels = frame().function->scopes[static_cast<size_t>(at)].labels;
    auto found = labels.find(label);
    if (found != labels.end())
      return found->second;
  }
  return corruptData(atLine(line) + "unknown label '" + label + "'");
}

Status FunctionDecoder::branchTo(const std::string &label, int scope, int line) {
  FUSEC_ASSIGN_OR_RETURN(size_t target, findLabel(label, scope, line));
  frame().fixups.push_back({program.code.size(), target, -1});
  return {};
}

Status FunctionDecoder::branchTableTo(const std::string &table, int scope, int line, Instr &out) {
  for (int at = scope; at >= 0; at = frame().function->scopes[static_cast<size_t>(at)].parent) {
    const auto &tables = frame().function->scopes[static_cast<size_t>(at)].branchTargets;
    auto found = tables.find(table);
    if (found == tables.end())
      continue;
    out.list = addList(std::vector<uint32_t>(found->second.size(), 0));
    out.count = static_cast<uint16_t>(found->second.size());
    for (size_t i = 0; i < found->second.size(); ++i) {
      FUSEC_ASSIGN_OR_RETURN(size_t target, findLabel(found->second[i], scope, line));
      frame().fixups.push_back({program.code.size(), target, static_cast<int>(out.list + i)});
    }
    return {};
  }
  return corruptData(atLine(line) + "unknown branch table '" + table + "'");
}

bool FunctionDecoder::branchToReturn() {
  if (insideKernel())
    return false;
  frame().fixups.push_back({program.code.size(), frame().function->instructions.size(), -1});
  return true;
}

void FunctionDecoder::resolveFixups() {
  for (const Fixup &fixup : frame().fixups) {
    size_t target = frame().codeIndex[fixup.target];
    if (fixup.listEntry >= 0)
      program.lists[static_cast<size_t>(fixup.listEntry)] = static_cast<uint32_t>(target);
    else
      program.code[fixup.instruction].immediate = static_cast<int64_t>(target);
  }
}

} // namespace fusec::virtualgpu
