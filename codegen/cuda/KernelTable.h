//===- KernelTable.h - what the kernels of a target use --------------------===//
//
// The static account of an artifact's kernels for one CUDA target, kept beside
// them as kernels/<target>/resources.json and shown by `fusec inspect --kernels`.
// Columns that no compiler knows (bank conflicts, bytes moved) are filled by
// whoever ran the kernels on the virtual device, and null until then.
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
  std::optional<double> conflictFactor;  ///< Shared-memory wavefronts over the least possible.
  std::optional<int64_t> predictedBytes; ///< Of device memory, by the cost model.
  std::optional<int64_t> countedBytes;   ///< Of device memory, as the virtual device counted sectors.
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

/// Errors name the file, the kernel and the key.
Result<KernelTable> readKernelTable(const std::filesystem::path &file);

/// For people: one line per kernel; "-" is unknown.
std::string kernelTableText(const KernelTable &table);

} // namespace fusec::codegen
