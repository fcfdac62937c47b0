//===- KvModel.cpp -----------------------------------------------------------===//

#include "test/unit/runtime/kv/KvModel.h"

#include <algorithm>

namespace fusec::runtime::test {

KvModel::KvModel(KvManager::Options options, uint32_t seed)
    : kv(options), random(seed), device(options.totalBlocks, std::vector<uint64_t>(options.pageTokens, 0)) {}

SequenceId KvModel::pickSequence() {
  auto entry = known.begin();
  std::advance(entry, pick(static_cast<int>(known.size())));
  return entry->first;
}

/// Few different tokens, so that prefixes are shared by chance.
std::vector<TokenId> KvModel::someTokens(int most) {
  std::vector<TokenId> tokens(1 + pick(most));
  int alphabet = pick(4) == 0 ? 3 : 1;
  for (TokenId &token : tokens)
    token = pick(alphabet);
  return tokens;
}

std::string KvModel::open() {
  std::vector<TokenId> prompt = someTokens(static_cast<int>(kv.pageTokens()) * 5);
  if (!known.empty() && pick(3) == 0)
    prompt = known[pickSequence()].tokens;
  if (prompt.empty())
    prompt = {0};
  Known fresh{CacheScope{static_cast<uint64_t>(pick(5) == 0)}, pick(8) != 0, {}, 0};
  int64_t promised = kv.cachedPrefix(fresh.scope, prompt);
  KvManager::Opened opened = kv.open(fresh.scope, prompt, fresh.usePrefix);
  if (fresh.usePrefix && opened.cached != promised)
    return "open found another prefix than cachedPrefix";
  if (opened.cached >= static_cast<int64_t>(prompt.size()) || opened.cached % kv.pageTokens() != 0)
    return "a prefix is whole pages and leaves a token";
  if (!fresh.usePrefix && opened.cached != 0)
    return "no prefix was asked for";
  fresh.tokens.assign(prompt.begin(), prompt.begin() + opened.cached);
  fresh.computed = opened.cached;
  known[opened.id] = fresh;
  return {};
}

/// Reserves and writes a few tokens; a sequence may be in several steps at once.
std::string KvModel::addToStep(Step &step, SequenceId id) {
  Known &sequence = known[id];
  std::vector<TokenId> tokens = someTokens(pick(3) == 0 ? static_cast<int>(kv.pageTokens()) * 2 : 2);
  int64_t begin = static_cast<int64_t>(sequence.tokens.size()), end = begin + static_cast<int64_t>(tokens.size());
  std::set<BlockId> before(kv.blocks(id).begin(), kv.blocks(id).end());
  int32_t needed = kv.blocksToReserve(id, end);
  bool fits = needed <= kv.availableBlocks();
  if (kv.reserve(id, end).ok() != fits)
    return "reserve and availableBlocks disagree";
  if (!fits)
    return {};
  for (BlockId block : kv.blocks(id))
    for (const Step &unfinished : running)
      if (!before.contains(block) && unfinished.named.contains(block))
        return "page " + std::to_string(toIndex(block)) + " was handed out while a step names it";
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
  uint64_t value = static_cast<uint64_t>(sequence.scope);
  for (int64_t i = 0; i < end; ++i) {
    value = digest(value, sequence.tokens[i]);
    if (i >= begin)
      step.writes.push_back({id, kv.blocks(id)[i / kv.pageTokens()], i % kv.pageTokens(), value});
  }
  step.appended.emplace_back(id, std::move(tokens));
  return {};
}

std::string KvModel::startStep() {
  Step step;
  std::set<SequenceId> chosen;
  for (int i = 0; i < 3 && !known.empty(); ++i)
    chosen.insert(pickSequence());
  for (SequenceId id : chosen)
    if (std::string wrong = addToStep(step, id); !wrong.empty())
      return wrong;
  if (step.appended.empty())
    return {};
  std::vector<SequenceId> named;
  for (const auto &[id, tokens] : step.appended) {
    named.push_back(id);
    step.named.insert(kv.blocks(id).begin(), kv.blocks(id).end());
  }
  step.copies = kv.takeCopies();
  step.epoch = kv.beginStep(named);
  running.push_back(std::move(step));
  return {};
}

std::string KvModel::finishStep() {
  if (running.empty())
    return {};
  Step step = std::move(running.front());
  running.pop_front();
  for (PageCopy copy : step.copies)
    device[toIndex(copy.to)] = device[toIndex(copy.from)];
  for (const Write &write : step.writes)
    device[toIndex(write.block)][write.offset] = write.value;
  kv.finishStep(step.epoch);
  for (const auto &[id, tokens] : step.appended) {
    if (!known.contains(id))
      continue; // Closed meanwhile.
    kv.append(id, tokens);
    known[id].computed += static_cast<int64_t>(tokens.size());
  }
  return {};
}

void KvModel::fork() {
  if (known.empty() || known.size() > 12)
    return;
  SequenceId parent = pickSequence();
  for (const Step &step : running)
    for (const auto &[id, tokens] : step.appended)
      if (id == parent)
        return; // Must not be in an unfinished step.
  SequenceId child = kv.fork(parent);
  Known copy = known[parent];
  copy.tokens.resize(copy.computed);
  known[child] = std::move(copy);
}

/// A sequence that no step names may skip what others have computed.
std::string KvModel::extend() {
  if (known.empty())
    return {};
  SequenceId id = pickSequence();
  Known &sequence = known[id];
  if (sequence.computed != static_cast<int64_t>(sequence.tokens.size()))
    return {};
  std::vector<TokenId> wanted = sequence.tokens;
  for (int64_t i = 0; i <= 2 * kv.pageTokens(); ++i)
    wanted.push_back(0);
  int64_t length = kv.extendFromCache(id, wanted);
  if (length < sequence.computed)
    return "a sequence became shorter";
  wanted.resize(length);
  sequence.tokens = std::move(wanted);
  sequence.computed = length;
  return {};
}

void KvModel::close() {
  if (known.empty())
    return;
  SequenceId id = pickSequence();
  kv.close(id);
  known.erase(id);
}

std::string KvModel::act() {
  std::string wrong;
  int choice = pick(100);
  if (choice < 15 && known.size() < 10)
    wrong = open();
  else if (choice < 50)
    wrong = running.size() < 3 ? startStep() : finishStep();
  else if (choice < 78)
    wrong = finishStep();
  else if (choice < 85)
    fork();
  else if (choice < 88)
    wrong = extend();
  else if (choice < 99)
    close();
  else
    kv.flush();
  return wrong.empty() ? verify() : wrong;
}

std::string KvModel::verify() const {
  if (Status status = kv.check(); !status.ok())
    return status.message();
  std::string wrong = verifyContent();
  return wrong.empty() ? verifyLedger() : wrong;
}

/// The page whose content `block` will have once the copies that wait are done.
BlockId KvModel::sourceOf(BlockId block) const {
  for (auto step = running.rbegin(); step != running.rend(); ++step)
    for (auto copy = step->copies.rbegin(); copy != step->copies.rend(); ++copy)
      block = copy->to == block ? copy->from : block;
  return block;
}

std::string KvModel::verifyContent() const {
  for (const auto &[id, sequence] : known) {
    if (kv.length(id) != sequence.computed)
      return "a sequence has another length";
    uint64_t value = static_cast<uint64_t>(sequence.scope);
    for (int64_t i = 0; i < sequence.computed; ++i) {
      value = digest(value, sequence.tokens[i]);
      BlockId block = sourceOf(kv.blocks(id)[i / kv.pageTokens()]);
      if (device[toIndex(block)][i % kv.pageTokens()] != value)
        return "page " + std::to_string(toIndex(block)) + " does not hold token " + std::to_string(i);
    }
  }
  return {};
}

std::string KvModel::verifyLedger() const {
  std::map<BlockId, int64_t> filled; // Of live pages.
  std::set<BlockId> named;
  for (const auto &[id, sequence] : known)
    for (size_t i = 0; i < kv.blocks(id).size(); ++i) {
      int64_t tokens = sequence.computed - static_cast<int64_t>(i) * kv.pageTokens();
      int64_t &most = filled[kv.blocks(id)[i]];
      most = std::max(most, std::clamp<int64_t>(tokens, 0, kv.pageTokens()));
    }
  for (const Step &step : running)
    named.insert(step.named.begin(), step.named.end());
  Ledger ledger = kv.ledger();
  int64_t held = 0, reserved = 0;
  for (auto [block, tokens] : filled) {
    held += tokens;
    reserved += tokens == 0 ? kv.pageTokens() : 0;
    named.erase(block);
  }
  if (ledger.live != static_cast<int32_t>(filled.size()) || ledger.sink != 1)
    return "the ledger counts other live pages";
  std::vector<PageClass> map = kv.map();
  for (BlockId block : named)
    if (map[toIndex(block)] != PageClass::Parked)
      return "page " + std::to_string(toIndex(block)) + " is named by an unfinished step, but not parked";
  if (running.empty() && ledger.parked != 0)
    return "pages are parked without a step";
  if (ledger.held != held || ledger.reserved != reserved)
    return "the ledger counts other tokens: " + std::to_string(ledger.held) + " held, not " + std::to_string(held) +
           ", " + std::to_string(ledger.reserved) + " reserved, not " + std::to_string(reserved);
  return {};
}

std::string KvModel::drain() {
  while (!running.empty())
    finishStep();
  while (!known.empty())
    close();
  if (std::string wrong = verify(); !wrong.empty())
    return wrong;
  kv.flush();
  Ledger ledger = kv.ledger();
  return ledger.free + ledger.sink == ledger.total ? "" : "pages are lost";
}

} // namespace fusec::runtime::test
