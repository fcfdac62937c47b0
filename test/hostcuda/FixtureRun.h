//===- FixtureRun.h - the emitted texts of test/unit/cuda/texts, ready to run -----===//
//
//   FixtureRun run(fixtures[0]);                      // with random arguments
//   Status status = run.launch(text, headers);        // the text, or a changed one
//   run.memory()                                      // what it left
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/hostcuda/HostCudaKernel.h"

namespace fusec::hostcuda {

/// How an argument is filled.
enum class Fill { Floats, Halves, Bytes, Nan, Zeros };

struct FixtureArgument {
  int64_t bytes;
  Fill fill;
  std::vector<int> numbers = {}; ///< Instead, where there are some.
};

struct Fixture {
  const char *file, *entry, *target;
  unsigned grid, threads, sharedBytes;
  std::vector<int64_t> sizes;
  std::vector<FixtureArgument> arguments;
};

/// By file name: a norm, packed products, an append; products, and attention for two targets, on tensor cores.
const Fixture &fixtureOf(const std::string &file);
std::string textOf(const Fixture &fixture);

class FixtureRun {
public:
  explicit FixtureRun(const Fixture &fixture);
  /// Compiles the text and runs it on fresh arguments.
  Status launch(const std::string &text, std::span<const codegen::CudaHeader> headers, uint64_t seed = 0);
  /// The arguments' bytes after the launch.
  const std::vector<std::vector<std::byte>> &memory() const { return buffers; }

private:
  const Fixture &fixture;
  std::vector<std::vector<std::byte>> buffers;
};

} // namespace fusec::hostcuda
