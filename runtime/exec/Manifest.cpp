//===- Manifest.cpp - names and sizes ----------------------------------------===//

#include "runtime/exec/Manifest.h"

#include "runtime/schema/StorageType.h"

#include <algorithm>

namespace fusec::runtime {

namespace {

constexpr std::string_view symbolNames[numSymbols] = {"T", "S", "B", "R", "C", "W"};
constexpr std::string_view stepGoalNames[numStepGoals] = {"logits", "sampled", "greedy"};

bool multiply(int64_t &value, int64_t by) { return !__builtin_mul_overflow(value, by, &value); }

/// Without forming value + by - 1, which can overflow.
int64_t ceilDiv(int64_t value, int64_t by) { return value / by + (value % by != 0); }

} // namespace

std::string_view symbolName(Symbol symbol) { return symbolNames[static_cast<size_t>(symbol)]; }

std::string_view stepGoalName(StepGoal goal) { return stepGoalNames[static_cast<size_t>(goal)]; }

std::optional<Symbol> symbolByName(std::string_view name) {
  auto row = std::find(std::begin(symbolNames), std::end(symbolNames), name);
  if (row == std::end(symbolNames))
    return std::nullopt;
  return static_cast<Symbol>(row - std::begin(symbolNames));
}

std::optional<ElementType> elementTypeByName(std::string_view name) {
  if (name == "i32")
    return ElementType{"i32", 1, 4};
  if (name == "f64")
    return ElementType{"f64", 1, 8};
  if (std::optional<StorageType> type = storageTypeByName(name)) {
    const StorageTypeInfo &row = info(*type);
    return ElementType{row.name, row.blockElements, row.blockBytes};
  }
  return std::nullopt;
}

std::optional<int64_t> BufferInfo::bytesAt(const SymbolValues &values) const {
  int64_t elements = 1;
  for (const Extent &dim : dims)
    if (!multiply(elements, dim.at(values)))
      return std::nullopt;
  int64_t size = ceilDiv(elements, type.blockElements);
  if (!multiply(size, type.blockBytes))
    return std::nullopt;
  return size;
}

bool LaunchInfo::serves(StepGoal goal) const {
  return goals.empty() || std::find(goals.begin(), goals.end(), goal) != goals.end();
}

bool LaunchInfo::isDone(const SymbolValues &values, bool hasLibrary) const {
  if (!path)
    return true;
  const bool byLibrary = hasLibrary && values[Symbol::Tokens] >= path->from;
  return byLibrary == (path->by == ProductPath::Library);
}

bool Manifest::usesLibrary() const {
  return std::any_of(launches.begin(), launches.end(),
                     [](const LaunchInfo &launch) { return launch.kind == LaunchKind::LibraryProduct; });
}

bool KernelVariant::accepts(const SymbolValues &values) const {
  return std::all_of(when.begin(), when.end(), [&](const Limit &limit) { return values[limit.symbol] <= limit.most; });
}

std::optional<int64_t> KernelVariant::programs(const SymbolValues &values) const {
  int64_t count = 1;
  for (const GridAxis &axis : grid)
    if (!multiply(count, ceilDiv(axis.extent.at(values), axis.tile)))
      return std::nullopt;
  return count;
}

const TargetInfo *Manifest::findTarget(std::string_view level) const {
  auto row = std::find_if(targets.begin(), targets.end(), [&](const TargetInfo &t) { return t.level == level; });
  return row == targets.end() ? nullptr : &*row;
}

std::optional<size_t> Manifest::findOutput(OutputKind kind) const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].kind == BufferKind::Output && buffers[i].output == kind)
      return i;
  return std::nullopt;
}

std::vector<std::string> Manifest::levels(TargetKind kind) const {
  std::vector<std::string> names;
  for (const TargetInfo &target : targets)
    if (target.kind == kind)
      names.push_back(target.level);
  return names;
}

std::vector<int64_t> Manifest::cachePageBytes() const {
  std::vector<int64_t> bytes;
  for (const BufferInfo &buffer : buffers)
    if (buffer.kind == BufferKind::Cache)
      bytes.push_back(buffer.pageBytes);
  return bytes;
}

} // namespace fusec::runtime
