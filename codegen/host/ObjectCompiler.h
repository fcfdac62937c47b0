//===- ObjectCompiler.h - tile kernels to one shared library ---------------===//
//
//   module of tile.kernel -> LLVM IR -> short pass pipeline -> objects -> .so
//
// Kernels are compiled in parallel, each in an LLVM context of its own, and
// linked in the order of the module: the same input gives the same bytes. The
// library refers to libm by name only; every process that has the C++ runtime
// provides it.
//
//   HostOptions options;
//   options.lowering.symbols = {"T", "S", "B", "R", "C"};
//   auto kernels = compileHost(module, "avx512", "out/kernels/avx512.so", options);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/CompiledKernel.h"
#include "codegen/host/HostLowering.h"

#include "mlir/IR/BuiltinOps.h"

#include <filesystem>

namespace fusec::codegen {

struct HostOptions {
  LoweringOptions lowering;
  std::filesystem::path dumpKernelsTo; ///< If set: <kernel>.{mlir,<level>.ll,<level>.s} are written there.
  unsigned threads = 0;                ///< 0 = one per core.
};

/// Compiles every tile.kernel directly inside `module` for `level` (a name of
/// hostLevels) and writes the shared library. The result is in module order.
/// The module must not change meanwhile. Errors: InvalidArgument for an unknown
/// level, Unsupported for an op without lowering, Internal for LLVM and lld.
Result<std::vector<CompiledKernel>> compileHost(mlir::ModuleOp module, std::string_view level,
                                                const std::filesystem::path &library, const HostOptions &options);

} // namespace fusec::codegen
