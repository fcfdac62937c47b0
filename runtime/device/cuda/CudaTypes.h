//===- CudaTypes.h - the driver's types that fusec uses -------------------------===//
//
// Declared here so that neither building nor running needs a CUDA header. The
// layouts are part of the driver's binary interface; test/unit/gpu compares them
// with cuda.h where a toolkit is installed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace fusec::runtime::cuda {

/// CUresult. Only the codes that are told apart have names.
enum CallResult : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  UnsupportedPtxVersion = 222,
  InvalidHandle = 400,
  NotFound = 500,
  IllegalAddress = 700,
  LaunchFailed = 719,
  StreamCaptureUnsupported = 900,
  StreamCaptureUnmatched = 903,
};

using DevicePtr = unsigned long long;
using DeviceId = int;
using Context = struct ContextHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Kernel = struct KernelHandle *;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Graph = struct GraphHandle *;
using GraphNode = struct GraphNodeHandle *;
using GraphExec = struct GraphExecHandle *;

/// CUdevice_attribute
enum DeviceAttribute : int {
  MultiprocessorCount = 16,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97,
};

/// CUmemGenericAllocationHandle
using MemoryHandle = unsigned long long;

/// CUmemLocation, CUmemLocationType
enum LocationKind : int { DeviceLocation = 1 };
struct MemoryLocation {
  LocationKind kind = DeviceLocation;
  int id = 0;
};

/// CUmemAllocationProp, CUmemAllocationType
enum MemoryKind : int { PinnedMemory = 1 };
struct MemoryProperties {
  MemoryKind kind = PinnedMemory;
  int requestedHandles = 0;
  MemoryLocation location;
  void *win32Attributes = nullptr;
  struct {
    unsigned char compression = 0, gpuDirectRdma = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};

/// CUmemAllocationGranularity_flags
enum GranularityKind : int { MinimumGranularity = 0 };

/// CUmemAccessDesc, CUmemAccess_flags
enum AccessKind : int { ReadWriteAccess = 3 };
struct MemoryAccess {
  MemoryLocation location;
  AccessKind kind = ReadWriteAccess;
};

/// CUfunction_attribute
enum FunctionAttribute : int { MaxDynamicSharedSizeBytes = 8 };

/// CUjit_option
enum JitOption : int { InfoLogBuffer = 3, InfoLogBufferSize = 4, ErrorLogBuffer = 5, ErrorLogBufferSize = 6 };

/// CUstream_flags, CUstreamCaptureMode
inline constexpr unsigned streamNonBlocking = 1;
enum CaptureMode : int { CaptureThreadLocal = 1 };

/// CUgraphNodeType
enum NodeType : int { KernelNode = 0 };

/// CUlaunchAttributeID
enum LaunchAttributeId : int { ClusterDimension = 4 };

/// CUlaunchAttributeValue: a union padded to 64 bytes, aligned to 8.
union LaunchAttributeValue {
  char pad[64];
  struct {
    unsigned x, y, z;
  } cluster;
  uint64_t alignment;
};

struct LaunchAttribute {
  LaunchAttributeId id;
  char pad[8 - sizeof(LaunchAttributeId)];
  LaunchAttributeValue value;
};

/// CUlaunchConfig
struct LaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParams {
  Function function;
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  void **parameters; ///< One pointer per kernel parameter, or null when `extra` is used.
  void **extra;
  Kernel kernel;
  Context context;
};

} // namespace fusec::runtime::cuda
