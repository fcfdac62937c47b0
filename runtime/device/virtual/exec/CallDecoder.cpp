//===- CallDecoder.cpp - calls, decoded in place -----------------------------===//
//
// The callee's registers are new for every call; its parameters are the caller's
// .param variables themselves.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/virtual/exec/FunctionDecoder.h"
#include "runtime/device/virtual/ops/Control.h"

namespace fusec::virtualgpu {
namespace {

Status callError(const ptx::Instruction &call, const std::string &what) {
  return unsupported("PTX line " + std::to_string(call.line) + ": " + what);
}

/// call (results), name, (arguments): any part but the name may be missing.
struct CallParts {
  const ptx::Operand *results = nullptr, *arguments = nullptr;
  std::string name;
};

CallParts split(const ptx::Instruction &call) {
  CallParts parts;
  for (const ptx::Operand &operand : call.operands) {
    if (operand.kind == ptx::Operand::Kind::Name && parts.name.empty())
      parts.name = operand.name;
    else if (operand.kind == ptx::Operand::Kind::List)
      (parts.name.empty() ? parts.results : parts.arguments) = &operand;
  }
  return parts;
}

} // namespace

Status FunctionDecoder::bindArguments(Frame &callee, const std::vector<ptx::Variable> &formal,
                                      const ptx::Operand *actual, const ptx::Instruction &call) {
  size_t given = actual ? actual->parts.size() : 0;
  if (given != formal.size())
    return callError(call, "a call gives " + std::to_string(given) + " values where " + std::to_string(formal.size()) +
                               " are declared");
  for (size_t i = 0; i < given; ++i) {
    const std::string &name = actual->parts[i].name;
    Result<uint32_t> slot = parameterSlot(name, 0, 1, 1, call.scope, call.line);
    if (!slot)
      return callError(call, "'" + name + "' is not a .param variable of this call");
    callee.parameters[formal[i].name] = *slot;
  }
  return {};
}

Status FunctionDecoder::inlineCall(const ptx::Instruction &call) {
  CallParts parts = split(call);
  if (parts.name == "vprintf" || parts.name == "__assertfail")
    return decodeBuiltinCall(call, parts.name, parts.arguments);
  const ptx::Function *callee = nullptr;
  for (const ptx::Function &candidate : module.functions)
    if (candidate.name == parts.name && !candidate.isDeclaration)
      callee = &candidate;
  if (!callee)
    return callError(call, "call of '" + parts.name + "', which has no body in this module");
  for (const Frame &outer : frames)
    if (outer.function == callee)
      return callError(call, "recursive call of '" + parts.name + "'");
  if (!call.guard.empty())
    return callError(call, "a predicated call");
  Frame made;
  made.function = callee;
  FUSEC_RETURN_IF_ERROR(bindArguments(made, callee->results, parts.results, call));
  FUSEC_RETURN_IF_ERROR(bindArguments(made, callee->parameters, parts.arguments, call));
  frames.push_back(std::move(made));
  Status status = decodeFrame();
  frames.pop_back();
  return status.ok() ? status : status.withContext("inlined function '" + parts.name + "'");
}

/// printf prints nothing here; a failed assert is a fault.
Status FunctionDecoder::decodeBuiltinCall(const ptx::Instruction &call, const std::string &name,
                                          const ptx::Operand *arguments) {
  if (name == "vprintf")
    return {};
  Instr out;
  InstructionDecoder decoder(*this, call, out, call.opcode.size());
  FUSEC_RETURN_IF_ERROR(decoder.guard());
  if (arguments && !arguments->parts.empty()) {
    FUSEC_ASSIGN_OR_RETURN(out.src[0], parameterSlot(arguments->parts[0].name, 0, 8, 1, call.scope, call.line));
  }
  out.run = assertHandler();
  program.code.push_back(out);
  program.origins.push_back({call.line, call.source, "call __assertfail"});
  return {};
}

} // namespace fusec::virtualgpu
