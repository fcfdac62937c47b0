//===- Compiler.cpp - the compiler as the tool sees it ---------------------===//
#include "tools/fusec/Compiler.h"

#include <cstdio>

namespace fusec {

static Status notBuilt() {
  return unsupported("this build of fusec has no compiler: build with FUSEC_BUILD_COMPILER=ON");
}

std::vector<std::string> compilerPhases() { return {}; }

Result<std::filesystem::path> compileModel(const CompileOptions &options) { return notBuilt(); }

Result<std::string> explainModel(const ExplainOptions &options) { return notBuilt(); }

int optMain(const std::string &program, const std::vector<std::string> &arguments) {
  std::fprintf(stderr, "fusec: %s\n", notBuilt().message().c_str());
  return 1;
}

} // namespace fusec
