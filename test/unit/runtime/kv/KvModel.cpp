//===- KvModel.cpp -----------------------------------------------------------===//

#include "test/unit/runtime/kv/KvModel.h"

#include <algorithm>

namespace fusec::runtime::test {

KvModel::KvModel(KvManager::Options options, uint32_t seed)
    : kv(options), random(seed), usesCache(options.prefixCache),
      device(options.totalBlocks, std::vector<uint64_t>(options.pageTokens, 0)) {}

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

/// Often like another one up to some token.
std::vector<TokenId> KvModel::somePrompt() {
  std::vector<TokenId> prompt = someTokens(static_cast<int>(kv.pageTokens()) * 5);
  std::vector<TokenId> other;
  if (!known.empty() && pick(3) == 0)
    other = known[pickSequence()].tokens;
  else if (!kept.empty() && pick(2) == 0)
    other = kept[pick(static_cast<int>(kept.size()))].second;
  if (other.empty())
    return prompt;
  if (pick(2) == 0) {
    other.resize(pick(static_cast<int>(other.size())));
    other.insert(other.end(), prompt.begin(), prompt.end());
  }
  return other;
}

static int64_t commonTokens(const std::vector<TokenId> &a, const std::vector<TokenId> &b) {
  int64_t count = 0;
  while (count < static_cast<int64_t>(std::min(a.size(), b.size())) && a[count] == b[count])
    ++count;
  return count;
}

/// The longest common prefix with anything cached, less what is not worth a copy.
int64_t KvModel::naivePrefix(CacheScope scope, const std::vector<TokenId> &tokens) const {
  int64_t longest = 0;
  for (const std::vector<TokenId> &path : kv.cachedPaths(scope))
    longest = std::max(longest, commonTokens(path, tokens));
  longest = std::min(longest, static_cast<int64_t>(tokens.size()) - 1);
  int64_t part = longest % kv.pageTokens();
  return part < kv.leastCopied() ? longest - part : longest;
}

/// The same with all that was computed: whole pages of those that run, everything of those that ended.
int64_t KvModel::keptPrefix(CacheScope scope, const std::vector<TokenId> &tokens) const {
  int64_t longest = 0, page = kv.pageTokens();
  for (const auto &[other, path] : kept)
    if (other == scope)
      longest = std::max(longest, commonTokens(path, tokens));
  for (const auto &[id, sequence] : known)
    if (sequence.usePrefix && sequence.scope == scope)
      longest = std::max(longest, std::min(sequence.computed / page * page, commonTokens(sequence.tokens, tokens)));
  longest = std::min(longest, static_cast<int64_t>(tokens.size()) - 1);
  return longest % page < kv.leastCopied() ? longest - longest % page : longest;
}

std::string KvModel::verifyLookup(CacheScope scope, const std::vector<TokenId> &tokens, int64_t naive,
                                  int64_t found) const {
  int64_t page = kv.pageTokens();
  // Without a page besides the one to be copied, only whole ones are found.
  bool noPage = kv.availableBlocks() <= 1 && found == naive / page * page;
  if (found != naive && !noPage)
    return "found " + std::to_string(found) + " tokens of a prefix, expected " + std::to_string(naive);
  int64_t least = keptPrefix(scope, tokens);
  if (kv.stats().evicted == evictedBefore && naive < least)
    return std::to_string(least) + " tokens were computed, " + std::to_string(naive) + " are cached";
  return {};
}

std::string KvModel::open() {
  std::vector<TokenId> prompt = somePrompt();
  Known fresh{CacheScope{static_cast<uint64_t>(pick(5) == 0)}, pick(8) != 0, {}, 0, 0};
  int64_t promised = kv.cachedPrefix(fresh.scope, prompt), naive = naivePrefix(fresh.scope, prompt);
  KvManager::Opened opened = kv.open(fresh.scope, prompt, fresh.usePrefix);
  if (fresh.usePrefix && opened.cached != promised)
    return "open found another prefix than cachedPrefix";
  if (opened.cached >= static_cast<int64_t>(prompt.size()))
    return "no token is left to compute";
  if (!fresh.usePrefix && opened.cached != 0)
    return "no prefix was asked for";
  fresh.tokens.assign(prompt.begin(), prompt.begin() + opened.cached);
  fresh.computed = fresh.inherited = opened.cached;
  known[opened.id] = fresh;
  partHits += opened.cached % kv.pageTokens() != 0;
  return fresh.usePrefix && usesCache ? verifyLookup(fresh.scope, prompt, naive, opened.cached) : "";
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
  for (PageCopy copy : step.copies)
    step.named.insert({copy.from, copy.to});
  noteSources(step.copies);
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
    known[id].sources.clear();
  }
  return {};
}

void KvModel::fork() {
  if (known.empty() || known.size() > 12)
    return;
  SequenceId parent = pickSequence();
  std::span<const BlockId> table = kv.blocks(parent);
  for (const Step &step : running) { // Must not be in an unfinished step, nor a copy for it.
    for (const auto &[id, tokens] : step.appended)
      if (id == parent)
        return;
    for (PageCopy copy : step.copies)
      if (std::find(table.begin(), table.end(), copy.to) != table.end())
        return;
  }
  SequenceId child = kv.fork(parent);
  Known copy = known[parent];
  copy.tokens.resize(copy.computed);
  copy.inherited = copy.computed;
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
  bool looksUp = usesCache && sequence.usePrefix && sequence.computed % kv.pageTokens() == 0 &&
                 static_cast<int64_t>(kv.blocks(id).size()) == kv.blocksFor(sequence.computed);
  int64_t naive = naivePrefix(sequence.scope, wanted), length = kv.extendFromCache(id, wanted);
  if (length < sequence.computed)
    return "a sequence became shorter";
  std::string wrong = looksUp ? verifyLookup(sequence.scope, wanted, naive, length) : "";
  if (length > sequence.computed) {
    sequence.inherited = length;
    sequence.sources.clear();
  }
  wanted.resize(length);
  sequence.tokens = std::move(wanted);
  sequence.computed = length;
  return wrong;
}

/// All that a sequence has computed must be found from now on, but for a last page that another one goes on with, or of
/// which it has computed nothing.
void KvModel::close() {
  if (known.empty())
    return;
  noteSources(copiesToDo());
  SequenceId id = pickSequence();
  const Known &sequence = known[id];
  int64_t page = kv.pageTokens(), length = sequence.computed;
  bool leavesPart = length % page >= kv.leastCopied() && length > sequence.inherited && sequence.sources.empty();
  for (const auto &[other, unused] : known)
    if (leavesPart && other != id)
      for (BlockId block : kv.blocks(other))
        leavesPart &= block != kv.blocks(id)[length / page];
  if (!leavesPart)
    length -= length % page;
  if (sequence.usePrefix && length > 0)
    kept.emplace_back(sequence.scope, std::vector<TokenId>(sequence.tokens.begin(), sequence.tokens.begin() + length));
  kv.close(id);
  known.erase(id);
}

/// A copy of a copy needs both.
void KvModel::noteSources(const std::vector<PageCopy> &copies) {
  for (auto &[id, sequence] : known)
    for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) {
      std::span<const BlockId> table = kv.blocks(id);
      if (sequence.sources.contains(copy->to) || std::find(table.begin(), table.end(), copy->to) != table.end())
        sequence.sources.insert(copy->from);
    }
}

/// Without a step under way.
std::set<BlockId> KvModel::heldSources() {
  noteSources(copiesToDo());
  std::set<BlockId> sources;
  for (const auto &[id, sequence] : known)
    sources.insert(sequence.sources.begin(), sequence.sources.end());
  return sources;
}

void KvModel::flush() {
  kv.flush();
  kept.clear();
  evictedBefore = kv.stats().evicted;
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
    flush();
  return wrong.empty() ? verify() : wrong;
}

std::string KvModel::verify() {
  if (Status status = kv.check(); !status.ok())
    return status.message();
  std::string wrong = verifyCopies();
  if (wrong.empty())
    wrong = verifyContent();
  return wrong.empty() ? verifyLedger() : wrong;
}

/// Those of unfinished steps and those that wait, in order.
std::vector<PageCopy> KvModel::copiesToDo() const {
  std::vector<PageCopy> copies;
  for (const Step &step : running)
    copies.insert(copies.end(), step.copies.begin(), step.copies.end());
  std::span<const PageCopy> waiting = kv.waitingCopies();
  copies.insert(copies.end(), waiting.begin(), waiting.end());
  return copies;
}

std::string KvModel::verifyCopies() const {
  std::vector<PageClass> map = kv.map();
  for (PageCopy copy : copiesToDo())
    for (BlockId block : {copy.from, copy.to})
      if (PageClass kind = map[toIndex(block)]; kind != PageClass::Live && kind != PageClass::Parked)
        return "page " + std::to_string(toIndex(block)) + " could be handed out before it is copied";
  return {};
}

std::string KvModel::verifyContent() const {
  const std::vector<PageCopy> copies = copiesToDo();
  auto sourceOf = [&](BlockId block) { // The page whose content it will have.
    for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy)
      block = copy->to == block ? copy->from : block;
    return block;
  };
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

std::string KvModel::verifyLedger() {
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
  if (running.empty()) {
    std::set<BlockId> sources = heldSources();
    std::erase_if(sources, [&](BlockId block) { return filled.contains(block); });
    if (ledger.parked != static_cast<int32_t>(sources.size()))
      return std::to_string(ledger.parked) + " pages are parked without a step, " + std::to_string(sources.size()) +
             " are copied";
  }
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
  flush();
  Ledger ledger = kv.ledger();
  return ledger.free + ledger.sink == ledger.total ? "" : "pages are lost";
}

} // namespace fusec::runtime::test
