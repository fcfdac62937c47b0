//===- CublasLtApi.cpp - finding libcublasLt and its functions ----------------===//

#include "runtime/device/cuda/CublasLtApi.h"

#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace fusec::runtime::cuda {

namespace {

/// Before CUDA 12 the constants of some attributes differ.
constexpr size_t minimumVersion = 120000;

/// Never closed; a second dlopen gives the same handle.
Result<void *> openLibrary() {
  const char *named = std::getenv("FUSEC_CUBLASLT");
  std::vector<std::string> places = {"libcublasLt.so.13", "libcublasLt.so.12",
                                     "/usr/local/cuda/lib64/libcublasLt.so.13",
                                     "/usr/local/cuda/lib64/libcublasLt.so.12"};
  if (named && *named)
    places = {named};
  for (const std::string &place : places)
    if (void *handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL))
      return handle;
  const char *reason = dlerror();
  return notFound("no cuBLASLt: " + (named && *named ? places.front() : "libcublasLt.so.13, .12") + " not found (" +
                  (reason ? reason : "unknown error") + "); FUSEC_CUBLASLT names another file");
}

template <typename F> bool find(void *library, const char *name, F &function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

} // namespace

Result<std::shared_ptr<const CublasLtApi>> CublasLtApi::load() {
  FUSEC_ASSIGN_OR_RETURN(void *library, openLibrary());
  auto api = std::make_shared<CublasLtApi>();
#define FUSEC_FIND(function)                                                                                           \
  if (!find(library, #function, api->function))                                                                        \
  return unsupported("cuBLASLt has no " #function)
  FUSEC_FIND(cublasLtGetVersion);
  FUSEC_FIND(cublasLtGetStatusName);
  FUSEC_FIND(cublasLtCreate);
  FUSEC_FIND(cublasLtDestroy);
  FUSEC_FIND(cublasLtMatmulDescCreate);
  FUSEC_FIND(cublasLtMatmulDescDestroy);
  FUSEC_FIND(cublasLtMatmulDescSetAttribute);
  FUSEC_FIND(cublasLtMatrixLayoutCreate);
  FUSEC_FIND(cublasLtMatrixLayoutDestroy);
  FUSEC_FIND(cublasLtMatmulPreferenceCreate);
  FUSEC_FIND(cublasLtMatmulPreferenceDestroy);
  FUSEC_FIND(cublasLtMatmulPreferenceSetAttribute);
  FUSEC_FIND(cublasLtMatmulAlgoGetHeuristic);
  FUSEC_FIND(cublasLtMatmul);
#undef FUSEC_FIND
  const size_t version = api->cublasLtGetVersion(); // 130002 is 13.0.2
  api->name = "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100);
  if (version < minimumVersion)
    return unsupported(api->name + " is too old: expected 12.0 or newer");
  return std::shared_ptr<const CublasLtApi>(std::move(api));
}

Status CublasLtApi::check(BlasStatus status, const std::string &doing) const {
  if (status == 0)
    return {};
  const char *text = cublasLtGetStatusName(status);
  return internalError(doing + ": " + (text ? text : "cuBLAS status " + std::to_string(status)));
}

} // namespace fusec::runtime::cuda
