//===- PluginLoader.h - opens plugins -----------------------------------------------------------===//
#pragma once

#include "passes/extend/Plugin.h"
#include "runtime/base/Status.h"

#include <filesystem>
#include <string>

namespace fusec {

struct LoadedPlugin {
  std::filesystem::path path;
  std::string name, version;
  PluginRegistry registry;
};

/// Opens a plugin, checks what it was built against and lets it register. A plugin stays loaded
/// for the life of the process; loading it again gives the same object. Thread-safe.
/// Errors, each naming the file: NotFound, InvalidArgument (not a plugin of fusec, or one that
/// cannot be loaded), Unsupported (built for another interface, fusec or LLVM).
Result<const LoadedPlugin *> loadPlugin(const std::filesystem::path &path);

} // namespace fusec
