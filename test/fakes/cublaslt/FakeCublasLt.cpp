//===- FakeCublasLt.cpp - matrix products on the memory of any CUDA driver ----------===//
//
// Exports what CublasLtApi asks of libcublasLt. Operands are fetched through the
// driver that FUSEC_LIBCUDA names (the fake one: its checks see every byte that is
// read), multiplied on the CPU as the descriptors say, and sent back. Sums are made
// in f64 and rounded once, an order that no kernel has. Stricter than the library:
// an algorithm is only taken for the product it was chosen for, every address and
// row is aligned, and both ends of the workspace are overwritten.
//
// FUSEC_FAKE_CUBLASLT: "old" (CUDA 11), "no-handle", "no-algorithm", "fails" (the product).
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CublasLtApi.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace {

using namespace fusec::runtime::cuda;

constexpr BlasStatus notInitialized = 1, invalidValue = 7, executionFailed = 13, notSupported = 15;

std::atomic<int> liveObjects{0}, products{0};

struct Object {
  Object() { ++liveObjects; }
  virtual ~Object() { --liveObjects; }
};
struct Handle final : Object {};
struct Description final : Object {
  int compute = 0, scale = 0;
  int transposeA = 0;
  uint32_t epilogue = 1; // CUBLASLT_EPILOGUE_DEFAULT
  const void *bias = nullptr;
};
struct Layout final : Object {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  size_t elementBytes() const { return type == BlasReal32F ? 4 : 2; }
  size_t bytes() const { return (static_cast<size_t>(leading) * (columns - 1) + rows) * elementBytes(); }
};
struct Preference final : Object {
  size_t workspace = 0;
};

template <typename T> T &as(BlasObject object) { return *dynamic_cast<T *>(static_cast<Object *>(object)); }
template <typename T> bool is(BlasObject object) {
  return object && dynamic_cast<T *>(static_cast<Object *>(object)) != nullptr;
}
template <typename T> T *give(BlasObject *out) {
  auto *made = new T;
  *out = static_cast<Object *>(made);
  return made;
}
BlasStatus take(BlasObject object) {
  delete static_cast<Object *>(object);
  return 0;
}

bool isAsked(const char *what) {
  const char *asked = std::getenv("FUSEC_FAKE_CUBLASLT");
  return asked && std::string(asked) == what;
}

/// Copies through the driver, in the order of the stream.
class Driver {
public:
  Driver() {
    const char *path = std::getenv("FUSEC_LIBCUDA");
    void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto get = library ? reinterpret_cast<int (*)(const char *, void **, int, unsigned long long, int *)>(
                             dlsym(library, "cuGetProcAddress_v2"))
                       : nullptr;
    if (!get)
      return;
    get("cuMemcpyDtoHAsync", reinterpret_cast<void **>(&toHost), 12000, 0, nullptr);
    get("cuMemcpyHtoDAsync", reinterpret_cast<void **>(&toDevice), 12000, 0, nullptr);
    get("cuStreamSynchronize", reinterpret_cast<void **>(&synchronize), 12000, 0, nullptr);
  }
  bool fetch(std::vector<std::byte> &bytes, const void *from, void *stream) const {
    return toHost && toHost(bytes.data(), reinterpret_cast<uint64_t>(from), bytes.size(), stream) == 0 &&
           synchronize(stream) == 0;
  }
  bool send(void *to, const std::vector<std::byte> &bytes, void *stream) const {
    return toDevice && toDevice(reinterpret_cast<uint64_t>(to), bytes.data(), bytes.size(), stream) == 0 &&
           synchronize(stream) == 0;
  }

private:
  int (*toHost)(void *, uint64_t, size_t, void *) = nullptr;
  int (*toDevice)(uint64_t, const void *, size_t, void *) = nullptr;
  int (*synchronize)(void *) = nullptr;
};

float halfToFloat(uint16_t bits) {
  _Float16 value;
  std::memcpy(&value, &bits, sizeof value);
  return static_cast<float>(value);
}

double elementOf(const Layout &layout, const std::vector<std::byte> &bytes, size_t row, size_t column) {
  const size_t at = (column * static_cast<size_t>(layout.leading) + row) * layout.elementBytes();
  uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + at, layout.elementBytes());
  if (layout.type == BlasReal32F)
    return std::bit_cast<float>(bits);
  return layout.type == BlasReal16BF ? std::bit_cast<float>(bits << 16) : halfToFloat(static_cast<uint16_t>(bits));
}

/// D (m x n) = A^T (m x k) B (k x n): the only form there is.
bool fits(const Description &desc, const Layout &a, const Layout &b, const Layout &c, const Layout &d) {
  const bool isHalf = a.type == BlasReal16F || a.type == BlasReal16BF;
  auto isAligned = [](const Layout &l) {
    return l.leading >= static_cast<int64_t>(l.rows) && static_cast<size_t>(l.leading) * l.elementBytes() % 16 == 0 &&
           l.rows > 0 && l.columns > 0;
  };
  return desc.compute == BlasCompute32F && desc.scale == BlasReal32F && desc.transposeA == BlasTransposed && isHalf &&
         b.type == a.type && c.type == BlasReal32F && d.type == BlasReal32F && a.rows == b.rows &&
         a.columns == d.rows && b.columns == d.columns && c.rows == d.rows && c.columns == d.columns && isAligned(a) &&
         isAligned(b) && isAligned(c) && isAligned(d) && (desc.epilogue == 1 || desc.epilogue == BlasEpilogueBias);
}

uint64_t fingerprint(const Description &desc, const Layout &a, const Layout &b, const Layout &d) {
  uint64_t hash = desc.epilogue;
  for (uint64_t part :
       {static_cast<uint64_t>(a.type), a.rows, a.columns, b.columns, d.rows, static_cast<uint64_t>(a.leading),
        static_cast<uint64_t>(b.leading), static_cast<uint64_t>(d.leading)})
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u + 1;
  return hash;
}

bool isAligned(const void *pointer, uintptr_t to) { return reinterpret_cast<uintptr_t>(pointer) % to == 0; }

} // namespace

#define FUSEC_EXPORT extern "C" __attribute__((visibility("default")))

FUSEC_EXPORT size_t cublasLtGetVersion() { return isAsked("old") ? 111103 : 130002; }

FUSEC_EXPORT const char *cublasLtGetStatusName(BlasStatus status) {
  switch (status) {
  case notInitialized:
    return "CUBLAS_STATUS_NOT_INITIALIZED";
  case invalidValue:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case executionFailed:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  default:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
}

FUSEC_EXPORT BlasStatus cublasLtCreate(BlasObject *handle) {
  if (isAsked("no-handle"))
    return notInitialized;
  give<Handle>(handle);
  return 0;
}
FUSEC_EXPORT BlasStatus cublasLtDestroy(BlasObject handle) { return take(handle); }

FUSEC_EXPORT BlasStatus cublasLtMatmulDescCreate(BlasObject *desc, int compute, int scale) {
  auto *made = give<Description>(desc);
  made->compute = compute;
  made->scale = scale;
  return 0;
}
FUSEC_EXPORT BlasStatus cublasLtMatmulDescDestroy(BlasObject desc) { return take(desc); }

FUSEC_EXPORT BlasStatus cublasLtMatmulDescSetAttribute(BlasObject object, int attribute, const void *value,
                                                       size_t bytes) {
  if (!is<Description>(object))
    return invalidValue;
  auto &desc = as<Description>(object);
  auto set = [&](auto &member) {
    if (bytes != sizeof member)
      return invalidValue;
    std::memcpy(&member, value, bytes);
    return 0;
  };
  switch (attribute) {
  case BlasDescTransposeA:
    return set(desc.transposeA);
  case BlasDescEpilogue:
    return set(desc.epilogue);
  case BlasDescBiasPointer:
    return set(desc.bias);
  default:
    return notSupported;
  }
}

FUSEC_EXPORT BlasStatus cublasLtMatrixLayoutCreate(BlasObject *layout, int type, uint64_t rows, uint64_t columns,
                                                   int64_t leading) {
  auto *made = give<Layout>(layout);
  made->type = type;
  made->rows = rows;
  made->columns = columns;
  made->leading = leading;
  return 0;
}
FUSEC_EXPORT BlasStatus cublasLtMatrixLayoutDestroy(BlasObject layout) { return take(layout); }

FUSEC_EXPORT BlasStatus cublasLtMatmulPreferenceCreate(BlasObject *preference) {
  give<Preference>(preference);
  return 0;
}
FUSEC_EXPORT BlasStatus cublasLtMatmulPreferenceDestroy(BlasObject preference) { return take(preference); }
FUSEC_EXPORT BlasStatus cublasLtMatmulPreferenceSetAttribute(BlasObject preference, int attribute, const void *value,
                                                             size_t bytes) {
  if (!is<Preference>(preference) || attribute != BlasPrefMaxWorkspace || bytes != sizeof(size_t))
    return invalidValue;
  std::memcpy(&as<Preference>(preference).workspace, value, bytes);
  return 0;
}

FUSEC_EXPORT BlasStatus cublasLtMatmulAlgoGetHeuristic(BlasObject handle, BlasObject desc, BlasObject a, BlasObject b,
                                                       BlasObject c, BlasObject d, BlasObject preference, int wanted,
                                                       BlasHeuristic *results, int *found) {
  if (!is<Handle>(handle) || !is<Description>(desc) || !is<Layout>(a) || !is<Layout>(b) || !is<Layout>(c) ||
      !is<Layout>(d) || !is<Preference>(preference) || wanted < 1)
    return invalidValue;
  *found = 0;
  if (isAsked("no-algorithm") ||
      !fits(as<Description>(desc), as<Layout>(a), as<Layout>(b), as<Layout>(c), as<Layout>(d)))
    return notSupported;
  *results = {};
  results->algorithm.data[0] = fingerprint(as<Description>(desc), as<Layout>(a), as<Layout>(b), as<Layout>(d));
  results->workspace = as<Preference>(preference).workspace;
  *found = 1;
  return 0;
}

FUSEC_EXPORT BlasStatus cublasLtMatmul(BlasObject handle, BlasObject descObject, const void *alpha, const void *a,
                                       BlasObject aObject, const void *b, BlasObject bObject, const void *beta,
                                       const void *c, BlasObject cObject, void *d, BlasObject dObject,
                                       const BlasAlgorithm *algorithm, void *workspace, size_t workspaceBytes,
                                       void *stream) {
  if (!is<Handle>(handle) || !is<Description>(descObject) || !is<Layout>(aObject) || !is<Layout>(bObject) ||
      !is<Layout>(cObject) || !is<Layout>(dObject))
    return invalidValue;
  const auto &desc = as<Description>(descObject);
  const auto &aLayout = as<Layout>(aObject), &bLayout = as<Layout>(bObject), &cLayout = as<Layout>(cObject),
             &dLayout = as<Layout>(dObject);
  const float scale = *static_cast<const float *>(alpha), kept = *static_cast<const float *>(beta);
  const bool hasBias = desc.epilogue == BlasEpilogueBias;
  if (!fits(desc, aLayout, bLayout, cLayout, dLayout) || !algorithm ||
      algorithm->data[0] != fingerprint(desc, aLayout, bLayout, dLayout) || (hasBias && !desc.bias))
    return invalidValue;
  for (const void *matrix : {a, b, c, static_cast<const void *>(d), static_cast<const void *>(workspace)})
    if (!matrix || !isAligned(matrix, 256))
      return invalidValue;
  if (isAsked("fails"))
    return executionFailed;
  static const Driver driver;
  std::vector<std::byte> left(aLayout.bytes()), right(bLayout.bytes()), added(cLayout.bytes()), result(dLayout.bytes()),
      bias(dLayout.rows * sizeof(float));
  const std::vector<std::byte> garbage(std::min<size_t>(workspaceBytes, 4096), std::byte{0xAB});
  if (!driver.send(workspace, garbage, stream) ||
      !driver.send(static_cast<std::byte *>(workspace) + workspaceBytes - garbage.size(), garbage, stream) ||
      !driver.fetch(left, a, stream) || !driver.fetch(right, b, stream) ||
      (kept != 0 && !driver.fetch(added, c, stream)) || (hasBias && !driver.fetch(bias, desc.bias, stream)))
    return executionFailed;
  for (size_t column = 0; column < dLayout.columns; ++column)
    for (size_t row = 0; row < dLayout.rows; ++row) {
      double sum = 0;
      for (size_t k = 0; k < aLayout.rows; ++k)
        sum += elementOf(aLayout, left, k, row) * elementOf(bLayout, right, k, column);
      sum *= scale;
      if (kept != 0)
        sum += kept * elementOf(cLayout, added, row, column);
      float more = 0;
      std::memcpy(&more, bias.data() + row * sizeof(float), sizeof more);
      const auto rounded = static_cast<float>(sum + (hasBias ? more : 0));
      std::memcpy(result.data() + (column * static_cast<size_t>(dLayout.leading) + row) * sizeof(float), &rounded,
                  sizeof rounded);
    }
  ++products;
  return driver.send(d, result, stream) ? 0 : executionFailed;
}

/// For tests: what has not been given back, and products computed so far.
FUSEC_EXPORT int fakeCublasLtLiveObjects() { return liveObjects; }
FUSEC_EXPORT int fakeCublasLtProducts() { return products; }
