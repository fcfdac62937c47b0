//===- CudaModule.h - a loaded cubin or PTX text --------------------------------===//
//
// Owns the driver's module and the kernels looked up in it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/gpu/GpuDevice.h"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace fusec::runtime::cuda {

class CudaFunction final : public GpuFunction {
public:
  CudaFunction(CudaContext &context, Function handle, std::string name)
      : context(context), function(handle), kernelName(std::move(name)) {}

  const std::string &name() const override { return kernelName; }
  Function handle() const { return function; }

  /// Before each launch: counts the parameters (the driver reads as many as the
  /// kernel has, whatever it is given) and opts in to the shared memory.
  Status prepare(size_t parameters, uint32_t sharedBytes);

private:
  Status checkParameters(size_t given);

  CudaContext &context;
  Function function;
  std::string kernelName;
  std::mutex mutex; ///< Several streams launch one kernel; guards what follows.
  bool isChecked = false;
  size_t expectedParameters = 0; ///< Once checked.
  uint32_t allowedSharedBytes = 0;
};

class CudaModule final : public GpuModule {
public:
  /// CorruptData names `name` and carries the loader's log.
  static Result<std::unique_ptr<CudaModule>> load(std::shared_ptr<CudaContext> context,
                                                  std::span<const std::byte> image, const std::string &name);
  ~CudaModule() override;

  Result<GpuFunction *> function(const std::string &name) override;

private:
  CudaModule(std::shared_ptr<CudaContext> context, Module handle, std::string name)
      : context(std::move(context)), module(handle), name(std::move(name)) {}
  std::string listKernels() const;

  std::shared_ptr<CudaContext> context;
  Module module;
  std::string name;
  std::map<std::string, std::unique_ptr<CudaFunction>> functions;
};

} // namespace fusec::runtime::cuda
