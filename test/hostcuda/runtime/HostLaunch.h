//===- HostLaunch.h - how a test starts a kernel of a library -------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace hostcuda {

/// Memory that the kernel may touch.
struct HostMemory {
  const void *start;
  size_t bytes;
  const char *name;
};

/// A launch; the library's `fusecHostLaunch` runs it and returns 0, or 1 with the last three fields filled.
struct HostLaunch {
  void (*call)(const unsigned long long *parameters); ///< The library's `fusecCall_<entry>`.
  const unsigned long long *parameters;               ///< 64 bits each, at least as many as the kernel has.
  unsigned grid, threads;                             ///< Blocks, and threads of each.
  unsigned sharedBytes;
  const HostMemory *memory;
  size_t memoryCount;
  uint64_t seed; ///< Odd: threads take turns from the last to the first.

  char message[512];
  unsigned failedBlock, failedThread;
  uint64_t codeOffset; ///< Of the instruction in the library's file; 0 where the message names the place.
};

} // namespace hostcuda
