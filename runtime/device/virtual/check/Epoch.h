//===- Epoch.h - one access in 32 bits ---------------------------------------===//
//
// Who touched a word last, and when: the thread's tick (which grows at every
// synchronisation), the thread, the bytes of the word, whether the access was
// atomic, and for stores narrower than a word whether neighbouring threads
// stored its halves or bytes.
//
// The tick is in the top bits, so "before the last barrier of the whole block"
// is one comparison.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace fusec::virtualgpu {

using Epoch = uint32_t;

namespace epoch {

constexpr int maskShift = 0, atomicShift = 4, stripeShift = 5, threadShift = 7, tickShift = 17;
constexpr uint32_t maxTick = (1u << (32 - tickShift)) - 1;

/// Bytes of the word belong to: one thread; thread + byte / 2; thread + byte.
enum Stripe : uint32_t { whole = 0, halves = 1, bytes = 2 };

constexpr Epoch make(uint32_t tick, uint32_t thread, uint32_t mask, bool atomic, Stripe stripe = whole) {
  return tick << tickShift | thread << threadShift | stripe << stripeShift | uint32_t(atomic) << atomicShift | mask;
}
constexpr uint32_t tick(Epoch e) { return e >> tickShift; }
constexpr uint32_t thread(Epoch e) { return e >> threadShift & 0x3ff; }
constexpr Stripe stripe(Epoch e) { return static_cast<Stripe>(e >> stripeShift & 3); }
constexpr bool isAtomic(Epoch e) { return e >> atomicShift & 1; }
constexpr uint32_t mask(Epoch e) { return e & 15; }
/// The thread that touched byte `b` of the word.
constexpr uint32_t threadOfByte(Epoch e, uint32_t b) {
  Stripe s = stripe(e);
  return thread(e) + (s == whole ? 0 : s == halves ? b / 2 : b);
}

/// `mine` comes after `old`, touches other bytes and does not replace it: one record of both if they are
/// neighbouring threads of a narrow store, else `mine`.
constexpr Epoch merge(Epoch old, Epoch mine) {
  if ((mask(old) & mask(mine)) != 0 || tick(old) != tick(mine) || isAtomic(old) || isAtomic(mine))
    return mine;
  const uint32_t both = mask(old) | mask(mine);
  if (mask(mine) == 12 && mask(old) == 3 && stripe(old) == whole && thread(mine) == thread(old) + 1)
    return (old & ~15u) | both | halves << stripeShift;
  const uint32_t byte = mask(mine) == 2 ? 1 : mask(mine) == 4 ? 2 : mask(mine) == 8 ? 3 : 0;
  const bool first = stripe(old) == whole && mask(old) == 1;
  if (byte != 0 && (first || stripe(old) == bytes) && thread(mine) == thread(old) + byte)
    return (old & ~(15u | 3u << stripeShift)) | both | bytes << stripeShift;
  if (thread(old) == thread(mine) && stripe(old) == whole)
    return mine | both;
  return mine;
}

} // namespace epoch
} // namespace fusec::virtualgpu
