//===- KernelTable.cpp - the kernels of a plan and what each does ------------------------===//
#include "passes/report/BuildReport.h"
#include "passes/report/OpName.h"
#include "passes/report/Traffic.h"

#include "ir/tile/TileDialect.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

#include <set>

using namespace mlir;

namespace fusec::report {

namespace {

/// The members of each kernel group, and the ops recomputed in it, by index into the graph.
class Groups {
public:
  explicit Groups(const Graph &graph) : graph(graph) {
    for (auto [i, op] : llvm::enumerate(graph.ops)) {
      index[op.name] = i;
      if (op.group >= 0)
        members[op.group].push_back(i);
    }
    for (auto &[number, ops] : members)
      order.push_back(number);
    for (int64_t number : order)
      addRecomputed(number);
  }

  /// The group that a launch belongs to. Launches come in group order; two in a row with the same
  /// members are the parts of one split group.
  int64_t groupOf(ArrayRef<std::string> launchOps) {
    if (next < order.size() && sameOps(order[next], launchOps))
      return order[next++];
    return next > 0 ? order[next - 1] : -1;
  }

  const std::vector<size_t> &membersOf(int64_t group) const { return members.at(group); }
  const std::vector<size_t> &recomputedIn(int64_t group) const { return recomputed.at(group); }

private:
  bool sameOps(int64_t group, ArrayRef<std::string> launchOps) const {
    const std::vector<size_t> &ops = members.at(group);
    if (ops.size() != launchOps.size())
      return false;
    for (auto [i, name] : llvm::zip(ops, launchOps))
      if (graph.ops[i].launchName != name)
        return false;
    return true;
  }

  void addRecomputed(int64_t group) {
    std::set<size_t> found;
    std::vector<size_t> pending = members[group];
    while (!pending.empty()) {
      size_t current = pending.back();
      pending.pop_back();
      for (const std::string &input : graph.ops[current].inputs)
        if (auto it = index.find(input); it != index.end() && graph.ops[it->second].recomputed)
          if (found.insert(it->second).second)
            pending.push_back(it->second);
    }
    recomputed[group].assign(found.begin(), found.end());
  }

  const Graph &graph;
  std::map<std::string, size_t> index;
  std::map<int64_t, std::vector<size_t>> members, recomputed;
  std::vector<int64_t> order;
  size_t next = 0;
};

std::string textOf(Attribute attr) {
  std::string text;
  if (attr)
    llvm::raw_string_ostream(text) << attr;
  return text;
}

std::vector<std::string> opsOf(plan::LaunchOp launch) {
  std::vector<std::string> names;
  if (launch.getOps())
    for (auto name : launch.getOps()->getAsRange<StringAttr>())
      names.push_back(name.str());
  return names;
}

class KernelTable {
public:
  KernelTable(ModuleOp plan, const Graph &graph) : symbols(plan), graph(graph), groups(graph) {}

  void add(const LaunchTraffic &traffic) {
    plan::LaunchOp launch = traffic.launch;
    Kernel &row = rows[launch.getKernel()];
    int64_t group = groups.groupOf(opsOf(launch));
    if (row.launches++ == 0)
      describe(row, traffic, group);
    row.launchNames.push_back(launch.getName().str());
    row.read += traffic.readBytes;
    row.written += traffic.writtenBytes;
    row.loaded += traffic.loadedBytes;
    row.minimum += traffic.minimumBytes;
    if (group >= 0 && counted.insert(group).second) {
      row.groups.push_back(group);
      firstKernel[group] = row.name;
      addWork(row, group);
    } else if (group >= 0) {
      row.partOf = firstKernel[group];
    }
    if (int64_t layer = layerOf(launch.getName()); layer >= 0)
      row.launchesPerLayer = std::max(row.launchesPerLayer, ++perLayer[{row.name, layer}]);
  }

  std::vector<Kernel> take() {
    std::vector<Kernel> list;
    for (auto &[name, row] : rows)
      list.push_back(std::move(row));
    return list;
  }

private:
  void describe(Kernel &row, const LaunchTraffic &traffic, int64_t group) {
    plan::LaunchOp launch = traffic.launch;
    row.name = launch.getKernel().str();
    row.variant = traffic.variant.str();
    auto kernel = symbols.lookup<tile::KernelOp>(traffic.variant);
    row.schedule = textOf(kernel.getScheduleAttr());
    row.kind = "rows";
    if (group < 0)
      return;
    for (size_t i : groups.membersOf(group)) {
      const Op &op = graph.ops[i];
      row.members.push_back(withoutLayer(op.name));
      if (op.kind == "contract" && row.kind == "rows")
        row.kind = "contract";
      if (op.cascade)
        row.kind = "cascade";
    }
    for (size_t i : groups.recomputedIn(group))
      row.recomputed.push_back(withoutLayer(graph.ops[i].name));
  }

  /// What the group's ops would move and compute alone; recomputed ops count where they are read first.
  void addWork(Kernel &row, int64_t group) {
    for (size_t i : groups.membersOf(group)) {
      row.unfused += graph.ops[i].unfusedBytes;
      row.operations += graph.ops[i].operations;
    }
    for (size_t i : groups.recomputedIn(group)) {
      row.operations += graph.ops[i].operations;
      if (recomputedCounted.insert(i).second)
        row.unfused += graph.ops[i].unfusedBytes;
    }
  }

  SymbolTable symbols;
  const Graph &graph;
  Groups groups;
  llvm::MapVector<StringRef, Kernel> rows;
  std::map<std::pair<std::string, int64_t>, int64_t> perLayer;
  std::set<int64_t> counted;
  std::map<int64_t, std::string> firstKernel; ///< Of each group: the one that does its work.
  std::set<size_t> recomputedCounted;
};

} // namespace

std::vector<Kernel> buildKernels(ModuleOp plan, const Graph &grouped, const StepSizes &sizes, const StepShape &step) {
  KernelTable table(plan, grouped);
  for (const LaunchTraffic &traffic : trafficOf(plan, sizes, singleSequence(sizes, step.context)))
    table.add(traffic);
  return table.take();
}

} // namespace fusec::report
