//===- PluginLoader.cpp -----------------------------------------------------------------------===//
#include "passes/extend/PluginLoader.h"

#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>

namespace fusec {

namespace fs = std::filesystem;

namespace {

/// A field of PluginInfo that must be equal on both sides.
Status expectSame(const std::string &plugin, const char *what, const std::string &expected, const std::string &found) {
  if (expected == found)
    return {};
  return unsupported(plugin + " was built for " + what + " " + found + ", this is " + what + " " + expected +
                     "; build it again");
}

Status checkVersions(const PluginInfo &info, const std::string &plugin) {
  // Nothing else is read before the layout is known to be this one.
  FUSEC_RETURN_IF_ERROR(expectSame(plugin, "plugin interface", std::to_string(pluginAbi), std::to_string(info.abi)));
  FUSEC_RETURN_IF_ERROR(expectSame(plugin, "fusec", FUSEC_VERSION, info.fusecVersion ? info.fusecVersion : "?"));
  FUSEC_RETURN_IF_ERROR(expectSame(plugin, "LLVM", LLVM_VERSION_STRING, info.llvmVersion ? info.llvmVersion : "?"));
  if (!info.name || !*info.name || !info.version || !info.registerPasses)
    return invalidArgument(plugin + " leaves its name, version or register function empty");
  return {};
}

Result<std::unique_ptr<LoadedPlugin>> open(const fs::path &path) {
  const std::string plugin = "plugin '" + path.string() + "'";
  if (std::error_code error; !fs::is_regular_file(path, error))
    return notFound(plugin + ": no such file");
  // Lazy first: a plugin for another fusec may lack functions, and its version says so better.
  void *library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    return invalidArgument(plugin + " cannot be loaded: " + dlerror());
  auto entry = reinterpret_cast<const PluginInfo *(*)()>(dlsym(library, pluginSymbol));
  if (!entry)
    return invalidArgument(plugin + " is not a plugin of fusec: it has no symbol '" + pluginSymbol + "'");
  const PluginInfo *info = entry();
  if (!info)
    return invalidArgument(plugin + " is not a plugin of fusec: '" + pluginSymbol + "' returned nothing");
  FUSEC_RETURN_IF_ERROR(checkVersions(*info, plugin));
  if (!dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
    return invalidArgument(plugin + " cannot be loaded: " + dlerror());
  auto loaded = std::make_unique<LoadedPlugin>();
  loaded->path = path;
  loaded->name = info->name;
  loaded->version = info->version;
  info->registerPasses(loaded->registry);
  return loaded;
}

} // namespace

Result<const LoadedPlugin *> loadPlugin(const fs::path &given) {
  static std::mutex mutex;
  static std::map<fs::path, std::unique_ptr<LoadedPlugin>> plugins;
  std::error_code error;
  // Absolute: a bare name would be searched for in the system's library folders.
  const fs::path path = fs::absolute(given, error).lexically_normal();
  std::lock_guard lock(mutex);
  if (auto known = plugins.find(path); known != plugins.end())
    return known->second.get();
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<LoadedPlugin> loaded, open(path));
  return plugins.emplace(path, std::move(loaded)).first->second.get();
}

} // namespace fusec
