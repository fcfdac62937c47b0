//===- CompilerExplain.cpp - what the compiler decided -----------------------------===//
#include "tools/fusec/Compiler.h"

namespace fusec {
Result<std::string> explainModel(const ExplainOptions &options) { return unsupported("explain"); }
} // namespace fusec
