//===- GpuDevice.h - a device that runs CUDA kernels -------------------------===//
//
// What the executor asks of a GPU: memory, modules, streams, events, and graphs
// captured from a stream. Two devices implement it: the CUDA driver
// (runtime/device/cuda) and the virtual device (runtime/device/virtual), which
// interprets PTX and checks every access. Each object holds one handle, is owned
// by whoever created it and must die before its device; there is no current
// device.
//
//   FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuDevice> device, openGpuDevice("virtual"));
//   FUSEC_ASSIGN_OR_RETURN(GpuBuffer x, device->allocate(4096, "x"));
//   FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuStream> stream, device->createStream());
//   FUSEC_RETURN_IF_ERROR(stream->copyToDevice(x.address(), host, 4096));
//   FUSEC_RETURN_IF_ERROR(stream->launch(launch));
//   FUSEC_RETURN_IF_ERROR(stream->synchronize());
//
// Work of one stream runs in order. What a kernel does wrong is reported by the
// next synchronize() of its stream (or by launch()): the device is then unusable.
//
// Threading: a device may be used by several threads, each other object by one
// at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::runtime {

/// An address in device memory; 0 is none.
using GpuAddress = uint64_t;

struct GpuInfo {
  std::string name;          ///< "NVIDIA H200", "virtual sm_80".
  int computeCapability = 0; ///< 10 * major + minor.
  int multiprocessors = 0;
  int64_t memoryBytes = 0;         ///< In all.
  int64_t sharedBytesPerBlock = 0; ///< The most a kernel may ask for (opt-in limit).
  int driverVersion = 0;           ///< 1000 * major + 10 * minor; 0 for the virtual device.
  bool isVirtual = false;
};

struct GpuDim3 {
  uint32_t x = 1, y = 1, z = 1;
  bool operator==(const GpuDim3 &) const = default;
};

/// A kernel of a module. Valid while the module lives.
class GpuFunction {
public:
  virtual ~GpuFunction() = default;
  virtual const std::string &name() const = 0;
};

class GpuModule {
public:
  virtual ~GpuModule() = default;
  /// NotFound names the kernel and lists what the module has.
  virtual Result<GpuFunction *> function(const std::string &name) = 0;
};

/// One launch. Every kernel parameter is a 64-bit word: a device address.
struct GpuLaunch {
  GpuFunction *function = nullptr;
  GpuDim3 grid, block, cluster;
  uint32_t sharedBytes = 0;             ///< Dynamic shared memory.
  std::span<const uint64_t> parameters; ///< Copied before launch() returns.
};

/// What a captured graph holds of one launch, for comparison with the plan.
struct GpuGraphLaunch {
  std::string function;
  GpuDim3 grid, block, cluster;
  uint32_t sharedBytes = 0;
  std::vector<uint64_t> parameters;
  bool operator==(const GpuGraphLaunch &) const = default;
};

class GpuGraph {
public:
  virtual ~GpuGraph() = default;
  /// The kernel launches, in the order they were captured.
  virtual Result<std::vector<GpuGraphLaunch>> launches() const = 0;
};

class GpuEvent {
public:
  virtual ~GpuEvent() = default;
  /// Blocks until the event has happened.
  virtual Status synchronize() = 0;
  /// Milliseconds from `start` to this; both must have happened.
  virtual Result<double> millisecondsSince(const GpuEvent &start) const = 0;
};

class GpuStream {
public:
  virtual ~GpuStream() = default;
  /// Asynchronous: `from` and `to` must stay valid until the stream gets there.
  virtual Status copyToDevice(GpuAddress to, const void *from, int64_t bytes) = 0;
  virtual Status copyToHost(void *to, GpuAddress from, int64_t bytes) = 0;
  virtual Status copyOnDevice(GpuAddress to, GpuAddress from, int64_t bytes) = 0;
  virtual Status fill(GpuAddress to, uint8_t value, int64_t bytes) = 0;
  virtual Status launch(const GpuLaunch &launch) = 0;
  virtual Status record(GpuEvent &event) = 0;
  virtual Status wait(GpuEvent &event) = 0;
  /// Blocks until everything so far is done; the first error since the last call.
  virtual Status synchronize() = 0;

  /// From here on work is recorded, not run, until endCapture().
  virtual Status beginCapture() = 0;
  /// The recorded work, ready to be launched any number of times.
  virtual Result<std::unique_ptr<GpuGraph>> endCapture() = 0;
  virtual Status launchGraph(GpuGraph &graph) = 0;

  /// The driver's handle (CUstream) for libraries such as cuBLASLt; null for devices without one.
  virtual void *nativeHandle() const = 0;
};

/// Memory in pages that show at any number of places of a range of addresses.
class GpuMappedPages {
public:
  virtual ~GpuMappedPages() = default;
  /// Of the range's first page; the others follow.
  virtual GpuAddress address() const = 0;
  /// From here on page `at` of the range shows `page`. Work that uses what it showed must be finished.
  virtual Status map(int64_t at, int64_t page) = 0;
};

struct GpuMappedPagesShape {
  int64_t pageBytes = 0;  ///< A multiple of what the device maps (2 MiB).
  int64_t numPages = 0;   ///< Of memory.
  int64_t rangePages = 0; ///< Of addresses; nothing shows there at first.
};

class GpuDevice;
class GpuProducts;

/// Owns device memory; move-only.
class GpuBuffer {
public:
  GpuBuffer() = default;
  GpuBuffer(GpuDevice &device, GpuAddress at, int64_t size) : device(&device), at(at), size(size) {}
  ~GpuBuffer() { reset(); }
  GpuBuffer(GpuBuffer &&other) noexcept { *this = std::move(other); }
  GpuBuffer &operator=(GpuBuffer &&other) noexcept;
  GpuAddress address() const { return at; }
  int64_t bytes() const { return size; }
  void reset();

private:
  GpuDevice *device = nullptr;
  GpuAddress at = 0;
  int64_t size = 0;
};

class GpuDevice {
public:
  virtual ~GpuDevice() = default;
  virtual const GpuInfo &info() const = 0;

  /// Aligned to 256 bytes, not initialised; an empty buffer has an address, too. ResourceExhausted names `owner`, the
  /// size and what is free.
  virtual Result<GpuBuffer> allocate(int64_t bytes, std::string_view owner) = 0;
  /// Bytes free for allocate().
  virtual Result<int64_t> freeBytes() const = 0;
  /// ResourceExhausted names `owner` and the size; Unsupported when the device cannot map, or not such pages.
  virtual Result<std::unique_ptr<GpuMappedPages>> reserveMapped(const GpuMappedPagesShape &shape,
                                                                std::string_view owner) = 0;
  /// PTX text or a cubin. CorruptData names `name` and what the loader says.
  virtual Result<std::unique_ptr<GpuModule>> loadModule(std::span<const std::byte> image, const std::string &name) = 0;
  virtual Result<std::unique_ptr<GpuStream>> createStream() = 0;
  virtual Result<std::unique_ptr<GpuEvent>> createEvent() = 0;
  /// Pinned host memory for asynchronous copies, freed with the device.
  virtual Result<std::span<std::byte>> allocatePinned(int64_t bytes, std::string_view owner) = 0;
  /// A library of matrix products with memory of its own (GpuProducts.h). Unsupported for devices without one, NotFound
  /// where it is not installed.
  virtual Result<std::unique_ptr<GpuProducts>> openProducts();
  /// Names a range on the profiler's time line (NVTX); no effect without one.
  virtual void pushRange(const char *name) = 0;
  virtual void popRange() = 0;

protected:
  friend class GpuBuffer;
  virtual void release(GpuAddress at) = 0;
};

} // namespace fusec::runtime
