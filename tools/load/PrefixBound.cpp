//===- PrefixBound.cpp -------------------------------------------------------===//

#include "tools/load/PrefixBound.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace fusec::load {

namespace {

/// A whole piece of a prompt. One that ends with the prompt cannot be found by it, as its last token is computed, but
/// is cached for longer ones.
struct Use {
  int64_t piece;
  bool canHit;
};

/// Numbers pieces by the whole prefix they end, and knows how much of each has been in prompts.
class Pieces {
public:
  Pieces(int64_t tokens, int64_t blockTokens) : tokens(tokens), blockTokens(blockTokens) {}

  /// What a prompt finds when nothing is evicted.
  struct Found {
    int64_t all = 0;
    int64_t part = 0; ///< The longest part of a piece.
  };
  /// The next prompt; adds its whole pieces to `uses`.
  Found add(const TraceRequest &request, std::vector<Use> &uses) {
    Found found;
    bool goesOn = true;
    int64_t name = -1;
    for (int64_t begin = 0; begin < request.promptTokens; begin += tokens) {
      name = nameOf(name, request.blocks[begin / blockTokens], begin % blockTokens);
      int64_t own = std::min(tokens, request.promptTokens - begin);
      int64_t wanted = std::min(tokens, request.promptTokens - 1 - begin);
      Seen &piece = seen[name];
      if (goesOn)
        piece.findIn(found, wanted, tokens);
      goesOn = goesOn && piece.longest == tokens;
      piece.longest = std::max(piece.longest, own);
      if (own < tokens)
        piece.longestEnd = std::max(piece.longestEnd, own);
      else
        uses.push_back({name, wanted == tokens});
    }
    return found;
  }

private:
  struct Seen {
    int64_t longest = 0;    ///< Of prompts that reach it.
    int64_t longestEnd = 0; ///< Of those that end in it.

    void findIn(Found &found, int64_t wanted, int64_t tokens) const {
      found.all += std::min(wanted, longest);
      found.part = std::max(found.part, std::min(wanted, wanted < tokens ? longest : longestEnd));
    }
  };

  int64_t nameOf(int64_t parent, int64_t block, int64_t offset) {
    auto [entry, isNew] = known.try_emplace({parent, block, offset}, static_cast<int64_t>(seen.size()));
    if (isNew)
      seen.emplace_back();
    return entry->second;
  }

  int64_t tokens, blockTokens;
  std::map<std::array<int64_t, 3>, int64_t> known;
  std::vector<Seen> seen;
};

constexpr int64_t never = INT64_MAX;

/// For each use of a piece, when keeping it until then pays.
std::vector<int64_t> nextUses(const std::vector<Use> &uses) {
  std::vector<int64_t> next(uses.size(), never);
  std::map<int64_t, int64_t> seen;
  for (int64_t i = static_cast<int64_t>(uses.size()); i-- > 0;) {
    if (auto later = seen.find(uses[i].piece); later != seen.end() && uses[later->second].canHit)
      next[i] = later->second;
    seen[uses[i].piece] = i;
  }
  return next;
}

int64_t clairvoyantHits(const std::vector<Use> &uses, int64_t capacity) {
  std::vector<int64_t> next = nextUses(uses);
  std::set<std::pair<int64_t, int64_t>> cached; // Next use, piece.
  int64_t hits = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    hits += static_cast<int64_t>(cached.erase({static_cast<int64_t>(i), uses[i].piece}));
    if (next[i] != never)
      cached.insert({next[i], uses[i].piece});
    if (static_cast<int64_t>(cached.size()) > capacity)
      cached.erase(std::prev(cached.end()));
  }
  return hits;
}

} // namespace

PrefixBound prefixBound(const Trace &trace, int64_t pageTokens, int64_t pages) {
  const int64_t piece = std::gcd(pageTokens, trace.blockTokens);
  Pieces pieces(piece, trace.blockTokens);
  std::vector<Use> uses;
  int64_t tokens = 0, unlimited = 0, parts = 0;
  for (const TraceRequest &request : trace.requests) {
    tokens += request.promptTokens;
    if (request.blocks.empty())
      continue;
    Pieces::Found found = pieces.add(request, uses);
    unlimited += found.all;
    parts += found.part;
  }
  int64_t clairvoyant = clairvoyantHits(uses, pages * (pageTokens / piece)) * piece + parts;
  auto share = [&](int64_t hits) {
    return tokens == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(tokens);
  };
  return {share(unlimited), share(std::min(unlimited, clairvoyant))};
}

} // namespace fusec::load
