//===- BpeMerge.h - the merge loop of byte pair encoding -------------------===//
//
// Repeatedly joins the adjacent pair of symbols with the best (lowest) rank,
// the leftmost of equals, until no pair has a rank. A heap of candidate pairs
// makes it O(n log n); candidates that a later merge made stale are recognised
// by their symbols' lengths and dropped.
//
// Threading: pure function over the caller's symbols.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/TokenId.h"

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

namespace fusec::text {

inline constexpr TokenId kNoToken = -1;

/// A stretch of a word's bytes; symbols of a word form a linked list.
struct BpeSymbol {
  int32_t begin;
  int32_t length; ///< 0 once merged into its left neighbour.
  TokenId id;     ///< kNoToken when the vocabulary lacks it.
  int32_t previous;
  int32_t next; ///< -1 at the ends.
};

/// What a pair of symbols may become.
struct BpeMerge {
  int32_t rank;
  TokenId id;
};

/// `lookup(left, right)` returns std::optional<BpeMerge>. Symbols are in text
/// order with previous/next linked on entry; the survivors have length > 0.
template <typename Lookup> void mergeSymbols(std::vector<BpeSymbol> &symbols, Lookup lookup) {
  struct Candidate {
    int32_t rank, left, right, length;
    TokenId id;
    bool operator<(const Candidate &other) const { // std::priority_queue pops the largest.
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  std::vector<Candidate> storage;
  storage.reserve(symbols.size());
  std::priority_queue<Candidate> agenda(std::less<Candidate>(), std::move(storage));
  auto consider = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0)
      return;
    const BpeSymbol &a = symbols[left], &b = symbols[right];
    if (std::optional<BpeMerge> merge = lookup(a, b))
      agenda.push({merge->rank, left, right, a.length + b.length, merge->id});
  };
  for (size_t i = 0; i + 1 < symbols.size(); ++i)
    consider(static_cast<int32_t>(i), static_cast<int32_t>(i + 1));
  while (!agenda.empty()) {
    Candidate best = agenda.top();
    agenda.pop();
    BpeSymbol &left = symbols[best.left], &right = symbols[best.right];
    if (left.length == 0 || right.length == 0 || left.length + right.length != best.length)
      continue;
    left.length = best.length;
    left.id = best.id;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0)
      symbols[left.next].previous = best.left;
    consider(left.previous, best.left);
    consider(best.left, left.next);
  }
}

} // namespace fusec::text
