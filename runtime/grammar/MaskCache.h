//===- MaskCache.h - token masks, remembered per automaton state -----------===//
//
// Which tokens may follow depends mostly on the top frame of the stack: a walk
// over the vocabulary's trie from that frame alone settles every token that
// doesn't return from the frame's rule before its last byte. Those walks are
// remembered by (state, registers). Where a token does return early (a node of
// the trie), the few tokens below that node are walked again from the frame
// underneath.
//
//   MaskCache cache(machine, vocabulary, limits);
//   cache.allowed(frames, heads, mask);            // bits of the text tokens
//
// Transitions between sets of parses are remembered too (a lazily built DFA).
// Above `limits.cacheBytes` everything is forgotten and learned again.
//
// Threading: every member may be called from any thread (one lock).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Stacks.h"
#include "runtime/grammar/Vocabulary.h"

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace fusec::grammar {

class MaskCache {
public:
  /// `machine` must outlive the cache.
  MaskCache(const Machine &machine, std::shared_ptr<const Vocabulary> vocabulary, const Limits &limits);

  /// Sets the bits of the text tokens that may follow the parses `heads`.
  /// `mask` has at least the vocabulary's words. False: work limit reached.
  bool allowed(const Frames &frames, const StackSet &heads, std::span<uint32_t> mask);

  size_t bytes() const;

private:
  using SetId = uint32_t;
  static constexpr SetId kUnknown = UINT32_MAX;

  /// Local parses: their bottom is the frame where the walk began.
  struct LocalSet {
    StackSet heads;
    bool returns = false; ///< One of them has returned from that frame's rule.
    /// Per high half of the byte, on demand: most sets meet few bytes.
    std::array<std::unique_ptr<std::array<SetId, 16>>, 16> next;
  };
  struct Key {
    StateId state;
    Registers registers;
    bool operator==(const Key &) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key &key) const;
  };
  struct SetHash {
    size_t operator()(const StackSet &set) const;
  };
  /// What the walk from one top frame found.
  struct Walk {
    std::vector<TokenId> tokens;   ///< Used while they are few,
    std::vector<uint32_t> mask;    ///< else as a mask.
    std::vector<uint32_t> returns; ///< Nodes where the rule returns and tokens go on.
  };
  struct Resume {
    FrameId frame;
    uint32_t node;
  };

  Key canonical(const Frame &frame) const;
  const Walk &walkFrom(const Key &key);
  SetId localSet(const Key &key);
  SetId addSet(StackSet set);
  SetId next(SetId set, uint8_t byte);
  void walk(SetId from, uint32_t node, std::vector<TokenId> &tokens, std::vector<uint32_t> &returns);
  void resume(const Frames &stacks, Resume at, std::span<uint32_t> mask);
  void enqueue(Resume at);
  void keep(Walk &walk);
  size_t held() const { return frames.bytes() + setBytes + walkBytes; }
  void forget();

  const Machine &machine;
  const std::shared_ptr<const Vocabulary> vocabulary;
  const Limits limits;

  mutable std::mutex lock;
  Frames frames;
  std::vector<std::unique_ptr<LocalSet>> sets; ///< Set 0 is empty.
  std::unordered_map<StackSet, SetId, SetHash> setIds;
  std::unordered_map<Key, SetId, KeyHash> localSets;
  std::unordered_map<Key, Walk, KeyHash> walks;
  size_t walkBytes = 0, setBytes = 0;
  // Scratch of one call.
  std::vector<Resume> pending;
  std::unordered_map<uint64_t, bool> resumed;
  std::vector<SetId> path;
  std::vector<TokenId> foundTokens;
  std::vector<uint32_t> foundReturns;
  size_t work = 0;
  bool overflow = false;
};

} // namespace fusec::grammar
