//===- FakeObjects.h - what the fake driver's handles stand for -----------------===//
//
// The objects behind the opaque handles of FakeLibcuda.cpp, each around an object
// of the virtual device. Live ones are counted, so that a test can see a leak.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/CudaTypes.h"
#include "runtime/device/gpu/GpuDevice.h"
#include "runtime/device/virtual/memory/MappedMemory.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace fusec::runtime::cuda {

/// Objects the program has not given back.
inline std::atomic<int> liveObjects{0};

struct Counted {
  Counted() { ++liveObjects; }
  ~Counted() { --liveObjects; }
  Counted(const Counted &) = delete;
  Counted &operator=(const Counted &) = delete;
};

/// Shows its memory once access is allowed.
struct FakeMapping {
  size_t bytes = 0;
  MemoryHandle handle = 0;
};

struct ContextHandle {
  std::unique_ptr<GpuDevice> device;
  std::map<DevicePtr, GpuBuffer> memory;
  std::map<MemoryHandle, std::unique_ptr<virtualgpu::MappedMemory>> handles;
  std::map<DevicePtr, size_t> ranges;
  std::map<DevicePtr, FakeMapping> mappings;
  MemoryHandle lastHandle = 0;
  std::mutex mutex;
};

struct FunctionHandle {
  GpuFunction *function = nullptr;
  std::string name;
  size_t parameters = 0;
  int allowedSharedBytes = 48 << 10;
};

struct ModuleHandle : Counted {
  std::unique_ptr<GpuModule> module;
  std::map<std::string, std::unique_ptr<FunctionHandle>> functions; ///< All entries of the PTX.
};

/// A captured launch; owns what its KernelNodeParams point to.
struct GraphNodeHandle {
  KernelNodeParams params{};
  GpuDim3 cluster;
  std::vector<uint64_t> values;
  std::vector<void *> pointers;
};

struct GraphHandle : Counted {
  std::shared_ptr<GpuGraph> graph;
  std::vector<std::unique_ptr<GraphNodeHandle>> nodes;
};

struct GraphExecHandle : Counted {
  std::shared_ptr<GpuGraph> graph;
};

struct StreamHandle : Counted {
  std::unique_ptr<GpuStream> stream;
  bool isCapturing = false;
  std::vector<std::unique_ptr<GraphNodeHandle>> captured;
};

struct EventHandle : Counted {
  std::unique_ptr<GpuEvent> event;
};

} // namespace fusec::runtime::cuda
