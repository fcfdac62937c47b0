//===- GpuMemory.h - everything an executor keeps on a GPU ----------------------===//
//
// Two allocations, planned before any step and checked against what is free:
// the weights, and one pool of cache pages, activations and step inputs.
//
// Cache pages lie as on the host (runtime/kv/KvCache.h): page p of all caches
// side by side, then page p + 1 of each. In the contiguous layout they are mapped:
// the pages in order, behind them the ranges of SequenceRanges.
//
// Owns the memory; move-only; must die before the device.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/gpu/GpuDevice.h"
#include "runtime/exec/Artifact.h"
#include "runtime/exec/MemoryPlan.h"
#include "runtime/exec/SlotLayout.h"
#include "runtime/exec/gpu/StepBlock.h"
#include "runtime/kv/BlockAllocator.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace fusec::runtime {

class GpuMemory {
public:
  /// Called as loading advances; `fraction` runs from 0 to 1.
  using Progress = std::function<void(std::string_view stage, double fraction)>;

  /// ResourceExhausted shows the sum of what is needed and what is free.
  /// `virtualPages`: 0, or those of the contiguous layout.
  static Result<GpuMemory> reserve(GpuDevice &device, const Artifact &artifact, const SymbolValues &maxima,
                                   int64_t numPages, int64_t virtualPages = 0);

  /// Copies the weights, and zeroes the rest: no kernel ever reads a NaN that nobody wrote.
  Status fill(GpuStream &stream, const Artifact &artifact, const Progress &progress);

  /// Device memory for StepBlock.
  const StepBlockLayout &stepLayout() const { return step; }
  GpuAddress stepAddress() const { return pool.address() + stepOffset; }
  /// The address of each buffer of the manifest, in order.
  std::vector<GpuAddress> addresses(const Manifest &manifest) const;

  /// Page `id` of all caches: pageStride() bytes.
  GpuAddress pageAddress(BlockId id) const { return cacheAddress() + toIndex(id) * stride; }
  /// Shows a page at a virtual page of the contiguous layout; no kernel may be running.
  Status map(int64_t virtualPage, BlockId page) { return mapped->map(virtualPage, toIndex(page)); }
  int64_t pageStride() const { return stride; }

  /// Rows for the weights, the cache, activations, logits and step inputs.
  const MemoryPlan &plan() const { return rows; }

private:
  GpuMemory(const SymbolValues &maxima, const Manifest &manifest)
      : step(maxima, manifest.kv.queryTile, manifest.findOutput(OutputKind::Choices).has_value()) {}
  GpuAddress cacheAddress() const { return mapped ? mapped->address() : pool.address(); }
  Status lay(const Artifact &artifact, const SymbolValues &maxima, int64_t numPages, bool isMapped);
  Status mapCache(GpuDevice &device, int64_t numPages, int64_t virtualPages);
  Status checkFree(GpuDevice &device) const;

  GpuBuffer weights, pool;
  std::unique_ptr<GpuMappedPages> mapped; ///< Contiguous layout: the cache, which is then not in the pool.
  SlotLayout slots;
  StepBlockLayout step;
  std::vector<int64_t> cacheOffsets; ///< Of each cache buffer's page 0, from the pool's start.
  int64_t stride = 0;                ///< Bytes from a page of a cache to its next.
  int64_t cacheBytes = 0;
  int64_t slotOffset = 0, stepOffset = 0, poolBytes = 0;
  MemoryPlan rows;
};

} // namespace fusec::runtime
