//===- HostBarriers.cpp - mbarriers, and bulk copies that report to them -----------===//
//
// A bulk copy is done when somebody waits for its barrier and only bytes are
// missing: as late as it can be. Until then its destination counts as unwritten.
//
//===----------------------------------------------------------------------===//
#include "test/hostcuda/runtime/HostBlock.h"

#include <cstring>

namespace hostcuda {

namespace {

HostBarrier &barrierAt(unsigned address, const void *code) {
  auto found = block.barriers.find(address);
  if (found == block.barriers.end())
    fault("barrier misuse: no barrier was initialised at " + std::to_string(address) + " of shared memory", code);
  return found->second;
}

/// Begins the next phase if nothing is missing. Who waits runs on in any case: it may have to do the copies.
void advance(unsigned address, HostBarrier &barrier) {
  if (barrier.missing != 0)
    return;
  if (barrier.bytes == 0) {
    ++barrier.phase;
    barrier.missing = barrier.arrivals;
  }
  for (Thread &thread : block.threads)
    if (thread.state == ThreadState::AtMbarrier && thread.mbarrier == address)
      thread.state = ThreadState::Runnable;
}

void doCopies(unsigned address, HostBarrier &barrier) {
  for (const BulkCopy &copy : barrier.copies) {
    std::memcpy(copy.shared, copy.global, static_cast<size_t>(copy.bytes));
    markWritten(copy.shared, static_cast<size_t>(copy.bytes));
    barrier.bytes -= copy.bytes;
  }
  barrier.copies.clear();
  advance(address, barrier);
}

} // namespace

void initBarrier(unsigned address, int arrivals) {
  markWritten(sharedBytes(address, 8, 8, "mbarrier.init"), 8);
  if (arrivals <= 0)
    fault("barrier misuse: " + std::to_string(arrivals) + " arrivals", __builtin_return_address(0));
  block.barriers[address] = {.arrivals = arrivals, .missing = arrivals};
}

void arrive(unsigned address, int announcedBytes) {
  HostBarrier &barrier = barrierAt(address, __builtin_return_address(0));
  if (barrier.missing == 0)
    fault("barrier misuse: more arrivals than " + std::to_string(barrier.arrivals), __builtin_return_address(0));
  barrier.bytes += announcedBytes;
  --barrier.missing;
  advance(address, barrier);
}

void waitForPhase(unsigned address, int parity) {
  const void *const code = __builtin_return_address(0);
  HostBarrier &barrier = barrierAt(address, code);
  const auto isComplete = [&] { return (barrier.phase & 1) != static_cast<unsigned>(parity); };
  while (!isComplete()) {
    if (barrier.missing == 0 && !barrier.copies.empty()) {
      doCopies(address, barrier);
      continue;
    }
    block.thread->mbarrier = address;
    sleep(ThreadState::AtMbarrier);
  }
}

void copyBulk(unsigned address, const void *global, int bytes, unsigned barrierAddress) {
  const void *const code = __builtin_return_address(0);
  if (bytes <= 0 || bytes % 16 != 0 || reinterpret_cast<uintptr_t>(global) % 16 != 0)
    fault("misaligned access: a bulk copy of " + std::to_string(bytes) + " bytes; address and size are multiples of 16",
          code);
  unsigned char *const to = sharedBytes(address, static_cast<size_t>(bytes), 16, "cp.async.bulk");
  checkRead(global, static_cast<size_t>(bytes), code);
  poisonShared(to, static_cast<size_t>(bytes));
  barrierAt(barrierAddress, code).copies.push_back({to, global, bytes});
}

} // namespace hostcuda
