//===- PrefixBound.h - how much of a trace's prompts a cache could ever give -----===//
//
// Bounds on the share of prompt tokens found cached, for requests served in the
// order of arrival, counted as KvManager counts: to the token, never the last
// one. Answers are not counted as cached, as traces do not say what they were.
//
//   unlimited   nothing is ever evicted
//   clairvoyant Belady's MIN with a cache of the given size: evicts what is
//               needed again last, may decide not to keep something; treats the
//               pieces of prompts as independent, and the whole pool as cache.
//               No policy that serves in this order can find more.
//
// A piece is what pages and the trace's blocks have in common, gcd(P, B) tokens:
// prompts part between pieces only, unless one ends inside a piece. Of such an
// end each prompt may find the longest for nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/load/Trace.h"

#include <cstdint>

namespace fusec::load {

struct PrefixBound {
  double unlimited = 0, clairvoyant = 0; ///< Shares of prompt tokens, 0 to 1.
};

/// For a cache of `pages` pages of `pageTokens`.
PrefixBound prefixBound(const Trace &trace, int64_t pageTokens, int64_t pages);

} // namespace fusec::load
