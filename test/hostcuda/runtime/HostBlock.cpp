//===- HostBlock.cpp - threads take turns ---------------------------------------===//
#include "test/hostcuda/runtime/HostBlock.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

#ifndef __x86_64__
#error "the host front end switches stacks on x86-64 only"
#endif

// Saves what a called function has to keep, and goes on where the other stack was left.
extern "C" void fusecSwitchStack(void **save, void *resume);
asm(R"(
  .text
  .type fusecSwitchStack, @function
fusecSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size fusecSwitchStack, .-fusecSwitchStack
)");

namespace hostcuda {

namespace {

constexpr size_t guardBytes = 4096, savedRegisters = 6;

void leave() { fusecSwitchStack(&block.thread->stackPointer, block.schedulerStack); }

void releaseBarrierIfComplete() {
  if (block.atBarrier == 0 || block.atBarrier != block.alive)
    return;
  block.atBarrier = 0;
  for (Thread &thread : block.threads)
    if (thread.state == ThreadState::AtBarrier)
      thread.state = ThreadState::Runnable;
}

/// The first function on a thread's stack.
[[noreturn]] void threadMain() {
  block.launch->call(block.launch->parameters);
  Thread &thread = *block.thread;
  if (!thread.copies.empty())
    fault("exit with copies in flight: " + std::to_string(thread.copies.size()) + " that nobody waited for");
  if (!block.products[thread.index / 32].pending.empty())
    fault("exit with products in flight: wgmma that nobody waited for");
  thread.state = ThreadState::Done;
  --block.alive;
  releaseBarrierIfComplete();
  leave();
  __builtin_unreachable();
}

/// Stacks for as many threads as a launch ever had. Below each lies a page that faults.
std::byte *stackOf(unsigned thread) {
  static std::vector<std::byte *> stacks;
  while (stacks.size() <= thread) {
    void *memory = mmap(nullptr, stackBytes + guardBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, guardBytes, PROT_NONE) != 0)
      __builtin_trap();
    stacks.push_back(static_cast<std::byte *>(memory) + guardBytes);
  }
  return stacks[thread];
}

void start(Thread &thread, unsigned index) {
  std::byte *const stack = stackOf(index);
  thread.index = index;
  thread.state = ThreadState::Runnable;
  thread.stack = stack;
  thread.copies.clear();
  thread.openGroup = 0;
  // A function starts with the stack 8 bytes off a multiple of 16: as if it was called from address 0.
  void **top = reinterpret_cast<void **>(stack + stackBytes) - 1;
  *top = nullptr;
  *--top = reinterpret_cast<void *>(&threadMain);
  top -= savedRegisters;
  std::memset(top, 0, savedRegisters * sizeof *top);
  thread.stackPointer = top;
}

void runUntilItWaits(Thread &thread) {
  block.thread = &thread;
  fusecSwitchStack(&block.schedulerStack, thread.stackPointer);
}

/// Ends the launch with a message, from outside the threads.
void report(const std::string &message) {
  std::snprintf(block.launch->message, sizeof block.launch->message, "%s", message.c_str());
  block.launch->failedBlock = block.number;
  block.failed = true;
}

void reportDeadlock() {
  unsigned inWarps = 0;
  std::string warps;
  for (size_t w = 0; w < block.warps.size(); ++w)
    if (unsigned missing = block.warps[w].mask & ~block.warps[w].arrived; block.warps[w].arrived) {
      inWarps += static_cast<unsigned>(__builtin_popcount(block.warps[w].arrived));
      warps += "; warp " + std::to_string(w) + " lacks lanes 0x" + hexadecimal(missing);
    }
  size_t atMbarriers = 0;
  for (const Thread &thread : block.threads)
    atMbarriers += thread.state == ThreadState::AtMbarrier;
  const std::string text = "deadlock: " + std::to_string(block.atBarrier) + " threads at a barrier, " +
                           std::to_string(atMbarriers) + " at mbarriers, " + std::to_string(inWarps) +
                           " in an instruction of their warp, " + std::to_string(block.launch->threads - block.alive) +
                           " have ended" + warps;
  report(text);
}

void runBlock(unsigned number) {
  const unsigned count = block.launch->threads;
  block.number = number;
  block.threads.resize(count);
  block.warps.assign((count + 31) / 32, {});
  block.products.assign((count + 31) / 32, {});
  block.barriers.clear();
  block.alive = count;
  block.atBarrier = 0;
  poisonShared();
  for (unsigned i = 0; i < count; ++i)
    start(block.threads[i], i);
  while (block.alive && !block.failed) {
    bool hasRun = false;
    for (unsigned i = 0; i < count && !block.failed; ++i) {
      Thread &thread = block.threads[block.launch->seed & 1 ? count - 1 - i : i];
      if (thread.state == ThreadState::Runnable) {
        runUntilItWaits(thread);
        hasRun = true;
      }
    }
    if (!hasRun)
      reportDeadlock();
  }
  for (auto &[address, barrier] : block.barriers)
    if (!barrier.copies.empty() && !block.failed)
      report("exit with copies in flight: bulk copies that nobody waited for");
}

} // namespace

std::string hexadecimal(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

void fault(const std::string &message, const void *code) {
  HostLaunch &launch = *block.launch;
  report(message);
  launch.failedThread = block.thread->index;
  extern const char libraryStart[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
  if (code) // The call, not what follows it.
    launch.codeOffset = static_cast<uint64_t>(static_cast<const char *>(code) - libraryStart) - 1;
  leave();
  __builtin_unreachable();
}

void sleep(ThreadState state) {
  block.thread->state = state;
  leave();
}

Index3 threadIndex() { return {block.thread->index, 0, 0}; }
Index3 blockIndex() { return {block.number, 0, 0}; }
Index3 blockSize() { return {block.launch->threads, 1, 1}; }
Index3 gridSize() { return {block.launch->grid, 1, 1}; }
int laneOfThread() { return static_cast<int>(block.thread->index % 32); }

void meetBlock() {
  block.thread->state = ThreadState::AtBarrier;
  ++block.atBarrier;
  releaseBarrierIfComplete();
  if (block.thread->state == ThreadState::AtBarrier)
    leave();
}

void meetWarp(WarpFunction function, unsigned mask, void *operand) {
  Thread &thread = *block.thread;
  const unsigned warp = thread.index / 32, lane = thread.index % 32;
  Meeting &meeting = block.warps[warp];
  const void *const caller = __builtin_return_address(0);
  if (!(mask >> lane & 1))
    fault("divergent warp instruction: lanes 0x" + hexadecimal(mask) + " without the one that names them", caller);
  if (meeting.arrived == 0) {
    meeting.function = function;
    meeting.mask = mask;
  } else if (meeting.function != function || meeting.mask != mask) {
    fault("divergent warp instruction: lanes 0x" + hexadecimal(meeting.arrived) + " wait in another one", caller);
  }
  meeting.operands[lane] = operand;
  meeting.arrived |= 1u << lane;
  if (meeting.arrived != mask) {
    return sleep(ThreadState::AtWarp);
  }
  meeting.arrived = 0;
  function(meeting.operands, mask);
  for (unsigned i = 0; i < 32; ++i)
    if (mask >> i & 1)
      block.threads[warp * 32 + i].state = ThreadState::Runnable;
}

} // namespace hostcuda

using namespace hostcuda;

/// Runs a grid, block after block, to its end or its first fault.
extern "C" __attribute__((visibility("default"))) int fusecHostLaunch(HostLaunch *launch) {
  block.launch = launch;
  block.failed = false;
  launch->message[0] = 0;
  launch->codeOffset = 0;
  for (unsigned number = 0; number < launch->grid && !block.failed; ++number)
    runBlock(number);
  return block.failed;
}
