//===- MaskCache.cpp - token masks, remembered per automaton state ---------===//
#include "runtime/grammar/MaskCache.h"

#include <algorithm>

namespace fusec::grammar {

namespace {

/// Trie nodes one mask may visit; a sane grammar needs a few hundred thousand.
constexpr size_t kMaxWork = 50'000'000;

/// One mask may outgrow the cache's bound this many times before it is given up.
constexpr size_t kMaxGrowth = 4;

void setBit(std::span<uint32_t> mask, TokenId id) {
  mask[static_cast<size_t>(id) / 32] |= 1u << (static_cast<uint32_t>(id) % 32);
}

} // namespace

size_t MaskCache::KeyHash::operator()(const Key &key) const {
  uint64_t h = key.state * 0x9E3779B97F4A7C15u;
  h = (h ^ (h >> 31) ^ key.registers.seen) * 0xBF58476D1CE4E5B9u;
  return (h ^ (h >> 29) ^ key.registers.count) * 0x94D049BB133111EBu;
}

size_t MaskCache::SetHash::operator()(const StackSet &set) const {
  uint64_t h = set.size();
  for (FrameId id : set)
    h = (h ^ id ^ (h >> 29)) * 0x9E3779B97F4A7C15u;
  return h;
}

MaskCache::MaskCache(const Machine &m, std::shared_ptr<const Vocabulary> v, const Limits &l)
    : machine(m), vocabulary(std::move(v)), limits(l) {
  forget();
}

void MaskCache::forget() {
  frames = Frames();
  sets.clear();
  setIds.clear();
  localSets.clear();
  walks.clear();
  walkBytes = setBytes = 0;
  addSet({});
}

size_t MaskCache::bytes() const {
  std::lock_guard guard(lock);
  return held();
}

MaskCache::Key MaskCache::canonical(const Frame &frame) const {
  Key key{frame.state, frame.registers};
  const Rule &rule = machine.ruleOf(frame.state);
  uint32_t &count = key.registers.count;
  uint32_t reach = vocabulary->longest();
  bool noMax = rule.countMax == kNone || count + reach <= rule.countMax;
  if (noMax && count >= rule.countMin)
    count = rule.countMin;
  else if (noMax && count + reach < rule.countMin)
    count = 0;
  return key;
}

MaskCache::SetId MaskCache::addSet(StackSet set) {
  auto [entry, isNew] = setIds.try_emplace(std::move(set), static_cast<SetId>(sets.size()));
  if (isNew) {
    auto local = std::make_unique<LocalSet>();
    local->heads = entry->first;
    local->returns = !local->heads.empty() && local->heads.front() == kBottom;
    sets.push_back(std::move(local));
    setBytes += sizeof(LocalSet) + 2 * entry->first.size() * sizeof(FrameId) + 100;
  }
  return entry->second;
}

MaskCache::SetId MaskCache::localSet(const Key &key) {
  auto [entry, isNew] = localSets.try_emplace(key, 0);
  if (!isNew)
    return entry->second;
  StackSet set;
  overflow |= !frames.close(machine, frames.intern(kBottom, key.state, key.registers), limits.parallelStacks, set);
  return entry->second = addSet(std::move(set));
}

MaskCache::SetId MaskCache::next(SetId set, uint8_t byte) {
  auto &half = sets[set]->next[byte >> 4];
  if (half && (*half)[byte & 15] != kUnknown)
    return (*half)[byte & 15];
  if (!half) {
    half = std::make_unique<std::array<SetId, 16>>();
    half->fill(kUnknown);
    setBytes += sizeof(*half) + 16;
  }
  StackSet result;
  overflow |= !frames.step(machine, sets[set]->heads, byte, limits.parallelStacks, result);
  overflow |= held() > kMaxGrowth * limits.cacheBytes;
  SetId id = overflow ? 0 : addSet(std::move(result));
  return (*sets[set]->next[byte >> 4])[byte & 15] = id;
}

void MaskCache::walk(SetId from, uint32_t node, std::vector<TokenId> &tokens, std::vector<uint32_t> &returns) {
  const Vocabulary &trie = *vocabulary;
  uint32_t base = trie.node(node).depth;
  path.assign(1, from);
  path.resize(trie.longest() - base + 1);
  for (uint32_t i = node + 1, end = trie.node(node).end; i < end;) {
    const Vocabulary::Node &child = trie.node(i);
    ++work;
    SetId set = next(path[child.depth - base - 1], child.byte);
    if (set == 0) {
      i = child.end;
      continue;
    }
    path[child.depth - base] = set;
    for (TokenId id : trie.tokensAt(i))
      tokens.push_back(id);
    if (sets[set]->returns && trie.hasChildren(i))
      returns.push_back(i);
    ++i;
  }
}

void MaskCache::keep(Walk &walk) {
  walk.returns = foundReturns;
  if (foundTokens.size() < vocabulary->maskWords()) {
    walk.tokens = foundTokens;
  } else {
    walk.mask.resize(vocabulary->maskWords());
    for (TokenId id : foundTokens)
      setBit(walk.mask, id);
  }
  walkBytes += 4 * (walk.returns.size() + walk.tokens.size() + walk.mask.size()) + sizeof(Walk) + 64;
}

const MaskCache::Walk &MaskCache::walkFrom(const Key &key) {
  auto [entry, isNew] = walks.try_emplace(key);
  if (isNew) {
    foundTokens.clear();
    foundReturns.clear();
    SetId from = localSet(key);
    walk(from, 0, foundTokens, foundReturns);
    keep(entry->second);
  }
  return entry->second;
}

void MaskCache::enqueue(Resume at) {
  if (at.frame != kBottom && resumed.try_emplace((uint64_t(at.frame) << 32) | at.node, true).second)
    pending.push_back(at);
}

void MaskCache::resume(const Frames &stacks, Resume at, std::span<uint32_t> mask) {
  const Frame &frame = stacks[at.frame];
  SetId from = localSet(canonical(frame));
  foundTokens.clear();
  foundReturns.clear();
  walk(from, at.node, foundTokens, foundReturns);
  for (TokenId id : foundTokens)
    setBit(mask, id);
  if (sets[from]->returns)
    enqueue({frame.parent, at.node});
  for (uint32_t node : foundReturns)
    enqueue({frame.parent, node});
}

bool MaskCache::allowed(const Frames &stacks, const StackSet &heads, std::span<uint32_t> mask) {
  std::lock_guard guard(lock);
  if (held() > limits.cacheBytes)
    forget();
  pending.clear();
  resumed.clear();
  work = 0;
  overflow = false;
  for (FrameId head : heads) {
    if (head == kBottom)
      continue;
    const Walk &found = walkFrom(canonical(stacks[head]));
    for (TokenId id : found.tokens)
      setBit(mask, id);
    for (size_t word = 0; word < found.mask.size(); ++word)
      mask[word] |= found.mask[word];
    for (uint32_t node : found.returns)
      enqueue({stacks[head].parent, node});
  }
  while (!pending.empty() && work < kMaxWork && !overflow) {
    Resume at = pending.back();
    pending.pop_back();
    resume(stacks, at, mask);
  }
  if (overflow)
    forget(); // What was learned is incomplete.
  return work < kMaxWork && !overflow;
}

} // namespace fusec::grammar
