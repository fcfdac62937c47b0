//===- HostMemory.cpp - every load and store of a kernel is checked --------------===//
//
// Kernels are compiled as for ThreadSanitizer, whose functions are these: they
// look up where an address lies, nothing else. Shared memory remembers which of
// its bytes were written.
//
//===----------------------------------------------------------------------===//
#include "test/hostcuda/runtime/HostBlock.h"

#include <cstring>

constexpr size_t sharedLimit = 232448; // 227 KiB, the most a block can have.
alignas(1024) unsigned char shared[sharedLimit];

// Shared arrays of fixed size; their section exists where a text has some.
extern unsigned char fixedStart[] __asm__("__start_fusec_shared") __attribute__((weak, visibility("hidden")));
extern unsigned char fixedEnd[] __asm__("__stop_fusec_shared") __attribute__((weak, visibility("hidden")));
// The library's constants lie between these.
extern const char libraryStart[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char libraryVariables[] __asm__("__bss_start") __attribute__((visibility("hidden")));

namespace hostcuda {

namespace {

/// A piece of shared memory and, per byte, 1 where a thread of the block wrote.
struct SharedRegion {
  unsigned char *start = nullptr;
  size_t bytes = 0;
  std::vector<unsigned char> written;

  bool has(const void *at) const { return static_cast<size_t>(static_cast<const unsigned char *>(at) - start) < bytes; }
  size_t offset(const void *at) const { return static_cast<size_t>(static_cast<const unsigned char *>(at) - start); }
  void reset(unsigned char *memory, size_t size) {
    start = memory;
    bytes = size;
    written.assign(size, 0);
    std::memset(memory, 0xff, size);
  }
};
SharedRegion dynamicRegion, fixedRegion;
size_t lastMemory = 0; // Where the access before this one was.

const HostMemory *memoryAt(const void *at) {
  const HostLaunch &launch = *block.launch;
  const auto holds = [&](const HostMemory &m) {
    return static_cast<size_t>(static_cast<const char *>(at) - static_cast<const char *>(m.start)) < m.bytes;
  };
  if (lastMemory < launch.memoryCount && holds(launch.memory[lastMemory]))
    return &launch.memory[lastMemory];
  for (size_t i = 0; i < launch.memoryCount; ++i)
    if (holds(launch.memory[i])) {
      lastMemory = i;
      return &launch.memory[i];
    }
  return nullptr;
}

/// "8 bytes past 'argument 2' of 1024 bytes": the memory whose start is next below.
std::string describe(const void *at) {
  const HostMemory *best = nullptr;
  for (size_t i = 0; i < block.launch->memoryCount; ++i)
    if (const HostMemory &m = block.launch->memory[i]; m.start <= at && (!best || m.start > best->start))
      best = &m;
  if (!best)
    return "no memory of the kernel at 0x" + hexadecimal(reinterpret_cast<uint64_t>(at));
  const auto past = static_cast<const char *>(at) - static_cast<const char *>(best->start);
  return std::to_string(past) + " bytes into '" + best->name + "' of " + std::to_string(best->bytes) + " bytes";
}

[[noreturn]] void outOfBounds(const char *what, const void *at, size_t bytes, const void *code) {
  const auto past = static_cast<const unsigned char *>(at) - shared;
  const bool isShared = past >= 0 && past < static_cast<std::ptrdiff_t>(sharedLimit);
  fault(std::string("access out of bounds: ") + what + " of " + std::to_string(bytes) + " bytes, " +
            (isShared ? std::to_string(past) + " bytes into shared memory of " +
                            std::to_string(block.launch->sharedBytes) + " bytes"
                      : describe(at)),
        code);
}

bool isOnStack(const void *at) {
  return static_cast<size_t>(static_cast<const std::byte *>(at) - block.thread->stack) < stackBytes;
}

SharedRegion *regionAt(const void *at) {
  return dynamicRegion.has(at) ? &dynamicRegion : fixedRegion.has(at) ? &fixedRegion : nullptr;
}

} // namespace

void poisonShared() {
  dynamicRegion.reset(shared, block.launch->sharedBytes);
  fixedRegion.reset(fixedStart, static_cast<size_t>(fixedEnd - fixedStart));
}

void poisonShared(unsigned char *at, size_t bytes) {
  std::memset(at, 0xff, bytes);
  if (SharedRegion *region = regionAt(at))
    std::memset(&region->written[region->offset(at)], 0, bytes);
}

void markWritten(const unsigned char *at, size_t bytes) {
  if (SharedRegion *region = regionAt(at))
    std::memset(&region->written[region->offset(at)], 1, bytes);
}

void checkRead(const void *at, size_t bytes, const void *code) {
  if (isOnStack(at))
    return;
  if (const SharedRegion *region = regionAt(at)) {
    const size_t from = region->offset(at);
    if (from + bytes > region->bytes)
      outOfBounds("read", at, bytes, code);
    if (std::memchr(&region->written[from], 0, bytes))
      fault("uninitialised read: " + std::to_string(bytes) + " bytes of shared memory at " + std::to_string(from) +
                " that nobody wrote, or that a copy is still writing",
            code);
    return;
  }
  if (const HostMemory *memory = memoryAt(at)) {
    if (static_cast<const char *>(at) + bytes > static_cast<const char *>(memory->start) + memory->bytes)
      outOfBounds("read", at, bytes, code);
    return;
  }
  if (at < libraryStart || at >= libraryVariables)
    outOfBounds("read", at, bytes, code);
}

void checkWrite(const void *at, size_t bytes, const void *code) {
  if (isOnStack(at))
    return;
  if (SharedRegion *region = regionAt(at)) {
    const size_t from = region->offset(at);
    if (from + bytes > region->bytes)
      outOfBounds("write", at, bytes, code);
    std::memset(&region->written[from], 1, bytes);
    return;
  }
  const HostMemory *memory = memoryAt(at);
  if (!memory || static_cast<const char *>(at) + bytes > static_cast<const char *>(memory->start) + memory->bytes)
    outOfBounds("write", at, bytes, code);
}

} // namespace hostcuda

using namespace hostcuda;

#define FUSEC_ACCESS(name, function, bytes)                                                                            \
  extern "C" void __tsan_##name##bytes(void *at) { function(at, bytes, __builtin_return_address(0)); }                 \
  extern "C" void __tsan_unaligned_##name##bytes(void *at) { function(at, bytes, __builtin_return_address(0)); }
#define FUSEC_ACCESSES(bytes)                                                                                          \
  FUSEC_ACCESS(read, checkRead, bytes)                                                                                 \
  FUSEC_ACCESS(write, checkWrite, bytes)
FUSEC_ACCESSES(1)
FUSEC_ACCESSES(2)
FUSEC_ACCESSES(4)
FUSEC_ACCESSES(8)
FUSEC_ACCESSES(16)

extern "C" {
void __tsan_init() {}
void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
  if (bytes) {
    checkRead(from, bytes, __builtin_return_address(0));
    checkWrite(to, bytes, __builtin_return_address(0));
  }
  return std::memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes) {
  if (bytes) {
    checkRead(from, bytes, __builtin_return_address(0));
    checkWrite(to, bytes, __builtin_return_address(0));
  }
  return std::memmove(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes) {
  if (bytes)
    checkWrite(to, bytes, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}
}
