//===- DeviceMemory.h - the memory of a virtual device -----------------------===//
//
// One reserved range of host memory stands for the device's memory. Device
// addresses are not host addresses, so a pointer of the wrong side is noticed.
// Allocations are 256-byte aligned with guard gaps between them.
//
//   FUSEC_ASSIGN_OR_RETURN(auto memory, DeviceMemory::create(int64_t(1) << 34));
//   FUSEC_ASSIGN_OR_RETURN(uint64_t at, memory->allocate(4096, "x"));
//
// Threading: allocate, release and owner may be called from several threads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace fusec::virtualgpu {

/// Where the address windows of the spaces lie; no host address looks like these.
constexpr uint64_t deviceBase = 0x0b0000000000ull;
constexpr uint64_t sharedBase = 0x0a0000000000ull;
constexpr uint64_t localBase = 0x090000000000ull;
constexpr uint64_t parameterBase = 0x080000000000ull;
constexpr uint64_t windowBytes = 0x000100000000ull;

/// Who touched a 4-byte word of device memory last. Blocks are numbered over all launches; readerBlock is
/// 2 * serial, plus 1 when several blocks of one launch read.
struct GlobalCell {
  uint32_t writerBlock, writer, readerBlock, reader;
};

struct MappedMemory;

/// Bytes of cells per byte of memory.
inline constexpr int64_t cellFactor = sizeof(GlobalCell) / 4;

class DeviceMemory {
public:
  struct Allocation {
    uint64_t at = 0;
    int64_t bytes = 0;
    std::string owner;
    bool isRange = false; ///< Addresses that show MappedMemory.
  };

  /// Reserves `bytes` (and as much shadow); host memory is taken when touched.
  static Result<std::unique_ptr<DeviceMemory>> create(int64_t bytes);
  ~DeviceMemory();

  Result<uint64_t> allocate(int64_t bytes, std::string_view owner);
  void release(uint64_t at);

  /// Addresses without memory, a multiple of mappingBytes; release() gives them back.
  Result<uint64_t> reserveRange(int64_t bytes, std::string_view owner);
  /// From here on [at, at + bytes) of a range shows `memory` from `offset` on, in place of what it showed; null:
  /// nothing. InvalidArgument when it is not inside a range or not whole pages of mappingBytes.
  Status show(uint64_t at, int64_t bytes, const MappedMemory *memory, int64_t offset);

  int64_t freeBytes() const;
  int64_t bytes() const { return size; }

  /// Host address of a device address; the caller has checked contains().
  uint8_t *host(uint64_t at) const { return base + (at - deviceBase); }
  bool contains(uint64_t at, uint64_t count) const {
    uint64_t offset = at - deviceBase;
    return offset < static_cast<uint64_t>(size) && count <= static_cast<uint64_t>(size) - offset;
  }
  /// The live allocation that holds `at`, else the last one that starts before it.
  std::optional<Allocation> nearest(uint64_t at) const;
  /// InvalidArgument names both when [at, at + bytes) is not inside one allocation.
  Status checkRange(uint64_t at, int64_t bytes, const char *what) const;

  /// Host and device copies: the bytes count as initialised.
  void markWritten(uint64_t at, int64_t bytes);
  /// Copies bytes and whether they are initialised; the ranges may overlap.
  void copy(uint64_t to, uint64_t from, int64_t bytes);

  /// Byte flags beside the memory: ShadowFlag bits.
  uint8_t *flags(uint64_t at) const { return shadow + (at - deviceBase); }
  GlobalCell *cell(uint64_t at) const { return cells + (at - deviceBase) / 4; }
  /// Numbers the blocks that run on this device, from 1.
  uint32_t newBlockSerial() { return ++lastSerial; }
  uint32_t nextBlockSerial() const { return lastSerial + 1; }

private:
  DeviceMemory(uint8_t *base, uint8_t *shadow, GlobalCell *cells, int64_t size)
      : base(base), shadow(shadow), cells(cells), size(size) {}

  Result<uint64_t> place(int64_t bytes, int64_t alignment, std::string_view owner, bool isRange);
  Status showNothing(uint64_t at, int64_t bytes);

  uint8_t *base, *shadow;
  GlobalCell *cells;
  uint32_t lastSerial = 0;
  const int64_t size;
  mutable std::mutex mutex;
  std::map<uint64_t, Allocation> live;
  int64_t used = 0;
};

/// Bits of a shadow byte.
enum ShadowFlag : uint8_t {
  shadowValid = 1,       ///< Part of an allocation.
  shadowInitialised = 2, ///< Written by somebody.
  shadowInFlight = 4,    ///< Shared memory: a copy is writing it.
  shadowBarrier = 8,     ///< Shared memory: part of a live mbarrier.
};

} // namespace fusec::virtualgpu
