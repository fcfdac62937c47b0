//===- CublasLtApi.h - cuBLASLt, loaded at run time ---------------------------===//
//
// The functions fusec calls and the constants it passes. Declared here: no CUDA
// header at build time; the values are those of cublasLt.h in CUDA 12 and 13, and
// CublasLtHeaderTest compares them where a toolkit is installed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace fusec::runtime::cuda {

/// cublasLtHandle_t and the library's other objects.
using BlasObject = void *;
/// cublasStatus_t; 0 is success.
using BlasStatus = int;

enum BlasConstant : int {
  BlasCompute32F = 68,      ///< CUBLAS_COMPUTE_32F
  BlasReal32F = 0,          ///< CUDA_R_32F
  BlasReal16F = 2,          ///< CUDA_R_16F
  BlasReal16BF = 14,        ///< CUDA_R_16BF
  BlasTransposed = 1,       ///< CUBLAS_OP_T
  BlasDescTransposeA = 3,   ///< CUBLASLT_MATMUL_DESC_TRANSA
  BlasDescEpilogue = 7,     ///< CUBLASLT_MATMUL_DESC_EPILOGUE
  BlasDescBiasPointer = 8,  ///< CUBLASLT_MATMUL_DESC_BIAS_POINTER
  BlasEpilogueBias = 4,     ///< CUBLASLT_EPILOGUE_BIAS
  BlasPrefMaxWorkspace = 1, ///< CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
};

/// cublasLtMatmulAlgo_t.
struct BlasAlgorithm {
  uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t.
struct BlasHeuristic {
  BlasAlgorithm algorithm;
  size_t workspace;
  BlasStatus state;
  float waves;
  int reserved[4];
};

struct CublasLtApi {
  /// Loads the library that FUSEC_CUBLASLT names, else the usual ones. NotFound when there is none, Unsupported for one
  /// that is older than CUDA 12 or lacks a function.
  static Result<std::shared_ptr<const CublasLtApi>> load();

  /// `doing`: "<doing>: CUBLAS_STATUS_...".
  Status check(BlasStatus status, const std::string &doing) const;

  std::string name; ///< "cuBLASLt 13.0".

  size_t (*cublasLtGetVersion)() = nullptr;
  const char *(*cublasLtGetStatusName)(BlasStatus) = nullptr;
  BlasStatus (*cublasLtCreate)(BlasObject *handle) = nullptr;
  BlasStatus (*cublasLtDestroy)(BlasObject handle) = nullptr;
  BlasStatus (*cublasLtMatmulDescCreate)(BlasObject *desc, int compute, int scale) = nullptr;
  BlasStatus (*cublasLtMatmulDescDestroy)(BlasObject desc) = nullptr;
  BlasStatus (*cublasLtMatmulDescSetAttribute)(BlasObject desc, int attribute, const void *value,
                                               size_t bytes) = nullptr;
  BlasStatus (*cublasLtMatrixLayoutCreate)(BlasObject *layout, int type, uint64_t rows, uint64_t columns,
                                           int64_t leading) = nullptr;
  BlasStatus (*cublasLtMatrixLayoutDestroy)(BlasObject layout) = nullptr;
  BlasStatus (*cublasLtMatmulPreferenceCreate)(BlasObject *preference) = nullptr;
  BlasStatus (*cublasLtMatmulPreferenceDestroy)(BlasObject preference) = nullptr;
  BlasStatus (*cublasLtMatmulPreferenceSetAttribute)(BlasObject preference, int attribute, const void *value,
                                                     size_t bytes) = nullptr;
  BlasStatus (*cublasLtMatmulAlgoGetHeuristic)(BlasObject handle, BlasObject desc, BlasObject a, BlasObject b,
                                               BlasObject c, BlasObject d, BlasObject preference, int wanted,
                                               BlasHeuristic *results, int *found) = nullptr;
  BlasStatus (*cublasLtMatmul)(BlasObject handle, BlasObject desc, const void *alpha, const void *a, BlasObject aLayout,
                               const void *b, BlasObject bLayout, const void *beta, const void *c, BlasObject cLayout,
                               void *d, BlasObject dLayout, const BlasAlgorithm *algorithm, void *workspace,
                               size_t workspaceBytes, void *stream) = nullptr;
};

} // namespace fusec::runtime::cuda
