//===- GraphCache.cpp ----------------------------------------------------------===//

#include "runtime/exec/gpu/GraphCache.h"

namespace fusec::runtime {

namespace {

std::string print(const SymbolValues &values) {
  std::string text;
  for (size_t i = 0; i < numSymbols; ++i)
    text += (i ? ", " : "") + std::string(symbolName(static_cast<Symbol>(i))) + "=" + std::to_string(values.values[i]);
  return text;
}

std::string print(const GpuGraphLaunch &launch) {
  return launch.function + " <<<" + std::to_string(launch.grid.x) + ", " + std::to_string(launch.block.x) + ", " +
         std::to_string(launch.sharedBytes) + ">>> with " + std::to_string(launch.parameters.size()) + " parameters";
}

/// Everything in it but other parameters looks the same in print; say so.
std::string difference(const GpuGraphLaunch &planned, const GpuGraphLaunch &captured) {
  const bool onlyParameters = print(planned) == print(captured);
  return "planned " + print(planned) + ", captured " + print(captured) + (onlyParameters ? " whose values differ" : "");
}

Status compare(const std::vector<GpuGraphLaunch> &captured, const std::vector<PlannedLaunch> &planned) {
  for (size_t i = 0; i < planned.size() && i < captured.size(); ++i)
    if (GpuGraphLaunch expected = asCaptured(planned[i].launch); !(captured[i] == expected))
      return internalError("launch " + std::to_string(i) + ": " + difference(expected, captured[i]));
  if (captured.size() != planned.size())
    return internalError("planned " + std::to_string(planned.size()) + " launches, captured " +
                         std::to_string(captured.size()));
  return {};
}

/// Records the launches; whatever goes wrong, the stream stops capturing.
Result<std::unique_ptr<GpuGraph>> record(const std::vector<PlannedLaunch> &launches, GpuStream &stream) {
  FUSEC_RETURN_IF_ERROR(stream.beginCapture());
  Status status;
  for (const PlannedLaunch &planned : launches)
    if (status = stream.launch(planned.launch); !status.ok())
      break;
  Result<std::unique_ptr<GpuGraph>> graph = stream.endCapture();
  if (!status.ok())
    return status;
  return graph;
}

} // namespace

Result<GraphCache::Entry> GraphCache::capture(StepGoal goal, const SymbolValues &bucket, const GpuLaunchPlan &plan,
                                              GpuStream &stream) {
  Entry entry;
  FUSEC_ASSIGN_OR_RETURN(entry.launches, plan.at(bucket, goal, /*hasLibrary=*/false));
  Result<std::unique_ptr<GpuGraph>> graph = record(entry.launches, stream);
  if (!graph) {
    entry.failure = graph.status().message();
    return entry;
  }
  FUSEC_ASSIGN_OR_RETURN(std::vector<GpuGraphLaunch> captured, (*graph)->launches());
  // Computed again: what is compared is the run-time plan of the key, not the list that was just recorded.
  FUSEC_ASSIGN_OR_RETURN(std::vector<PlannedLaunch> planned, plan.at(bucket, goal, /*hasLibrary=*/false));
  if (Status status = compare(captured, planned); !status.ok())
    return status.withContext("captured graph for " + print(bucket));
  entry.graph = std::move(*graph);
  return entry;
}

Result<GraphCache::Found> GraphCache::find(StepGoal goal, const SymbolValues &bucket, const GpuLaunchPlan &plan,
                                           GpuStream &stream) {
  const Key key(goal, bucket.values);
  if (auto known = entries.find(key); known != entries.end())
    return Found{&known->second, false};
  FUSEC_ASSIGN_OR_RETURN(Entry entry, capture(goal, bucket, plan, stream));
  auto [row, inserted] = entries.emplace(key, std::move(entry));
  return Found{&row->second, inserted};
}

Status GraphCache::checkCovers(const Entry &entry, const SymbolValues &values) {
  for (const PlannedLaunch &launch : entry.launches) {
    std::optional<int64_t> programs = launch.variant->programs(values);
    if (!launch.variant->accepts(values) || !programs || *programs > launch.programs)
      return internalError("captured graph: kernel '" + launch.variant->entry + "' with " +
                           std::to_string(launch.programs) + " programs does not cover a step of " + print(values));
  }
  return {};
}

} // namespace fusec::runtime
