//===- CudaHeaderTest.cpp - our declarations against the toolkit's cuda.h -----------===//
//
// Built where a toolkit is installed. Checked by the compiler: layouts, values,
// and for every function of CudaFunctions.def the number and the sizes of its
// parameters in the version asked for.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaTypes.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#include <gtest/gtest.h>

using namespace fusec::runtime;

#define FUSEC_SAME_FIELD(ours, ourField, theirs, theirField)                                                           \
  static_assert(offsetof(ours, ourField) == offsetof(theirs, theirField) &&                                            \
                sizeof(ours::ourField) == sizeof(theirs::theirField))

static_assert(sizeof(cuda::LaunchConfig) == sizeof(CUlaunchConfig));
FUSEC_SAME_FIELD(cuda::LaunchConfig, gridX, CUlaunchConfig, gridDimX);
FUSEC_SAME_FIELD(cuda::LaunchConfig, blockX, CUlaunchConfig, blockDimX);
FUSEC_SAME_FIELD(cuda::LaunchConfig, sharedBytes, CUlaunchConfig, sharedMemBytes);
FUSEC_SAME_FIELD(cuda::LaunchConfig, stream, CUlaunchConfig, hStream);
FUSEC_SAME_FIELD(cuda::LaunchConfig, attributes, CUlaunchConfig, attrs);
FUSEC_SAME_FIELD(cuda::LaunchConfig, numAttributes, CUlaunchConfig, numAttrs);
static_assert(sizeof(cuda::LaunchAttribute) == sizeof(CUlaunchAttribute));
FUSEC_SAME_FIELD(cuda::LaunchAttribute, id, CUlaunchAttribute, id);
FUSEC_SAME_FIELD(cuda::LaunchAttribute, value, CUlaunchAttribute, value);
static_assert(sizeof(cuda::LaunchAttributeValue) == sizeof(CUlaunchAttributeValue));
static_assert(sizeof(cuda::KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
FUSEC_SAME_FIELD(cuda::KernelNodeParams, function, CUDA_KERNEL_NODE_PARAMS_v2, func);
FUSEC_SAME_FIELD(cuda::KernelNodeParams, blockZ, CUDA_KERNEL_NODE_PARAMS_v2, blockDimZ);
FUSEC_SAME_FIELD(cuda::KernelNodeParams, sharedBytes, CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes);
FUSEC_SAME_FIELD(cuda::KernelNodeParams, parameters, CUDA_KERNEL_NODE_PARAMS_v2, kernelParams);
FUSEC_SAME_FIELD(cuda::KernelNodeParams, extra, CUDA_KERNEL_NODE_PARAMS_v2, extra);
static_assert(sizeof(cuda::MemoryProperties) == sizeof(CUmemAllocationProp));
FUSEC_SAME_FIELD(cuda::MemoryProperties, kind, CUmemAllocationProp, type);
FUSEC_SAME_FIELD(cuda::MemoryProperties, requestedHandles, CUmemAllocationProp, requestedHandleTypes);
FUSEC_SAME_FIELD(cuda::MemoryProperties, location, CUmemAllocationProp, location);
FUSEC_SAME_FIELD(cuda::MemoryProperties, flags, CUmemAllocationProp, allocFlags);
FUSEC_SAME_FIELD(cuda::MemoryLocation, id, CUmemLocation, id);
static_assert(sizeof(cuda::MemoryAccess) == sizeof(CUmemAccessDesc));
FUSEC_SAME_FIELD(cuda::MemoryAccess, kind, CUmemAccessDesc, flags);

#define FUSEC_SAME_VALUE(ours, theirs) static_assert(static_cast<int>(cuda::ours) == static_cast<int>(theirs))
FUSEC_SAME_VALUE(Success, CUDA_SUCCESS);
FUSEC_SAME_VALUE(InvalidValue, CUDA_ERROR_INVALID_VALUE);
FUSEC_SAME_VALUE(OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
FUSEC_SAME_VALUE(NotInitialized, CUDA_ERROR_NOT_INITIALIZED);
FUSEC_SAME_VALUE(NoDevice, CUDA_ERROR_NO_DEVICE);
FUSEC_SAME_VALUE(InvalidDevice, CUDA_ERROR_INVALID_DEVICE);
FUSEC_SAME_VALUE(InvalidImage, CUDA_ERROR_INVALID_IMAGE);
FUSEC_SAME_VALUE(NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
FUSEC_SAME_VALUE(InvalidPtx, CUDA_ERROR_INVALID_PTX);
FUSEC_SAME_VALUE(UnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
FUSEC_SAME_VALUE(InvalidHandle, CUDA_ERROR_INVALID_HANDLE);
FUSEC_SAME_VALUE(NotFound, CUDA_ERROR_NOT_FOUND);
FUSEC_SAME_VALUE(IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
FUSEC_SAME_VALUE(LaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
FUSEC_SAME_VALUE(StreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
FUSEC_SAME_VALUE(StreamCaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
FUSEC_SAME_VALUE(MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
FUSEC_SAME_VALUE(ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
FUSEC_SAME_VALUE(ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
FUSEC_SAME_VALUE(MaxSharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
FUSEC_SAME_VALUE(DeviceLocation, CU_MEM_LOCATION_TYPE_DEVICE);
FUSEC_SAME_VALUE(PinnedMemory, CU_MEM_ALLOCATION_TYPE_PINNED);
FUSEC_SAME_VALUE(MinimumGranularity, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
FUSEC_SAME_VALUE(ReadWriteAccess, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
FUSEC_SAME_VALUE(MaxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
FUSEC_SAME_VALUE(ErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
FUSEC_SAME_VALUE(ErrorLogBufferSize, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
FUSEC_SAME_VALUE(InfoLogBuffer, CU_JIT_INFO_LOG_BUFFER);
FUSEC_SAME_VALUE(InfoLogBufferSize, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
FUSEC_SAME_VALUE(streamNonBlocking, CU_STREAM_NON_BLOCKING);
FUSEC_SAME_VALUE(CaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
FUSEC_SAME_VALUE(KernelNode, CU_GRAPH_NODE_TYPE_KERNEL);
FUSEC_SAME_VALUE(ClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);

namespace {

template <typename Ours, typename Theirs> struct SameShape : std::false_type {};
template <typename... A, typename... B>
struct SameShape<cuda::CallResult (*)(A...), CUresult (*)(B...)>
    : std::bool_constant<sizeof...(A) == sizeof...(B) &&
                         ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>) && ...)> {};

template <typename Ours, typename Theirs> constexpr bool hasSameShape() {
  if constexpr (SameShape<Ours, Theirs>::value)
    return true;
  return false;
}

} // namespace

namespace fusec::runtime::cuda {

#define FUSEC_CUDA_FUNCTION(name, version, parameters)                                                                 \
  static_assert(hasSameShape<CallResult(*) parameters, PFN_##name##_v##version>(), #name);
#include "runtime/device/cuda/CudaFunctions.def"

} // namespace fusec::runtime::cuda

TEST(CudaHeader, DeclarationsAreThoseOfTheToolkit) { SUCCEED() << "checked by the compiler"; }
