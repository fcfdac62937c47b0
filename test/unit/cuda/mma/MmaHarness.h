//===- MmaHarness.h - kernels of the device library, executed --------------------===//
//
// Compiles a text of test/unit/cuda/mma/kernels with some definitions, loads it
// into a device and runs its kernels.
//
//   FUSEC_REQUIRE_NVRTC(nvrtc);
//   MmaProgram program(*nvrtc, "sm_80", "weight_product.cu", {"-DSLICE=128"});
//   uint64_t y = program.outputs(rows * tokens);                   // NaN everywhere
//   program.launch("spread", {.grid = 7, .threads = 256, .shared = bytes}, {w, x, y, program.put(sizes)});
//   std::vector<float> found = program.floats(y, rows * tokens);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/unit/cuda/CudaTestSupport.h"

#include <memory>
#include <span>

namespace fusec::test {

/// Rounded to nearest even to bf16 or f16, as tensor cores take their operands.
enum class OperandType { Bfloat, Half };
const char *name(OperandType type);
uint16_t operandBits(OperandType type, float value);
float operandValue(OperandType type, float value);

struct MmaLaunch {
  int64_t grid = 1;
  int threads = 32;
  int64_t shared = 0;
};

/// A text of the device library's folder replaced before compiling: for mutants.
struct Mutation {
  std::string header, from, to;
};

/// What runs a text's kernels. Which one there is depends on what a test is linked with: VirtualMmaDevice.cpp, or the
/// host front end of test/hostcuda.
class MmaDevice {
public:
  struct Source {
    std::string name, text, target;
    std::vector<std::string> definitions;
    std::span<const codegen::CudaHeader> headers;
  };
  static Result<std::unique_ptr<MmaDevice>> create(const codegen::Nvrtc &nvrtc, const Source &source);
  virtual ~MmaDevice() = default;
  virtual Result<uint64_t> put(const void *from, int64_t bytes) = 0;
  virtual Status get(void *to, uint64_t at, int64_t bytes) = 0;
  virtual Status launch(const std::string &kernel, MmaLaunch shape, const std::vector<uint64_t> &parameters) = 0;
  virtual void setSeed(uint64_t seed) = 0;
  /// Of a kernel's launches so far; 0 where nobody counts.
  virtual double bankConflictFactor(const std::string &) const { return 0; }
};

class MmaProgram {
public:
  MmaProgram(const codegen::Nvrtc &nvrtc, const std::string &target, const std::string &text,
             std::vector<std::string> definitions, std::span<const Mutation> mutations = {});

  template <class T> uint64_t put(std::span<const T> values) {
    return putBytes(values.data(), static_cast<int64_t>(values.size_bytes()));
  }
  template <class T> uint64_t put(const std::vector<T> &values) { return put(std::span<const T>(values)); }
  /// `count` floats, all NaN.
  uint64_t outputs(int64_t count);
  std::vector<float> floats(uint64_t at, int64_t count) { return get<float>(at, count); }
  template <class T> std::vector<T> get(uint64_t at, int64_t count) {
    std::vector<T> values(count);
    getBytes(values.data(), at, count * static_cast<int64_t>(sizeof(T)));
    return values;
  }

  /// The order in which threads run in the next launches; an earlier error is forgotten.
  void setSeed(uint64_t seed);
  double bankConflictFactor(const std::string &kernel) const { return device->bankConflictFactor(kernel); }
  /// The error of the launch, with what the device's checks say.
  Status launch(const std::string &kernel, MmaLaunch shape, const std::vector<uint64_t> &parameters);

private:
  uint64_t putBytes(const void *from, int64_t bytes);
  void getBytes(void *to, uint64_t at, int64_t bytes);

  std::unique_ptr<MmaDevice> device; ///< Null when the text did not compile, which the test knows already.
};

/// FUSEC_FULL is set: every case, not only those that differ in kind.
bool runsAll();

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Uniform in [-1, 1), the same on every machine.
std::vector<float> randomFloats(int64_t count, uint32_t seed);

} // namespace fusec::test
