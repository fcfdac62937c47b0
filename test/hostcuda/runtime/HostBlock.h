//===- HostBlock.h - a block of CUDA threads on one host thread ----------------===//
//
// What every kernel's library is linked with. A block's threads are fibers that
// run in turn on the calling thread until they meet: at a barrier, at an
// instruction of their warp, or at their end.
//
//   fault(message)             ends the launch; never returns
//   checkRead(at, bytes, pc)   faults where a kernel must not read
//
// Kernels reach it through the headers in ../device; the checks of memory and of
// undefined behaviour are what clang's instrumentation calls. Not thread-safe: a
// library runs one launch at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/hostcuda/device/host_runtime.h"
#include "test/hostcuda/runtime/HostLaunch.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hostcuda {

/// What cp.async was asked for and nobody has waited for.
struct PendingCopy {
  unsigned char *shared;
  const void *global; ///< Null: zeros.
  int group;
};

enum class ThreadState { Runnable, AtWarp, AtBarrier, AtMbarrier, Done };

struct Thread {
  unsigned index = 0;
  ThreadState state = ThreadState::Done;
  void *stackPointer = nullptr;
  const std::byte *stack = nullptr; ///< Its lowest byte.
  std::vector<PendingCopy> copies;  ///< In program order.
  int openGroup = 0;                ///< Copies asked for now belong to this one.
  unsigned mbarrier = 0;            ///< Where it waits, in AtMbarrier.
};

/// Lanes of one warp that wait for each other.
struct Meeting {
  WarpFunction function = nullptr;
  unsigned mask = 0, arrived = 0;
  void *operands[32] = {};
};

/// A wgmma of one warp that nobody has waited for.
struct PendingProduct {
  WarpgroupProduct of[32];
  unsigned a[32][4];
  std::vector<float> sums; ///< 32 x columns / 2: what d held; known to the first of those that add to one d.
  int group;
  const void *code;
};
struct WarpProducts {
  std::vector<PendingProduct> pending; ///< In program order.
  int openGroup = 0;
};

struct BulkCopy {
  unsigned char *shared;
  const void *global;
  int bytes;
};
struct HostBarrier {
  int arrivals = 0, missing = 0;
  int64_t bytes = 0; ///< Announced, less what has come.
  unsigned phase = 0;
  std::vector<BulkCopy> copies; ///< Not done yet.
};

struct Block {
  HostLaunch *launch = nullptr;
  unsigned number = 0;
  std::vector<Thread> threads;
  std::vector<Meeting> warps;
  std::vector<WarpProducts> products;       ///< Of each warp.
  std::map<unsigned, HostBarrier> barriers; ///< By address in shared memory.
  unsigned alive = 0, atBarrier = 0;        ///< Threads that have not ended; those of them in meetBlock.
  Thread *thread = nullptr;                 ///< Who runs.
  void *schedulerStack = nullptr;
  bool failed = false;
};
inline Block block;

constexpr size_t stackBytes = 256 * 1024;

/// Ends the launch: no thread of the block runs on. `code` is where in the library, if the message does not say.
[[noreturn]] void fault(const std::string &message, const void *code = nullptr);
std::string hexadecimal(uint64_t value);

// Accesses by the thread that runs.
void checkRead(const void *at, size_t bytes, const void *code);
void checkWrite(const void *at, size_t bytes, const void *code);
/// Shared memory as at the start of a block, NaN and written by nobody.
void poisonShared();
/// The bytes become so again.
void poisonShared(unsigned char *at, size_t bytes);
/// The bytes are known to be written.
void markWritten(const unsigned char *at, size_t bytes);
/// Bytes of dynamic shared memory at a 32-bit address, which has to be a multiple of `alignment`.
unsigned char *sharedBytes(unsigned address, size_t bytes, size_t alignment, const char *instruction);
/// Two values of 16 bits as floats: the lower for 0, the upper for 1.
float valueOf(unsigned pair, int upper, Operands type);
/// The thread that runs waits until another makes it runnable.
void sleep(ThreadState state);

/// Does the copies of this thread but those of its newest `pending` groups.
void finishCopies(Thread &thread, int pending);

} // namespace hostcuda

/// The dynamic shared memory of the block that runs. Texts declare it.
extern unsigned char shared[];
