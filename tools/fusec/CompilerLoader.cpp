//===- CompilerLoader.cpp - Compiler.h by loading libfusec_compiler.so -------------===//
#include "tools/fusec/CompilerTable.h"
#include "tools/fusec/Version.h"

#include <cstdio>
#include <dlfcn.h>
#include <string_view>

namespace fusec {

namespace {

Result<const CompilerTable *> load() {
  std::filesystem::path path = compilerLibrary();
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return notFound("the compiler cannot be loaded: " + std::string(dlerror()));
  auto entry = reinterpret_cast<decltype(&fusec_compiler_table)>(dlsym(library, compilerTableSymbol));
  if (!entry)
    return corruptData("'" + path.string() + "' is not fusec's compiler");
  if (std::string_view(entry()->version) != FUSEC_VERSION)
    return corruptData("'" + path.string() + "' is version " + entry()->version + ", this tool is " FUSEC_VERSION);
  return entry();
}

/// Loaded on first use, never unloaded: LLVM keeps process-wide state.
const Result<const CompilerTable *> &compiler() {
  static const Result<const CompilerTable *> table = load();
  return table;
}

} // namespace

std::vector<std::string> compilerPhases() { return compiler() ? (*compiler())->phases() : std::vector<std::string>(); }

Result<std::filesystem::path> compileModel(const CompileOptions &options) {
  return compiler() ? (*compiler())->compile(options) : compiler().status();
}

Result<ExplainOutput> explainModel(const ExplainOptions &options) {
  return compiler() ? (*compiler())->explain(options) : compiler().status();
}

Result<std::vector<float>> referenceLogits(const ReferenceOptions &options) {
  return compiler() ? (*compiler())->reference(options) : compiler().status();
}

int optMain(const std::string &program, const std::vector<std::string> &arguments) {
  if (compiler())
    return (*compiler())->opt(program, arguments);
  std::fprintf(stderr, "fusec: %s\n", compiler().status().message().c_str());
  return 1;
}

} // namespace fusec
