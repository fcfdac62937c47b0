//===- HostModule.h - a library of compiled host kernels ---------------------===//
//
// Owns one dlopen handle. Move-only; entry points are valid while it lives.
// Loading runs code of the file: an artifact is as trusted as a program.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Launch.h"

#include <filesystem>
#include <string>

namespace fusec::runtime {

class HostModule {
public:
  /// NotFound when the file is missing, CorruptData when it does not load.
  static Result<HostModule> load(const std::filesystem::path &library);
  ~HostModule();
  HostModule(HostModule &&other) noexcept;
  HostModule &operator=(HostModule &&other) noexcept;
  HostModule(const HostModule &) = delete;
  HostModule &operator=(const HostModule &) = delete;

  /// The kernel named `entry`; NotFound names the library and the symbol.
  Result<KernelEntry> entry(const std::string &entry) const;

private:
  HostModule(void *handle, std::string path) : handle(handle), path(std::move(path)) {}

  void *handle = nullptr;
  std::string path;
};

} // namespace fusec::runtime
