//===- CompileLog.h - what NVRTC and ptxas say about a kernel --------------===//
//
// NVRTC's log with --ptxas-options=-v is the only account of registers, spills,
// stack and shared memory that needs no GPU and no disassembler.
//
//   FUSEC_ASSIGN_OR_RETURN(KernelResources found, parseCompileLog(log, "k0_v1"));
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::codegen {

/// Of one kernel and the functions it calls, as ptxas reports them.
struct KernelResources {
  int registers = 0;       ///< Per thread.
  int64_t spillStores = 0; ///< Bytes of the instructions that move registers to local memory.
  int64_t spillLoads = 0;  ///< And back.
  int64_t stackBytes = 0;  ///< Per thread, with the functions it calls.
  int64_t sharedBytes = 0; ///< Static, per block.
  int barriers = 0;        ///< Named barriers, __syncthreads among them.
  /// Lines of ptxas that tell of lost performance, e.g. wgmma made serial.
  std::vector<std::string> losses = {};
  /// Warnings of the front end and of ptxas, one line each.
  std::vector<std::string> warnings = {};
  bool operator==(const KernelResources &) const = default;
};

/// Reads the log of a module whose only kernel is `entry`. CorruptData when the log does not say what it used.
Result<KernelResources> parseCompileLog(std::string_view log, std::string_view entry);

/// The first error of a failed compilation, and how many more there are: "k0.cu(12): error: ...". Never empty.
std::string firstError(std::string_view log);

} // namespace fusec::codegen
