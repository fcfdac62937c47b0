//===- VirtualModule.cpp - PTX loaded on the virtual device ------------------===//

#include "runtime/device/virtual/VirtualModule.h"
#include "runtime/device/virtual/VirtualDevice.h"
#include "runtime/device/virtual/exec/FunctionDecoder.h"
#include "runtime/device/virtual/ptx/Parser.h"

#include <algorithm>
#include <cstring>

namespace fusec::virtualgpu {
namespace {

/// "sm_90a" -> 90 and whether it is architecture specific.
std::pair<int, bool> architecture(std::string_view target) {
  int number = 0;
  for (char c : target)
    if (c >= '0' && c <= '9')
      number = number * 10 + (c - '0');
  return {number, target.ends_with('a')};
}

Status checkTarget(const std::string &wanted, const std::string &device) {
  auto [need, special] = architecture(wanted);
  auto [have, extended] = architecture(device);
  if (need > have || (special && (!extended || need != have)))
    return unsupported("the PTX is for " + wanted + ", the virtual device is " + device);
  return {};
}

} // namespace

Result<std::unique_ptr<VirtualModule>> VirtualModule::load(VirtualDevice &device, std::span<const std::byte> image,
                                                           const std::string &name) {
  std::string_view text(reinterpret_cast<const char *>(image.data()), image.size());
  if (text.starts_with("\x7f"
                       "ELF"))
    return unsupported("module '" + name + "' is a cubin; the virtual device reads PTX");
  auto context = [&name](Status status) { return status.withContext("module '" + name + "'"); };
  Result<ptx::Module> parsed = ptx::parse(text);
  if (!parsed)
    return context(parsed.status());
  std::unique_ptr<VirtualModule> module(new VirtualModule());
  module->name = name;
  for (Status status : {checkTarget(parsed->target, device.settings().target), module->placeVariables(device, *parsed)})
    if (!status.ok())
      return context(status);
  Status decoded = module->decodeKernels(*parsed);
  if (!decoded.ok())
    return context(decoded);
  return module;
}

/// .global and .const variables live in device memory; addresses first, then values that hold addresses.
Status VirtualModule::placeVariables(VirtualDevice &device, const ptx::Module &module) {
  for (const ptx::Variable &variable : module.variables) {
    if ((variable.space != ptx::Space::Global && variable.space != ptx::Space::Const) || variable.isExtern)
      continue;
    FUSEC_ASSIGN_OR_RETURN(runtime::GpuBuffer buffer, device.allocate(variable.bytes(), name + ":" + variable.name));
    addresses[variable.name] = buffer.address();
    variables.push_back(std::move(buffer));
  }
  for (const ptx::Variable &variable : module.variables) {
    auto found = addresses.find(variable.name);
    if (found == addresses.end())
      continue;
    uint8_t *to = device.deviceMemory().host(found->second);
    std::memset(to, 0, static_cast<size_t>(variable.bytes()));
    std::copy(variable.initial.begin(), variable.initial.end(), to);
    std::memset(device.deviceMemory().flags(found->second), shadowValid | shadowInitialised,
                static_cast<size_t>(variable.bytes()));
    for (const ptx::Variable::Reference &reference : variable.references) {
      auto target = addresses.find(reference.symbol);
      if (target == addresses.end())
        return unsupported("variable '" + variable.name + "' holds the address of '" + reference.symbol + "'");
      uint64_t value = target->second + static_cast<uint64_t>(reference.addend);
      std::memcpy(to + reference.offset, &value, 8);
    }
  }
  return {};
}

Status VirtualModule::decodeKernels(const ptx::Module &module) {
  auto files = std::make_shared<const std::map<int, std::string>>(module.files);
  for (const ptx::Function &function : module.functions) {
    if (!function.isEntry || function.isDeclaration)
      continue;
    FUSEC_ASSIGN_OR_RETURN(Program program, decodeKernel(module, addresses, function));
    program.files = files;
    functions[function.name] = std::make_unique<VirtualFunction>(std::move(program));
  }
  return {};
}

Result<runtime::GpuFunction *> VirtualModule::function(const std::string &wanted) {
  auto found = functions.find(wanted);
  if (found != functions.end())
    return static_cast<runtime::GpuFunction *>(found->second.get());
  std::string known;
  for (const auto &[kernel, function] : functions)
    known += (known.empty() ? "" : ", ") + kernel;
  return notFound("module '" + name + "' has no kernel '" + wanted + "' (it has " + known + ")");
}

} // namespace fusec::virtualgpu
