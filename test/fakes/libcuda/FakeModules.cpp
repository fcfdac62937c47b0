//===- FakeModules.cpp - modules and their functions ------------------------------===//

#include "test/fakes/libcuda/FakeDriver.h"

#include <cstring>
#include <span>

namespace fake {

static void writeLog(unsigned count, JitOption *options, void **values, const std::string &text) {
  char *buffer = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == ErrorLogBuffer)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == ErrorLogBufferSize)
      size = reinterpret_cast<size_t>(values[i]);
  }
  if (buffer && size > 0)
    std::strncpy(buffer, text.c_str(), size);
}

/// Each `.entry NAME(` of the text, with the number of its `.param`.
static std::map<std::string, size_t> entriesOf(const std::string &ptx) {
  std::map<std::string, size_t> entries;
  for (size_t at = ptx.find(".entry"); at != std::string::npos; at = ptx.find(".entry", at + 1)) {
    const size_t name = ptx.find_first_not_of(" \t\n", at + 6), open = ptx.find_first_of("({ \t\n", name);
    const size_t paren = ptx.find('(', open), close = ptx.find(')', open), brace = ptx.find('{', open);
    size_t count = 0;
    if (paren < brace)
      for (size_t p = ptx.find(".param", paren); p < close; p = ptx.find(".param", p + 1))
        ++count;
    entries[ptx.substr(name, open - name)] = count;
  }
  return entries;
}

CallResult cuModuleLoadDataEx(Module *out, const void *image, unsigned count, JitOption *options, void **values) {
  return withContext([&](ContextHandle &context) {
    const std::string ptx(static_cast<const char *>(image));
    auto bytes = std::as_bytes(std::span(ptx.data(), ptx.size()));
    Result<std::unique_ptr<GpuModule>> loaded = context.device->loadModule(bytes, "image");
    if (!loaded) {
      writeLog(count, options, values, loaded.status().message() + "\n");
      return codeOf(loaded.status());
    }
    auto module = std::make_unique<ModuleHandle>();
    module->module = std::move(*loaded);
    for (const auto &[name, parameters] : entriesOf(ptx)) {
      Result<GpuFunction *> function = module->module->function(name);
      if (!function)
        return codeOf(function.status());
      module->functions[name] = std::make_unique<FunctionHandle>(FunctionHandle{*function, name, parameters});
    }
    *out = module.release();
    return Success;
  });
}

CallResult cuModuleUnload(Module module) { return destroy(module); }

CallResult cuModuleGetFunction(Function *function, Module module, const char *name) {
  return withContext([&](ContextHandle &) {
    auto found = module->functions.find(name);
    if (found == module->functions.end())
      return NotFound;
    *function = found->second.get();
    return Success;
  });
}

CallResult cuModuleGetFunctionCount(unsigned *count, Module module) {
  *count = static_cast<unsigned>(module->functions.size());
  return Success;
}

CallResult cuModuleEnumerateFunctions(Function *functions, unsigned count, Module module) {
  for (const auto &[name, function] : module->functions)
    if (count-- > 0)
      *functions++ = function.get();
  return Success;
}

CallResult cuFuncGetName(const char **name, Function function) {
  *name = function->name.c_str();
  return Success;
}

CallResult cuFuncGetParamInfo(Function function, size_t index, size_t *offset, size_t *size) {
  *offset = index * sizeof(uint64_t);
  *size = sizeof(uint64_t);
  return index < function->parameters ? Success : InvalidValue;
}

CallResult cuFuncSetAttribute(Function function, FunctionAttribute, int value) {
  return withContext([&](ContextHandle &context) {
    if (value > context.device->info().sharedBytesPerBlock)
      return InvalidValue;
    function->allowedSharedBytes = value;
    return Success;
  });
}

} // namespace fake
