//===- KernelTable.h - what the kernels of a target use --------------------===//
//
// The static account of an artifact's kernels for one CUDA target, kept beside
// them as kernels/<target>/resources.json and shown by `fusec inspect --kernels`.
// Columns that no compiler knows (bank conflicts, bytes moved) are filled by
// running the kernels on the virtual device (`--count`), and null without.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fusec::codegen {

struct CudaKernel;
struct CudaTarget;

/// A step whose bytes the table states: one sequence, `context` positions with the step's.
struct TableStep {
  int64_t tokens, context;
};
/// A kernel's bytes are those of the first of these steps that runs it.
inline constexpr TableStep tableSteps[] = {{1, 2048}, {8, 2048}, {64, 2048}};

/// One kernel.
struct KernelTableRow {
  std::string entry;
  std::string family;        ///< Of its budget.
  int64_t rung = 0;          ///< Of its ladder of tiles; 0 = the preferred one.
  int64_t threads = 0;       ///< Per block.
  int64_t registers = 0;     ///< Per thread.
  int64_t spillBytes = 0;    ///< Stores and loads.
  int64_t stackBytes = 0;    ///< Per thread.
  int64_t staticShared = 0;  ///< Bytes per block.
  int64_t dynamicShared = 0; ///< Bytes per block.
  int64_t barriers = 0;
  int64_t blocks = 0;   ///< At once on one multiprocessor.
  double occupancy = 0; ///< Of the warp slots.
  std::string limit;    ///< What allows no more blocks.
  int64_t cubinBytes = 0;
  std::optional<int64_t> tokens;         ///< Of the step that the rest is about, a row of tableSteps.
  std::optional<int64_t> predictedBytes; ///< What each program loads, and what it stores, once; from the plan.
  std::optional<int64_t> countedBytes;   ///< The same in sectors of 32 bytes, as the virtual device counted.
  std::optional<int64_t> requestedBytes; ///< In sectors that warps ask for, those included that a cache holds.
  std::optional<double> conflictFactor;  ///< Shared-memory wavefronts over the least possible, likewise.
  bool operator==(const KernelTableRow &) const = default;
};

struct KernelTable {
  std::string target;   ///< "sm_80".
  std::string compiler; ///< "NVRTC 13.0".
  std::vector<KernelTableRow> rows;
  bool operator==(const KernelTable &) const = default;
};

/// File name of a table in its target's folder.
inline constexpr const char *kernelTableName = "resources.json";

KernelTableRow kernelTableRow(const CudaKernel &kernel);

/// JSON with a line per member; the same table gives the same bytes.
std::string kernelTableJson(const KernelTable &table);

/// Writes `folder`/resources.json.
Status writeKernelTable(const std::filesystem::path &folder, const KernelTable &table);

/// Errors name the file, the kernel and the key.
Result<KernelTable> readKernelTable(const std::filesystem::path &file);

/// For people: one line per kernel; "-" is unknown.
std::string kernelTableText(const KernelTable &table);

} // namespace fusec::codegen
