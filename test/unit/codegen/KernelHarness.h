//===- KernelHarness.h - compile kernel text and call it --------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/schema/StorageType.h"
#include "test/unit/codegen/GuardedBuffer.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fusec::codegen {

/// Kernels of a module, compiled for one level and ready to run. Which targets there are depends on the library a test
/// is linked with: FusecKernelHarness has the CPU levels, FusecCudaHarness the virtual GPU's.
class RunnableKernels {
public:
  using Entry = void (*)(void *const *, const int64_t *, int64_t, int64_t, void *);
  using Ranges = std::vector<std::pair<int64_t, int64_t>>;

  /// Compiles the tile kernels of `module`, whose sizes are `symbols` in that order.
  static Result<std::unique_ptr<RunnableKernels>> create(mlir::ModuleOp module, std::string_view level,
                                                         const std::vector<std::string> &symbols, int64_t pageTokens);
  virtual ~RunnableKernels() = default;

  /// Runs the programs of `ranges`, which cover the grid, one range after the other where the target does that. Each
  /// address starts a GuardedBuffer. Internal when the kernel wrote where it must not.
  virtual Status run(const std::string &name, const std::vector<void *> &args, const std::vector<int64_t> &sizes,
                     const Ranges &ranges) = 0;
  /// What was compiled, as bytes: the same input gives the same.
  virtual std::string bytes() const = 0;
  /// The host function of a kernel, and the scratch memory it needs; null on other targets.
  virtual Entry entry(const std::string &) const { return nullptr; }
  virtual int64_t scratchBytes(const std::string &) const { return 0; }
};

/// A compiled and loaded text of tile kernels.
class LoadedKernels {
public:
  using Entry = RunnableKernels::Entry;

  /// Parses, verifies, compiles and loads; on failure `error()` says why.
  LoadedKernels(const std::string &text, std::string_view level, int64_t pageTokens = 64);
  const std::string &error() const { return message; }
  Entry entry(const std::string &name) const { return kernels->entry(name); }
  int64_t scratchBytes(const std::string &name) const { return kernels->scratchBytes(name); }
  std::string libraryBytes() const { return kernels->bytes(); }
  /// Runs programs [0, programs) in two unequal parts. `symbols` as T, S, B, R, C.
  void run(const std::string &name, std::vector<void *> args, std::vector<int64_t> symbols, int64_t programs) const;

private:
  std::unique_ptr<RunnableKernels> kernels;
  std::string message;
};

/// The levels that kernels can run at here.
std::vector<std::string> runnableLevels();

/// Deterministic noise in [-1, 1), never zero.
float noise(uint64_t index);

/// A stored matrix of one type with random contents, its packed form and its exact values.
struct TestWeights {
  TestWeights(StorageType type, int64_t rows, int64_t columns, uint64_t seed);
  StorageType type;
  int64_t rows, columns;
  std::vector<std::byte> stored;
  GuardedBuffer packed;
  std::vector<float> values; ///< [rows, columns], by the reference dequantiser.
};

} // namespace fusec::codegen
