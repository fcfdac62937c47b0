//===- CompilerTable.cpp - the entry of libfusec_compiler.so ----------------------===//
#include "tools/fusec/CompilerTable.h"

#include "tools/fusec/Version.h"

extern "C" const fusec::CompilerTable *fusec_compiler_table() {
  static const fusec::CompilerTable table = {FUSEC_VERSION,       fusec::compilerPhases,  fusec::compileModel,
                                             fusec::explainModel, fusec::referenceLogits, fusec::optMain};
  return &table;
}
