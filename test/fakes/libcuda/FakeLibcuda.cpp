//===- FakeLibcuda.cpp - a CUDA driver on top of the virtual device --------------===//
//
// Exports what CudaDriverApi asks of libcuda, so that the code above the driver
// runs where there is none. Stricter than the real one where a mistake could
// hide: a call without a current context fails, and nodes of a graph are listed
// backwards. Cubins are refused; PTX is interpreted.
//
// Environment, read by cuInit and cuDriverGetVersion:
//   FUSEC_FAKE_CUDA_VERSION  13000; functions newer than this are missing
//   FUSEC_FAKE_CUDA_DEVICES  1
//   FUSEC_FAKE_CUDA_TARGET   sm_80
//
//===----------------------------------------------------------------------===//

#include "test/fakes/libcuda/FakeDriver.h"

#include <cstring>

namespace fake {

namespace {

struct FunctionRow {
  const char *name;
  int version;
  void *function;
};
const FunctionRow functionRows[] = {
#define FUSEC_CUDA_FUNCTION(name, version, parameters) {#name, version, reinterpret_cast<void *>(&fake::name)},
#include "runtime/device/cuda/CudaFunctions.def"
};

} // namespace

} // namespace fake

using namespace fusec::runtime::cuda;

#define FUSEC_EXPORT extern "C" __attribute__((visibility("default")))

FUSEC_EXPORT CallResult cuInit(unsigned) { return fake::deviceCount() == 0 ? NoDevice : Success; }

FUSEC_EXPORT CallResult cuDriverGetVersion(int *version) {
  *version = fake::driverVersion();
  return Success;
}

FUSEC_EXPORT CallResult cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long,
                                            int *) {
  *function = nullptr;
  for (const fake::FunctionRow &row : fake::functionRows)
    if (std::strcmp(row.name, symbol) == 0 && row.version <= version && row.version <= fake::driverVersion())
      *function = row.function;
  return *function ? Success : NotFound;
}

/// For tests: what has been created and not been given back.
FUSEC_EXPORT int fakeLiveObjects() { return liveObjects; }

/// Contexts that are current on the calling thread.
FUSEC_EXPORT int fakeContextDepth() { return fake::contextDepth(); }
