//===- PrefixBound.cpp -------------------------------------------------------===//

#include "tools/load/PrefixBound.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace fusec::load {

namespace {

/// A whole page of a prompt. One that ends with the prompt cannot be found by it, as its last token is computed, but is
/// cached for longer ones.
struct Use {
  int64_t page;
  bool canHit;
};

/// Numbers pages by the whole prefix they end: page after page, each named by its parent and what it holds.
class PageNames {
public:
  explicit PageNames(int64_t pageTokens) : pageTokens(pageTokens) {}

  std::vector<Use> of(const TraceRequest &request) {
    std::vector<Use> uses;
    int64_t page = -1;
    for (int64_t begin = 0; begin + pageTokens <= request.promptTokens; begin += pageTokens) {
      page = nameOf(page, contentOf(request, begin));
      uses.push_back({page, begin + pageTokens < request.promptTokens});
    }
    return uses;
  }

private:
  using Content = std::vector<int64_t>;

  /// Blocks that a page touches, and where it begins in the first: equal means equal tokens.
  Content contentOf(const TraceRequest &request, int64_t begin) const {
    Content content{begin % traceBlockTokens};
    for (int64_t block = begin / traceBlockTokens; block * traceBlockTokens < begin + pageTokens; ++block)
      content.push_back(request.blocks[block]);
    return content;
  }
  int64_t nameOf(int64_t parent, Content content) {
    return known.try_emplace({parent, std::move(content)}, static_cast<int64_t>(known.size())).first->second;
  }

  int64_t pageTokens;
  std::map<std::pair<int64_t, Content>, int64_t> known;
};

constexpr int64_t never = INT64_MAX;

/// For each use of a page, when keeping it until then pays.
std::vector<int64_t> nextUses(const std::vector<Use> &uses) {
  std::vector<int64_t> next(uses.size(), never);
  std::map<int64_t, int64_t> seen;
  for (int64_t i = static_cast<int64_t>(uses.size()); i-- > 0;) {
    if (auto later = seen.find(uses[i].page); later != seen.end() && uses[later->second].canHit)
      next[i] = later->second;
    seen[uses[i].page] = i;
  }
  return next;
}

int64_t clairvoyantHits(const std::vector<Use> &uses, int64_t capacity) {
  std::vector<int64_t> next = nextUses(uses);
  std::set<std::pair<int64_t, int64_t>> cached; // Next use, page.
  int64_t hits = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    hits += static_cast<int64_t>(cached.erase({static_cast<int64_t>(i), uses[i].page}));
    if (next[i] != never)
      cached.insert({next[i], uses[i].page});
    if (static_cast<int64_t>(cached.size()) > capacity)
      cached.erase(std::prev(cached.end()));
  }
  return hits;
}

} // namespace

PrefixBound prefixBound(const Trace &trace, int64_t pageTokens, int64_t pages) {
  PageNames names(pageTokens);
  std::vector<Use> uses;
  int64_t tokens = 0;
  for (const TraceRequest &request : trace.requests) {
    tokens += request.promptTokens;
    if (request.blocks.empty())
      continue;
    std::vector<Use> used = names.of(request);
    uses.insert(uses.end(), used.begin(), used.end());
  }
  auto share = [&](int64_t hits) {
    return tokens == 0 ? 0.0 : static_cast<double>(hits * pageTokens) / static_cast<double>(tokens);
  };
  return {share(clairvoyantHits(uses, INT64_MAX)), share(clairvoyantHits(uses, pages))};
}

} // namespace fusec::load
