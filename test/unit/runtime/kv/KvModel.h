//===- KvModel.h - a naive device and KvManager's calls against it -------------===//
//
// The device stores for every position of every page a digest of the scope and
// all tokens up to it, as attention would depend on them. Steps run late, in
// order, when they are finished: a page that was reused too early, shared wrongly
// or not copied gives a sequence a wrong digest.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kv/KvManager.h"

#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace fusec::runtime::test {

inline uint64_t digest(uint64_t before, uint64_t value) {
  uint64_t mixed = (before ^ (value + 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull;
  return mixed ^ (mixed >> 29);
}

class KvModel {
public:
  KvModel(KvManager::Options options, uint32_t seed);

  /// One random call, and all checks. Empty when all is well.
  std::string act();
  /// Finishes all steps and closes all sequences; what is wrong then.
  std::string drain();

  KvManager kv;
  int64_t partHits = 0; ///< Lookups that ended inside a page.

private:
  struct Write {
    SequenceId id;
    BlockId block;
    int64_t offset;
    uint64_t value;
  };
  struct Step {
    StepEpoch epoch{};
    std::vector<PageCopy> copies;
    std::vector<Write> writes;
    std::set<BlockId> named;
    std::vector<std::pair<SequenceId, std::vector<TokenId>>> appended;
  };
  struct Known {
    CacheScope scope{};
    bool usePrefix = true;
    std::vector<TokenId> tokens; ///< Computed or in a step.
    int64_t computed = 0;
    int64_t inherited = 0;       ///< Of these, found or forked, not computed.
    std::set<BlockId> sources{}; ///< Of copies for it, until it grows.
  };
  using Kept = std::pair<CacheScope, std::vector<TokenId>>;

  int pick(int bound) { return static_cast<int>(random() % static_cast<uint32_t>(bound)); }
  SequenceId pickSequence();
  std::vector<TokenId> someTokens(int most);
  std::vector<TokenId> somePrompt();
  int64_t naivePrefix(CacheScope scope, const std::vector<TokenId> &tokens) const;
  int64_t keptPrefix(CacheScope scope, const std::vector<TokenId> &tokens) const;
  std::string verifyLookup(CacheScope scope, const std::vector<TokenId> &tokens, int64_t naive, int64_t found) const;
  std::string open();
  std::string startStep();
  std::string addToStep(Step &step, SequenceId id);
  std::string finishStep();
  void fork();
  std::string extend();
  void close();
  void noteSources(const std::vector<PageCopy> &copies);
  std::set<BlockId> heldSources();
  void flush();
  std::string verify();
  std::vector<PageCopy> copiesToDo() const;
  std::string verifyCopies() const;
  std::string verifyContent() const;
  std::string verifyLedger();

  std::mt19937 random;
  bool usesCache;
  std::vector<std::vector<uint64_t>> device; ///< [page][offset]
  std::map<SequenceId, Known> known;
  std::deque<Step> running;
  std::vector<Kept> kept;    ///< What closed sequences left, ...
  int64_t evictedBefore = 0; ///< ... while nothing is evicted after so many.
};

} // namespace fusec::runtime::test
