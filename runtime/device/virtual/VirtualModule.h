//===- VirtualModule.h - PTX loaded on the virtual device --------------------===//
#pragma once

#include "runtime/device/gpu/GpuDevice.h"
#include "runtime/device/virtual/exec/Program.h"

#include <map>
#include <memory>
#include <string>

namespace fusec::virtualgpu {

class VirtualDevice;

class VirtualFunction : public runtime::GpuFunction {
public:
  explicit VirtualFunction(Program program) : program(std::move(program)) {}
  const std::string &name() const override { return program.name; }
  const Program program;
};

class VirtualModule : public runtime::GpuModule {
public:
  /// CorruptData or Unsupported names `name`, the kernel, the line and what it does not know.
  static Result<std::unique_ptr<VirtualModule>> load(VirtualDevice &device, std::span<const std::byte> image,
                                                     const std::string &name);
  Result<runtime::GpuFunction *> function(const std::string &name) override;

private:
  VirtualModule() = default;
  Status placeVariables(VirtualDevice &device, const ptx::Module &module);
  Status decodeKernels(const ptx::Module &module);

  std::string name;
  std::vector<runtime::GpuBuffer> variables;
  std::map<std::string, uint64_t> addresses;
  std::map<std::string, std::unique_ptr<VirtualFunction>> functions;
};

} // namespace fusec::virtualgpu
