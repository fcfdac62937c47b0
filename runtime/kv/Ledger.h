//===- Ledger.h - where every KV page is, and what it holds -------------------===//
//
// Plain numbers that always balance:
//
//   pages:   live + cached + parked + free + sink = total
//   tokens:  held + tail + reserved               = live * pageTokens
//
// The first sum covers the pool, the second what live pages are good for.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>

namespace fusec::runtime {

struct Ledger {
  // Pages.
  int32_t total = 0;
  int32_t sink = 0;   ///< Takes the writes of padding rows.
  int32_t live = 0;   ///< In a page table of an open sequence; a shared page counts once.
  int32_t cached = 0; ///< Only in the prefix tree.
  int32_t parked = 0; ///< Given up, but named by a step that is not finished.
  int32_t free = 0;
  // Positions in live pages.
  int64_t pageTokens = 0;
  int64_t held = 0;     ///< Hold the KV of a token.
  int64_t tail = 0;     ///< Behind the last token of a partly filled page.
  int64_t reserved = 0; ///< In pages without any token yet.

  /// Positions in live pages without a token, as a share of all positions in live pages.
  double waste() const {
    return live == 0 ? 0.0 : static_cast<double>(tail + reserved) / static_cast<double>(live * pageTokens);
  }

  /// Internal error, with the sum, when a sum is off.
  Status balance() const;

  bool operator==(const Ledger &) const = default;
};

} // namespace fusec::runtime
