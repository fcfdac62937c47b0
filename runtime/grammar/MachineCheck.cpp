//===- MachineCheck.cpp - dead ends and left recursion of a machine --------===//
#include "runtime/grammar/MachineCheck.h"

#include <algorithm>

namespace fusec::grammar {

namespace {

/// An edge, seen from what it waits for.
struct Waiting {
  StateId from, target, callee; ///< `callee`: start state, or kNone.
};

/// The strongly connected component of each node (Tarjan's algorithm with its own stack).
class Components {
public:
  explicit Components(const std::vector<std::vector<StateId>> &g)
      : graph(g), component(g.size(), kNone), order(g.size(), kNone), low(g.size(), 0) {
    for (StateId node = 0; node < graph.size(); ++node)
      if (order[node] == kNone)
        visit(node);
  }
  uint32_t of(StateId node) const { return component[node]; }

private:
  struct Step {
    StateId node;
    size_t next;
  };

  void open(StateId node) {
    order[node] = low[node] = counter++;
    pending.push_back(node);
    steps.push_back({node, 0});
  }
  void close(StateId node) {
    steps.pop_back();
    if (!steps.empty())
      low[steps.back().node] = std::min(low[steps.back().node], low[node]);
    if (low[node] != order[node])
      return;
    for (StateId member = kNone; member != node;) {
      member = pending.back();
      pending.pop_back();
      component[member] = node;
    }
  }
  void visit(StateId root) {
    open(root);
    while (!steps.empty()) {
      Step &step = steps.back();
      StateId node = step.node;
      if (step.next == graph[node].size()) {
        close(node);
        continue;
      }
      StateId to = graph[node][step.next++];
      if (order[to] == kNone)
        open(to);
      else if (component[to] == kNone)
        low[node] = std::min(low[node], order[to]);
    }
  }

  const std::vector<std::vector<StateId>> &graph;
  std::vector<uint32_t> component, order, low;
  std::vector<StateId> pending;
  std::vector<Step> steps;
  uint32_t counter = 0;
};

} // namespace

std::vector<bool> MachineCheck::reachEnd(bool silentOnly) const {
  const auto &states = builder.states;
  std::vector<std::vector<Waiting>> waiting(states.size());
  for (StateId s = 0; s < states.size(); ++s) {
    if (!silentOnly)
      for (const ByteEdge &edge : states[s].bytes)
        waiting[edge.target].push_back({s, edge.target, kNone});
    for (const SilentEdge &edge : states[s].silents) {
      StateId callee = edge.callee == kNone ? kNone : builder.rules[edge.callee].start;
      waiting[edge.target].push_back({s, edge.target, callee});
      if (callee != kNone)
        waiting[callee].push_back({s, edge.target, callee});
    }
  }
  std::vector<bool> reached(states.size());
  std::vector<StateId> work;
  auto reach = [&](StateId s) {
    if (!reached[s])
      work.push_back(s);
    reached[s] = true;
  };
  for (StateId s = 0; s < states.size(); ++s)
    if (states[s].accept)
      reach(s);
  while (!work.empty()) {
    StateId s = work.back();
    work.pop_back();
    for (const Waiting &edge : waiting[s])
      if (reached[edge.target] && (edge.callee == kNone || reached[edge.callee]))
        reach(edge.from);
  }
  return reached;
}

void MachineCheck::removeDeadEnds() {
  live = reachEnd(/*silentOnly=*/false);
  for (auto &state : builder.states) {
    std::erase_if(state.bytes, [&](const ByteEdge &edge) { return !live[edge.target]; });
    std::erase_if(state.silents, [&](const SilentEdge &edge) {
      return !live[edge.target] || (edge.callee != kNone && !live[builder.rules[edge.callee].start]);
    });
  }
}

std::vector<std::vector<StateId>> MachineCheck::silentGraph(const std::vector<bool> &nullable) const {
  std::vector<std::vector<StateId>> graph(builder.states.size());
  for (StateId s = 0; s < graph.size(); ++s)
    for (const SilentEdge &edge : builder.states[s].silents) {
      if (edge.callee != kNone)
        graph[s].push_back(builder.rules[edge.callee].start);
      if (edge.callee == kNone || nullable[builder.rules[edge.callee].start])
        graph[s].push_back(edge.target);
    }
  return graph;
}

Status MachineCheck::findLeftRecursion() const {
  std::vector<std::vector<StateId>> graph = silentGraph(reachEnd(/*silentOnly=*/true));
  Components components(graph);
  for (StateId s = 0; s < graph.size(); ++s)
    for (const SilentEdge &edge : builder.states[s].silents)
      if (edge.callee != kNone && components.of(s) == components.of(builder.rules[edge.callee].start))
        return invalidArgument("rule '" + builder.rules[edge.callee].name +
                               "' is left-recursive: it reaches itself without consuming anything");
  return {};
}

} // namespace fusec::grammar
