//===- BlockChecker.cpp - checks every access of a block ---------------------===//

#include "runtime/device/virtual/check/BlockChecker.h"
#include "runtime/device/virtual/exec/Block.h"

#include <cstring>

namespace fusec::virtualgpu {
namespace {

constexpr uint32_t wordBytes = 4;

/// The bytes of an access inside the word at `word` (an address), as a mask of 4.
uint32_t bytesInWord(uint64_t at, uint32_t bytes) { return bytes >= wordBytes ? 15 : ((1u << bytes) - 1) << (at & 3); }

/// One load of `T` flags.
template <typename T> bool flagsAreOne(const uint8_t *flags, uint8_t looked, uint8_t wanted) {
  T all;
  std::memcpy(&all, flags, sizeof(T));
  constexpr T every = static_cast<T>(0x0101010101010101ull);
  return (all & static_cast<T>(every * looked)) == static_cast<T>(every * wanted);
}

/// All `bytes` flags have the bits `wanted` of `looked`.
bool flagsAre(const uint8_t *flags, uint64_t bytes, uint8_t looked, uint8_t wanted) {
  switch (bytes) {
  case 1:
    return flagsAreOne<uint8_t>(flags, looked, wanted);
  case 2:
    return flagsAreOne<uint16_t>(flags, looked, wanted);
  case 4:
    return flagsAreOne<uint32_t>(flags, looked, wanted);
  }
  bool good = true;
  uint64_t at = 0;
  for (; at + 8 <= bytes; at += 8)
    good &= flagsAreOne<uint64_t>(flags + at, looked, wanted);
  for (; at < bytes; ++at)
    good &= (flags[at] & looked) == wanted;
  return good;
}

/// The record of a word that neighbouring lanes touch in one access narrower than it.
epoch::Stripe stripeOf(uint32_t bytes) {
  return bytes >= wordBytes ? epoch::whole : bytes == 2 ? epoch::halves : epoch::bytes;
}

} // namespace

BlockChecker::BlockChecker(Block &block) : block(block) {
  sharedFlags.resize(block.shared.size());
  localFlags.resize(block.local.size());
  const size_t words = (block.shared.size() + wordBytes - 1) / wordBytes;
  sharedWriter.resize(words);
  sharedReader.resize(words);
  sharedReader2.resize(words);
}

void BlockChecker::reset() {
  std::fill(sharedFlags.begin(), sharedFlags.end(), 0);
  std::fill(localFlags.begin(), localFlags.end(), 0);
  std::fill(sharedWriter.begin(), sharedWriter.end(), 0);
  std::fill(sharedReader.begin(), sharedReader.end(), 0);
  std::fill(sharedReader2.begin(), sharedReader2.end(), 0);
  sharedReleases.clear();
  clocks.reset(static_cast<uint32_t>(block.warps.size()) * warpLanes, block.grid.memory.newBlockSerial());
}

void BlockChecker::fence(Warp &warp) {
  for (uint32_t m = warp.mask; m; m &= m - 1)
    clocks.fence(warp.firstThread() + static_cast<uint32_t>(std::countr_zero(m)));
}

Epoch BlockChecker::epochOf(const Access &access, uint32_t mask) const {
  return epoch::make(clocks.tick(access.thread), access.thread, mask, isStrong(access.kind));
}

bool BlockChecker::orderedAfter(const Access &access, Epoch other, uint32_t mask) const {
  if (epoch::isAtomic(other) && isStrong(access.kind))
    return true;
  const uint32_t tick = epoch::tick(other);
  for (uint32_t m = mask & epoch::mask(other); m; m &= m - 1)
    if (!clocks.knows(access.thread, epoch::threadOfByte(other, static_cast<uint32_t>(std::countr_zero(m))), tick))
      return false;
  return true;
}

bool BlockChecker::orderedAfterForeign(const Access &access, uint32_t serial, Epoch other, uint32_t mask) const {
  if (epoch::isAtomic(other) && isStrong(access.kind))
    return true;
  for (uint32_t m = mask & epoch::mask(other); m; m &= m - 1)
    if (!clocks.knowsForeign(access.thread, serial,
                             epoch::threadOfByte(other, static_cast<uint32_t>(std::countr_zero(m))),
                             epoch::tick(other)))
      return false;
  return true;
}

/// Atomics and strong accesses pass clocks through their address.
void BlockChecker::synchronizes(const Access &access, ReleasedAddresses &addresses) {
  if (readsMemory(access.kind) && !addresses.empty()) {
    auto found = addresses.find(access.address);
    if (found != addresses.end())
      clocks.acquireFrom(access.thread, found->second);
  }
  if (writesMemory(access.kind) && (releases(access.kind) || clocks.canRelease()))
    clocks.release(access.thread, addresses[access.address], releases(access.kind));
}

// --- global memory ---------------------------------------------------------------------

bool BlockChecker::globalFlags(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  DeviceMemory &memory = block.grid.memory;
  const uint8_t wanted =
      readsMemory(kind) && !block.grid.settings.allowUninitialised ? shadowValid | shadowInitialised : shadowValid;
  const bool uniform = access.pattern == LaneAccess::Pattern::Uniform;
  const bool one = uniform || access.pattern == LaneAccess::Pattern::Adjacent;
  const uint64_t range = uniform ? bytes : uint64_t(bytes) * warpLanes;
  if (!one || !flagsAre(memory.flags(access.at[0]), range, wanted, wanted)) {
    for (uint32_t m = lanes; m; m &= m - 1) {
      int lane = std::countr_zero(m);
      const uint8_t *flags = memory.flags(access.at[lane]);
      if (!flagsAre(flags, bytes, wanted, wanted))
        return reportFlags({warp, lane, 0, bytes, kind, access.at[lane]}, flags, "device memory");
    }
  }
  if (!writesMemory(kind))
    return true;
  if (one)
    std::memset(memory.flags(access.at[0]), shadowValid | shadowInitialised, range);
  else
    for (uint32_t m = lanes; m; m &= m - 1)
      std::memset(memory.flags(access.at[std::countr_zero(m)]), shadowValid | shadowInitialised, bytes);
  return true;
}

/// Whole warps that touch one range, or one address, that this launch did not write (or touch, for
/// a store): all records in one loop. False: not such a case, nothing is recorded.
bool BlockChecker::globalTogether(Warp &warp, const LaneAccess &access, uint32_t bytes, AccessKind kind) {
  using Pattern = LaneAccess::Pattern;
  const bool writes = writesMemory(kind);
  if (access.pattern == Pattern::Scattered || isStrong(kind) || access.at[0] % wordBytes != 0 ||
      (access.pattern == Pattern::Uniform && (writes || bytes < wordBytes)) || !clocks.sameTick(warp.firstThread()))
    return false;
  const uint32_t words = (access.pattern == Pattern::Uniform ? bytes : bytes * warpLanes) / wordBytes;
  const uint32_t first = block.grid.firstSerial, own = clocks.serial();
  GlobalCell *cell = block.grid.memory.cell(access.at[0]);
  uint32_t latest = 0;
  for (uint32_t word = 0; word < words; ++word)
    latest = std::max({latest, cell[word].writerBlock, writes ? cell[word].readerBlock >> 1 : 0});
  if (latest >= first)
    return false;
  const Epoch mine = epoch::make(clocks.tick(warp.firstThread()), warp.firstThread(), 15, false, stripeOf(bytes));
  for (uint32_t word = 0; word < words; ++word) {
    const uint32_t lane = access.pattern == Pattern::Uniform ? 0 : word * wordBytes / bytes;
    const Epoch record = mine + (lane << epoch::threadShift);
    if (writes) {
      cell[word].writerBlock = own;
      cell[word].writer = record;
      continue;
    }
    const uint32_t before = cell[word].readerBlock, serial = before >> 1;
    const bool others = serial >= first && (serial != own || (before & 1));
    cell[word].readerBlock = own << 1 | static_cast<uint32_t>(others);
    cell[word].reader = record;
  }
  return true;
}

bool BlockChecker::global(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  if (!globalFlags(warp, access, lanes, bytes, kind))
    return false;
  if (globalTogether(warp, access, bytes, kind))
    return true;
  DeviceMemory &memory = block.grid.memory;
  for (uint32_t m = lanes; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint64_t at = access.at[lane];
    Access one{warp, lane, warp.firstThread() + static_cast<uint32_t>(lane), bytes, kind, at};
    if (isStrong(kind))
      synchronizes(one, block.grid.released);
    const uint32_t mask = bytesInWord(at, bytes);
    GlobalCell *cell = memory.cell(at);
    if (kind == AccessKind::Read && globalReadQuietly(one, cell, (bytes + 3) / wordBytes, mask))
      continue;
    for (uint32_t word = 0; word * wordBytes < bytes; ++word)
      if (!globalWord(one, cell[word], mask))
        return false;
  }
  return true;
}

/// A read of words that this launch did not write.
bool BlockChecker::globalReadQuietly(const Access &access, GlobalCell *cell, uint32_t words, uint32_t mask) {
  const uint32_t own = clocks.serial(), first = block.grid.firstSerial;
  for (uint32_t word = 0; word < words; ++word)
    if (cell[word].writerBlock >= first)
      return false;
  const Epoch mine = epochOf(access, mask);
  for (uint32_t word = 0; word < words; ++word) {
    const uint32_t before = cell[word].readerBlock, serial = before >> 1;
    const bool others = serial >= first && (serial != own || (before & 1));
    cell[word].readerBlock = own << 1 | static_cast<uint32_t>(others);
    cell[word].reader = mine;
  }
  return true;
}

bool BlockChecker::globalWord(const Access &access, GlobalCell &cell, uint32_t mask) {
  const uint32_t own = clocks.serial(), first = block.grid.firstSerial;
  if (cell.writerBlock >= first) {
    if (cell.writerBlock != own) {
      if (!orderedAfterForeign(access, cell.writerBlock, cell.writer, mask))
        return reportBlockRace(access, cell.writerBlock, true);
    } else if (cell.writer >= clocks.floor() && !orderedAfter(access, cell.writer, mask)) {
      return reportRace(access, cell.writer, mask, true);
    }
  }
  const uint32_t readerSerial = cell.readerBlock >> 1;
  if (!writesMemory(access.kind)) {
    const bool others = readerSerial >= first && (readerSerial != own || (cell.readerBlock & 1));
    cell.readerBlock = own << 1 | static_cast<uint32_t>(others);
    cell.reader = epochOf(access, mask);
    return true;
  }
  if (readerSerial >= first) {
    // Of several reading blocks only the last is known: whoever knows about other blocks is trusted.
    const bool many = cell.readerBlock & 1, trusted = many && clocks.hasForeign(access.thread);
    const bool strong = epoch::isAtomic(cell.reader) && isStrong(access.kind);
    if (many && !strong && !trusted && (mask & epoch::mask(cell.reader)))
      return reportBlockRace(access, readerSerial, false);
    if (readerSerial != own && !trusted && !orderedAfterForeign(access, readerSerial, cell.reader, mask))
      return reportBlockRace(access, readerSerial, false);
    if (readerSerial == own && cell.reader >= clocks.floor() && !orderedAfter(access, cell.reader, mask))
      return reportRace(access, cell.reader, mask, false);
  }
  const Epoch mine = epochOf(access, mask);
  cell.writer = cell.writerBlock == own ? epoch::merge(cell.writer, mine) : mine;
  cell.writerBlock = own;
  return true;
}

// --- shared memory ---------------------------------------------------------------------

bool BlockChecker::shared(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  const bool reads = readsMemory(kind) && !block.grid.settings.allowUninitialised;
  constexpr uint8_t busy = shadowInFlight | shadowBarrier;
  const uint8_t looked = reads ? shadowInitialised | busy : busy;
  const uint8_t wanted = reads ? shadowInitialised : 0;
  for (uint32_t m = lanes; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t at = static_cast<uint32_t>(access.at[lane]);
    Access one{warp, lane, warp.firstThread() + static_cast<uint32_t>(lane), bytes, kind, at};
    uint8_t *flags = sharedFlags.data() + at;
    if (!flagsAre(flags, bytes, looked, wanted))
      return reportFlags(one, flags, "shared memory");
    if (writesMemory(kind))
      std::memset(flags, shadowInitialised, bytes);
    if (isStrong(kind))
      synchronizes(one, sharedReleases);
    const uint32_t mask = bytesInWord(at, bytes), firstWord = at / wordBytes, words = (bytes + 3) / wordBytes;
    if (kind == AccessKind::Read && readQuietly(one, firstWord, words, mask))
      continue;
    for (uint32_t word = firstWord; word < firstWord + words; ++word)
      if (!sharedWord(one, word, mask))
        return false;
  }
  return true;
}

/// A read of words nobody else wrote since the last barrier of the block.
bool BlockChecker::readQuietly(const Access &access, uint32_t first, uint32_t words, uint32_t mask) {
  const Epoch floor = clocks.floor(), mine = epochOf(access, mask);
  bool quiet = true;
  for (uint32_t word = first; word < first + words; ++word)
    quiet &= sharedWriter[word] < floor;
  if (!quiet)
    return false;
  for (uint32_t word = first; word < first + words; ++word) {
    const Epoch reader = sharedReader[word];
    if (reader >= floor && epoch::thread(reader) / warpLanes != access.thread / warpLanes)
      sharedReader2[word] = reader;
    sharedReader[word] = mine;
  }
  return true;
}

bool BlockChecker::sharedWord(const Access &access, uint32_t word, uint32_t mask) {
  const Epoch floor = clocks.floor(), mine = epochOf(access, mask);
  const Epoch writer = sharedWriter[word], reader = sharedReader[word];
  if (writer >= floor && !orderedAfter(access, writer, mask))
    return reportRace(access, writer, mask, true);
  if (!writesMemory(access.kind)) {
    // Keep readers of two warps: a later writer is unordered with at least one of them.
    if (reader >= floor && epoch::thread(reader) / warpLanes != access.thread / warpLanes)
      sharedReader2[word] = reader;
    sharedReader[word] = mine;
    return true;
  }
  for (Epoch other : {reader, sharedReader2[word]})
    if (other >= floor && !orderedAfter(access, other, mask))
      return reportRace(access, other, mask, false);
  sharedWriter[word] = epoch::merge(writer, mine);
  return true;
}

void BlockChecker::copyStarts(uint32_t to, uint32_t bytes) {
  std::memset(sharedFlags.data() + to, shadowInitialised | shadowInFlight, bytes);
}

/// The copy counts as a store of the thread that waited for it, at the time of the wait.
void BlockChecker::copyEnds(uint32_t thread, uint32_t to, uint32_t bytes) {
  std::memset(sharedFlags.data() + to, shadowInitialised, bytes);
  for (uint32_t word = to / wordBytes; word * wordBytes < to + bytes; ++word)
    sharedWriter[word] = epoch::make(clocks.tick(thread), thread, 15, false);
}

// --- local memory ----------------------------------------------------------------------

bool BlockChecker::local(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  for (uint32_t m = lanes; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint32_t thread = warp.firstThread() + static_cast<uint32_t>(lane);
    uint8_t *flags = localFlags.data() + thread * block.localStride + access.at[lane];
    if (readsMemory(kind) && !block.grid.settings.allowUninitialised &&
        !flagsAre(flags, bytes, shadowInitialised, shadowInitialised))
      return reportFlags({warp, lane, thread, bytes, kind, access.at[lane]}, flags, "local memory");
    if (writesMemory(kind))
      std::memset(flags, shadowInitialised, bytes);
  }
  return true;
}

} // namespace fusec::virtualgpu
