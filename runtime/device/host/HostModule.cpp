//===- HostModule.cpp --------------------------------------------------------===//

#include "runtime/device/host/HostModule.h"

#include <dlfcn.h>
#include <utility>

namespace fusec::runtime {

namespace {
std::string lastError() {
  const char *text = dlerror();
  return text ? text : "unknown error";
}
} // namespace

Result<HostModule> HostModule::load(const std::filesystem::path &library) {
  std::error_code ec;
  // An absolute path: dlopen searches the system's folders for a bare name.
  std::string path = std::filesystem::absolute(library, ec).string();
  if (ec || !std::filesystem::is_regular_file(path, ec))
    return notFound(library.string() + ": kernel library not found");
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return corruptData(library.string() + ": cannot load the kernel library: " + lastError());
  return HostModule(handle, library.string());
}

HostModule::~HostModule() {
  if (handle)
    dlclose(handle);
}

HostModule::HostModule(HostModule &&other) noexcept
    : handle(std::exchange(other.handle, nullptr)), path(std::move(other.path)) {}

HostModule &HostModule::operator=(HostModule &&other) noexcept {
  std::swap(handle, other.handle);
  std::swap(path, other.path);
  return *this;
}

Result<KernelEntry> HostModule::entry(const std::string &entry) const {
  void *symbol = dlsym(handle, entry.c_str());
  if (!symbol)
    return notFound(path + ": no kernel named '" + entry + "': " + lastError());
  return reinterpret_cast<KernelEntry>(symbol);
}

} // namespace fusec::runtime
