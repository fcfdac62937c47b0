//===- Compiler.h - the compiler as the tool sees it -----------------------===//
//
// The one border between the command line and the compiler half: nothing else
// in tools/fusec includes MLIR, and nothing here mentions it.
//
//   CompileOptions options;
//   options.model = "model.gguf";
//   options.output = "model.fusec";
//   Result<std::filesystem::path> artifact = compileModel(options);
//
// Threading: functions are reentrant; two compiles may run at once into
// different output directories.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fusec {

struct CompileOptions {
  std::filesystem::path model;         ///< GGUF file (any part of a split one) or Hugging Face directory.
  std::filesystem::path output;        ///< Artifact directory to create; its parent must exist.
  std::vector<std::string> levels;     ///< CPU levels ("avx2", "avx512"); empty = the host's best one.
  std::filesystem::path dumpPhasesTo;  ///< Directory for the IR after each phase; empty = none.
  std::filesystem::path dumpKernelsTo; ///< Directory for each kernel's IR and LLVM IR; empty = none.
  std::filesystem::path remarksFile;   ///< YAML file of all decisions; empty = none.
  std::string compileFrom;             ///< Phase that `model` (then an .mlir file) is at; empty = a model file.
  std::string compileTo;               ///< Last phase to run; then `output` is an .mlir file; empty = all.
  std::vector<std::string> mlirFlags;  ///< MLIR's own flags, e.g. "--mlir-print-ir-after-all".
  /// Called on the compiling thread as work advances; `fraction` runs from 0 to 1 over all stages.
  std::function<void(std::string_view stage, double fraction)> progress;
};

/// The library the compiler half lives in; its content is part of every cache key.
std::filesystem::path compilerLibrary();

/// Names of the phases for compileFrom and compileTo, in order.
std::vector<std::string> compilerPhases();

/// Compiles a model file into an artifact directory and returns `options.output`.
/// Errors name the file, tensor or key, with expected and found.
Result<std::filesystem::path> compileModel(const CompileOptions &options);

struct ExplainOptions {
  std::filesystem::path model;     ///< GGUF file, Hugging Face directory or artifact directory.
  std::vector<std::string> levels; ///< As in CompileOptions.
  bool json = false;               ///< Machine-readable instead of text.
  std::string kernel;              ///< Only this kernel, with its IR; empty = the overview.
  std::function<void(std::string_view stage, double fraction)> progress;
};

/// What the compiler decided: kernels, the ops fused into each, bytes read and written against the
/// minimum, refused fusions with reasons. Returns the report, ready to print.
Result<std::string> explainModel(const ExplainOptions &options);

/// fusec's mlir-opt: all dialects and passes registered. `arguments` are the words after
/// `fusec opt`. Prints by itself, as MLIR's tools do; returns the exit code.
int optMain(const std::string &program, const std::vector<std::string> &arguments);

} // namespace fusec
