//===- BlasSection.cpp - cuBLASLt's bf16 products, for comparison -------------------===//
//
// Where libcublasLt can be loaded: Y[T x n] = X[T x k] W[n x k]^T in bf16 with f32
// sums, the first algorithm its heuristic offers. Its types are declared here: no
// CUDA header at build time (constants as in cublasLt.h, the same in CUDA 12 and 13).
//
//===----------------------------------------------------------------------===//
#include "tools/gpu_acceptance/EventTimer.h"
#include "tools/gpu_acceptance/Section.h"

#include "runtime/device/gpu/OpenGpuDevice.h"

#include <dlfcn.h>

namespace fusec::acceptance {

using namespace fusec::runtime;

namespace {

using Handle = void *;
constexpr int compute32F = 68, real32F = 0, real16BF = 14, transposeA = 3, maxWorkspace = 1;
constexpr int64_t workspaceBytes = 32 << 20;

/// cublasLtMatmulHeuristicResult_t.
struct Heuristic {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

/// The functions used, by the names of the library.
struct Library {
  int (*create)(Handle *);
  int (*matmulDescCreate)(Handle *, int compute, int scale);
  int (*matmulDescSetAttribute)(Handle, int attribute, const void *, size_t);
  int (*layoutCreate)(Handle *, int type, uint64_t rows, uint64_t columns, int64_t leading);
  int (*preferenceCreate)(Handle *);
  int (*preferenceSetAttribute)(Handle, int attribute, const void *, size_t);
  int (*heuristic)(Handle, Handle op, Handle a, Handle b, Handle c, Handle d, Handle preference, int wanted,
                   Heuristic *, int *found);
  int (*matmul)(Handle, Handle op, const void *alpha, const void *a, Handle aLayout, const void *b, Handle bLayout,
                const void *beta, const void *c, Handle cLayout, void *d, Handle dLayout, const void *algorithm,
                void *workspace, size_t workspaceBytes, void *stream);
};

template <typename F> bool find(void *library, const char *name, F &function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

Result<Library> loadLibrary() {
  void *handle = nullptr;
  for (const char *name :
       {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", "/usr/local/cuda/lib64/libcublasLt.so"})
    if (!handle)
      handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return notFound("cuBLASLt: libcublasLt.so.13, .12 not found");
  Library library;
  const bool isWhole = find(handle, "cublasLtCreate", library.create) &&
                       find(handle, "cublasLtMatmulDescCreate", library.matmulDescCreate) &&
                       find(handle, "cublasLtMatmulDescSetAttribute", library.matmulDescSetAttribute) &&
                       find(handle, "cublasLtMatrixLayoutCreate", library.layoutCreate) &&
                       find(handle, "cublasLtMatmulPreferenceCreate", library.preferenceCreate) &&
                       find(handle, "cublasLtMatmulPreferenceSetAttribute", library.preferenceSetAttribute) &&
                       find(handle, "cublasLtMatmulAlgoGetHeuristic", library.heuristic) &&
                       find(handle, "cublasLtMatmul", library.matmul);
  return isWhole ? Result<Library>(library) : Result<Library>(unsupported("cuBLASLt: functions missing"));
}

Status check(int code, const char *what) {
  return code == 0 ? Status() : internalError(std::string(what) + ": cuBLAS status " + std::to_string(code));
}

struct Size {
  int64_t n, k;
};
constexpr Size sizes[] = {{4096, 4096}, {14336, 4096}, {4096, 14336}};
constexpr int64_t tokenCounts[] = {1, 8, 16, 64, 512};

class Blas {
public:
  Blas(GpuDevice &device, GpuStream &stream, Report &report) : device(device), stream(stream), report(report) {}
  Status open();
  Status measure(Size size, int64_t tokens);

private:
  GpuDevice &device;
  GpuStream &stream;
  Report &report;
  Library library{};
  Handle blas = nullptr, op = nullptr, preference = nullptr;
  GpuBuffer workspace;
};

Status Blas::open() {
  FUSEC_ASSIGN_OR_RETURN(library, loadLibrary());
  FUSEC_RETURN_IF_ERROR(check(library.create(&blas), "cublasLtCreate"));
  FUSEC_RETURN_IF_ERROR(check(library.matmulDescCreate(&op, compute32F, real32F), "cublasLtMatmulDescCreate"));
  const int transposed = 1;
  FUSEC_RETURN_IF_ERROR(
      check(library.matmulDescSetAttribute(op, transposeA, &transposed, sizeof transposed), "transA"));
  FUSEC_RETURN_IF_ERROR(check(library.preferenceCreate(&preference), "cublasLtMatmulPreferenceCreate"));
  const size_t most = workspaceBytes;
  FUSEC_RETURN_IF_ERROR(
      check(library.preferenceSetAttribute(preference, maxWorkspace, &most, sizeof most), "workspace"));
  FUSEC_ASSIGN_OR_RETURN(workspace, device.allocate(workspaceBytes, "cuBLASLt workspace"));
  return {};
}

/// Column by column, as the library sees it: W is k x n and transposed, X k x T, Y n x T. Weights are taken from
/// several copies in turn, so that the L2 cache never holds them.
Status Blas::measure(Size size, int64_t tokens) {
  const int64_t weightBytes = size.n * size.k * 2;
  const int64_t copies = (int64_t(256) << 20) / weightBytes + 1;
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer weights, device.allocate(copies * weightBytes, "weights"));
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer x, device.allocate(tokens * size.k * 2, "x"));
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer y, device.allocate(tokens * size.n * 2, "y"));
  FUSEC_RETURN_IF_ERROR(stream.fill(weights.address(), 0x3b, weights.bytes()));
  FUSEC_RETURN_IF_ERROR(stream.fill(x.address(), 0x3b, x.bytes()));
  Handle a = nullptr, b = nullptr, c = nullptr;
  const auto k = static_cast<uint64_t>(size.k), n = static_cast<uint64_t>(size.n), t = static_cast<uint64_t>(tokens);
  FUSEC_RETURN_IF_ERROR(check(library.layoutCreate(&a, real16BF, k, n, size.k), "layout of W"));
  FUSEC_RETURN_IF_ERROR(check(library.layoutCreate(&b, real16BF, k, t, size.k), "layout of X"));
  FUSEC_RETURN_IF_ERROR(check(library.layoutCreate(&c, real16BF, n, t, size.n), "layout of Y"));
  Heuristic best{};
  int found = 0;
  FUSEC_RETURN_IF_ERROR(check(library.heuristic(blas, op, a, b, c, c, preference, 1, &best, &found), "heuristic"));
  if (found == 0)
    return unsupported("cuBLASLt offers no algorithm");
  const float one = 1, zero = 0;
  const auto pointer = [](GpuAddress address) { return reinterpret_cast<void *>(address); };
  FUSEC_ASSIGN_OR_RETURN(std::vector<double> ms, timeByEvents(device, stream, false, [&](int i) {
                           const GpuAddress w = weights.address() + static_cast<uint64_t>(i % copies * weightBytes);
                           return check(library.matmul(blas, op, &one, pointer(w), a, pointer(x.address()), b, &zero,
                                                       pointer(y.address()), c, pointer(y.address()), c, best.algorithm,
                                                       pointer(workspace.address()), workspaceBytes,
                                                       stream.nativeHandle()),
                                        "cublasLtMatmul");
                         }));
  const std::string name =
      "cuBLASLt bf16 " + std::to_string(size.n) + "x" + std::to_string(size.k) + " T=" + std::to_string(tokens);
  report.measure({name, "GB/s", ratesOf(ms, double(weightBytes), 1e9), "weights' bytes, L2 cold"});
  report.measure({name, "TFLOP/s", ratesOf(ms, 2.0 * double(size.n * size.k * tokens), 1e12), "same repeats"});
  return {};
}

} // namespace

Status runBlas(const Settings &settings, Report &report) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuDevice> device, openGpuDevice(settings.device));
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuStream> stream, device->createStream());
  if (device->info().isVirtual || !stream->nativeHandle()) {
    report.note("not measured: the device is none of CUDA's");
    return {};
  }
  Blas blas(*device, *stream, report);
  Status status = blas.open();
  for (const Size &size : sizes)
    for (int64_t tokens : tokenCounts)
      if (status.ok())
        status = blas.measure(size, tokens);
  if (!status.ok())
    report.note("not measured: " + status.message());
  return {};
}

} // namespace fusec::acceptance
