//===- CublasLtHeaderTest.cpp - our declarations against the toolkit's cublasLt.h -----===//
//
// Built where a toolkit is installed; checked by the compiler.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CublasLtApi.h"

#include <cublasLt.h>

#include <gtest/gtest.h>

#include <type_traits>

using namespace fusec::runtime;

#define FUSEC_SAME_VALUE(ours, theirs) static_assert(static_cast<int>(cuda::ours) == static_cast<int>(theirs))
FUSEC_SAME_VALUE(BlasCompute32F, CUBLAS_COMPUTE_32F);
FUSEC_SAME_VALUE(BlasReal32F, CUDA_R_32F);
FUSEC_SAME_VALUE(BlasReal16F, CUDA_R_16F);
FUSEC_SAME_VALUE(BlasReal16BF, CUDA_R_16BF);
FUSEC_SAME_VALUE(BlasTransposed, CUBLAS_OP_T);
FUSEC_SAME_VALUE(BlasDescTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
FUSEC_SAME_VALUE(BlasDescEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
FUSEC_SAME_VALUE(BlasDescBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
FUSEC_SAME_VALUE(BlasEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
FUSEC_SAME_VALUE(BlasPrefMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);

static_assert(sizeof(cuda::BlasAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(cuda::BlasHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(cuda::BlasHeuristic, workspace) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(cuda::BlasHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

namespace {

/// Whether two functions take as many parameters of the same sizes and return as much.
template <typename Ours, typename Theirs> struct SameCall : std::false_type {};
template <typename R1, typename... A1, typename R2, typename... A2>
struct SameCall<R1 (*)(A1...), R2 (*)(A2...)>
    : std::bool_constant<sizeof...(A1) == sizeof...(A2) && sizeof(R1) == sizeof(R2)> {
  static constexpr bool sizes = [] {
    if constexpr (sizeof...(A1) == sizeof...(A2))
      return ((sizeof(A1) == sizeof(A2)) && ...);
    return false;
  }();
};

#define FUSEC_SAME_CALL(function)                                                                                      \
  static_assert(SameCall<decltype(cuda::CublasLtApi::function), decltype(&::function)>::value);                        \
  static_assert(SameCall<decltype(cuda::CublasLtApi::function), decltype(&::function)>::sizes)
FUSEC_SAME_CALL(cublasLtGetVersion);
FUSEC_SAME_CALL(cublasLtGetStatusName);
FUSEC_SAME_CALL(cublasLtCreate);
FUSEC_SAME_CALL(cublasLtDestroy);
FUSEC_SAME_CALL(cublasLtMatmulDescCreate);
FUSEC_SAME_CALL(cublasLtMatmulDescDestroy);
FUSEC_SAME_CALL(cublasLtMatmulDescSetAttribute);
FUSEC_SAME_CALL(cublasLtMatrixLayoutCreate);
FUSEC_SAME_CALL(cublasLtMatrixLayoutDestroy);
FUSEC_SAME_CALL(cublasLtMatmulPreferenceCreate);
FUSEC_SAME_CALL(cublasLtMatmulPreferenceDestroy);
FUSEC_SAME_CALL(cublasLtMatmulPreferenceSetAttribute);
FUSEC_SAME_CALL(cublasLtMatmulAlgoGetHeuristic);
FUSEC_SAME_CALL(cublasLtMatmul);

TEST(CublasLtHeader, ConstantsLayoutsAndParametersAreTheSame) { SUCCEED() << "checked by the compiler"; }

} // namespace
