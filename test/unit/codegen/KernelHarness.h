//===- KernelHarness.h - compile kernel text and call it --------------------===//
#pragma once

#include "codegen/host/ObjectCompiler.h"
#include "test/unit/codegen/GuardedBuffer.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::codegen {

/// A compiled and loaded module of tile kernels.
class LoadedKernels {
public:
  using Entry = void (*)(void *const *, const int64_t *, int64_t, int64_t, void *);

  /// Parses, verifies, compiles and loads; on failure `error()` says why.
  LoadedKernels(const std::string &text, std::string_view level, int64_t pageTokens = 64);
  ~LoadedKernels();
  LoadedKernels(const LoadedKernels &) = delete;
  const std::string &error() const { return message; }
  Entry entry(const std::string &name) const;
  int64_t scratchBytes(const std::string &name) const;
  std::string libraryBytes() const;
  /// Runs programs [0, programs) in two unequal parts. `symbols` as T, S, B, R, C.
  void run(const std::string &name, std::vector<void *> args, std::vector<int64_t> symbols, int64_t programs) const;

private:
  void *handle = nullptr;
  std::vector<CompiledKernel> kernels;
  std::string message, path;
};

/// The levels this machine can run.
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
