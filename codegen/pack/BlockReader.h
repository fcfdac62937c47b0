//===- BlockReader.h - the fields of one stored block, unpacked -------------===//
//
// Every block format of GGUF reduced to the same plain fields, so that packing
// needs no case per format. Layouts as in runtime/schema/StorageType.def.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/StorageType.h"

#include <cstddef>
#include <cstdint>

namespace fusec::codegen {

/// One block of up to 256 elements.
struct BlockFields {
  uint16_t scale = 0;         ///< f16 d.
  uint16_t minimum = 0;       ///< f16 m or dmin.
  uint8_t subscales[16] = {}; ///< Per group; bits of an i8 for q6_k.
  uint8_t submins[16] = {};
  uint8_t codes[256] = {}; ///< As stored: no offset taken off; bits of an i8 for q8_0.
};

/// Unpacks the block at `bytes` (no alignment needed). `type` is a block format.
void readBlock(StorageType type, const uint8_t *bytes, BlockFields &fields);

} // namespace fusec::codegen
