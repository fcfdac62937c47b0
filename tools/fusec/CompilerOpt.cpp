//===- CompilerOpt.cpp - fusec's mlir-opt ----------------------------------------===//
#include "ir/InitAllDialects.h"
#include "passes/Pipelines.h"
#include "tools/fusec/Compiler.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

namespace fusec {

int optMain(const std::string &program, const std::vector<std::string> &arguments) {
  registerPassesAndPipelines();
  mlir::registerTransformsPasses();
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  std::vector<char *> words = {const_cast<char *>(program.c_str())};
  for (const std::string &argument : arguments)
    words.push_back(const_cast<char *>(argument.c_str()));
  return mlir::asMainReturnCode(mlir::MlirOptMain(static_cast<int>(words.size()), words.data(),
                                                  "fusec's IR: parse, run passes, print\n", registry));
}

} // namespace fusec
