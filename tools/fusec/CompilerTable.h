//===- CompilerTable.h - what libfusec_compiler.so offers -------------------------===//
//
// The compiler half is a library of its own that the tool loads when a verb
// needs it: a warm start then neither maps LLVM nor pays for its memory. Both
// sides are built together, so C++ types may cross.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/fusec/Compiler.h"

namespace fusec {

struct CompilerTable {
  const char *version; ///< Must equal the tool's own.
  std::vector<std::string> (*phases)();
  Result<std::filesystem::path> (*compile)(const CompileOptions &);
  Result<ExplainOutput> (*explain)(const ExplainOptions &);
  Result<std::vector<float>> (*reference)(const ReferenceOptions &);
  int (*opt)(const std::string &, const std::vector<std::string> &);
};

/// The one symbol the library exports by this name.
inline constexpr const char *compilerTableSymbol = "fusec_compiler_table";

} // namespace fusec

extern "C" const fusec::CompilerTable *fusec_compiler_table();
