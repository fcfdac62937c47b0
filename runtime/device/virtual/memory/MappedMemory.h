//===- MappedMemory.h - memory of a virtual device without an address ---------===//
//
// What cuMemCreate gives: memory that ranges of addresses show (DeviceMemory::show).
// What is known of its bytes, and who touched them, lies beside it, so that an
// access through one address is checked against those through another.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/PageFile.h"

#include <cstdint>
#include <memory>

namespace fusec::virtualgpu {

struct MappedMemory {
  /// Uninitialised. `bytes` is a multiple of mappingBytes.
  static Result<std::unique_ptr<MappedMemory>> create(int64_t bytes);

  int64_t bytes = 0;
  runtime::PageFile memory, shadow, cells;
};

/// What mapped addresses and sizes are multiples of, as on every GPU so far.
inline constexpr int64_t mappingBytes = int64_t{2} << 20;

} // namespace fusec::virtualgpu
