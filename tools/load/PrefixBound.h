//===- PrefixBound.h - how much of a trace's prompts a cache could ever give -----===//
//
// Bounds on the share of prompt tokens found cached, for requests served in the
// order of arrival, counted as KvManager counts: whole pages, never the last
// token. Answers are not counted as cached, as traces do not say what they were.
//
//   unlimited   nothing is ever evicted
//   clairvoyant Belady's MIN over pages with a cache of the given size: evicts
//               what is needed again last, may decide not to keep a page; treats
//               pages as independent, and the whole pool as cache. No policy that
//               serves in this order can find more.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/load/Trace.h"

#include <cstdint>

namespace fusec::load {

struct PrefixBound {
  double unlimited = 0, clairvoyant = 0; ///< Shares of prompt tokens, 0 to 1.
};

/// For pages of `pageTokens`, and a cache of `pages`.
PrefixBound prefixBound(const Trace &trace, int64_t pageTokens, int64_t pages);

} // namespace fusec::load
