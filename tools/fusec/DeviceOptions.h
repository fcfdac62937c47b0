//===- DeviceOptions.h - which device runs a model, and what it is compiled for ---===//
//
// `--device`, `--target`, `--math`, `--library-products` and `--no-graphs`, which run, bench, eval and
// verify share. Either of the first two decides the other:
//
//   --target cuda            runs on the first GPU
//   --device cuda:1          compiles for what that GPU is
//   --device virtual:sm_90a  compiles for sm_90a
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace fusec {

struct DeviceOptions {
  std::string device; ///< Empty when it was not given.
  std::string target; ///< Likewise.
  std::string math = "auto";
  std::string libraryProducts; ///< Empty when it was not given: off, or what an artifact was compiled with.
  bool graphs = true;

  void declare(CLI::App &app);

  /// "host", "cuda:1", "virtual", ...: a name for EngineOptions::device. InvalidArgument when device and target do not
  /// go together, or `level`, which is the CPU's, is not empty for a GPU.
  Result<std::string> deviceName(const std::string &level) const;

  /// "host", "cuda:sm_80,sm_90a": for CompileOptions::target. Asks a real GPU what it is, unless the target was given;
  /// errors are those of opening it.
  Result<std::string> compileTarget(const std::string &level) const;

  bool isOnGpu() const;
};

} // namespace fusec
