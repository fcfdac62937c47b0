//===- PageCopy.h - one page to be copied to another --------------------------------===//
#pragma once

#include "runtime/kv/BlockAllocator.h"

namespace fusec::runtime {

/// The whole page, of every layer; to be done before the next step.
struct PageCopy {
  BlockId from{}, to{};
  bool operator==(const PageCopy &) const = default;
};

} // namespace fusec::runtime
