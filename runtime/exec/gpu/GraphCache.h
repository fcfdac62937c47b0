//===- GraphCache.h - captured decode steps, by bucket --------------------------===//
//
// What must never happen is that a graph replays something else than the step
// would launch. So a graph's key is what the step is asked for and every symbol
// of its bucket; after a capture
// the graph's own list of launches is compared with a plan computed anew for the
// key; and before each replay the step's real sizes are checked against what was
// captured (the same variants accept them, the grids cover them). Graphs hold
// generated kernels only: a library may choose its own launches anew.
//
// Owns the graphs; borrows plan and stream. Threading: one user.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/gpu/GpuDevice.h"
#include "runtime/exec/gpu/GpuLaunchPlan.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fusec::runtime {

class GraphCache {
public:
  struct Entry {
    std::unique_ptr<GpuGraph> graph; ///< Null: the device did not capture it.
    std::string failure;             ///< Why.
    std::vector<PlannedLaunch> launches;
  };
  struct Found {
    const Entry *entry;
    bool isNew;
  };

  /// The graph for a bucket, captured on first use. A capture that the device
  /// refuses is an entry without graph. Internal error when the graph holds
  /// something else than the plan.
  Result<Found> find(StepGoal goal, const SymbolValues &bucket, const GpuLaunchPlan &plan, GpuStream &stream);

  /// Internal error unless the entry's launches cover a step of these sizes.
  static Status checkCovers(const Entry &entry, const SymbolValues &values);

private:
  Result<Entry> capture(StepGoal goal, const SymbolValues &bucket, const GpuLaunchPlan &plan, GpuStream &stream);

  using Key = std::pair<StepGoal, std::array<int64_t, numSymbols>>;
  std::map<Key, Entry> entries;
};

} // namespace fusec::runtime
