//===- CharNfa.cpp - expressions to deterministic automata -----------------===//
//
// Thompson's construction and the subset construction, with anchors: closures
// are taken at the start of the text (where ^ may be passed), and acceptance is
// decided by a closure at its end (where $ may be passed).
//
//===----------------------------------------------------------------------===//
#include "runtime/grammar/CharDfa.h"
#include "runtime/grammar/RegexParser.h"

#include <algorithm>
#include <map>

namespace fusec::grammar {

namespace {

using Set = std::vector<uint32_t>;

class CharNfa {
public:
  CharNfa(const ExprPool &p, CompileBudget &b) : pool(p), budget(b) {}

  CharDfa build(ExprId expr) {
    uint32_t start = add();
    last = compile(expr, start);
    CharDfa dfa;
    std::map<Set, uint32_t> ids;
    std::vector<Set> sets;
    auto idOf = [&](Set set) {
      auto [entry, isNew] = ids.try_emplace(std::move(set), static_cast<uint32_t>(sets.size()));
      if (isNew) {
        sets.push_back(entry->first);
        dfa.states.push_back({{}, accepts(entry->first, sets.size() == 1)});
      }
      return entry->second;
    };
    // The marker keeps the first set apart: ^ matches only there.
    uint32_t marker = add();
    idOf(closure({start, marker}, /*atStart=*/true, /*atEnd=*/false));
    for (uint32_t i = 0; i < sets.size() && budget.spend(1); ++i)
      for (const CharDfa::Edge &edge : transitions(Set(sets[i]), start, idOf))
        appendEdge(dfa.states[i].edges, edge);
    if (!budget.exhausted())
      dfa.prune();
    return dfa;
  }

private:
  struct State {
    std::vector<CharDfa::Edge> edges;
    std::vector<uint32_t> silent;
    std::vector<std::pair<ExprKind, uint32_t>> anchors;
  };

  uint32_t add() {
    budget.spend(1);
    states.emplace_back();
    return static_cast<uint32_t>(states.size() - 1);
  }

  uint32_t compile(ExprId id, uint32_t from) {
    if (budget.exhausted())
      return from;
    const Expr &expr = pool[id];
    switch (expr.kind) {
    case ExprKind::Sequence:
      for (ExprId part : expr.parts)
        from = compile(part, from);
      return from;
    case ExprKind::Repeat:
      return repeat(expr, from);
    default:
      break;
    }
    uint32_t to = add();
    for (const CodePoints::Range &range : expr.points.ranges())
      states[from].edges.push_back({range.low, range.high, to});
    for (ExprId part : expr.parts) {
      uint32_t end = compile(part, from);
      states[end].silent.push_back(to);
    }
    if (expr.kind == ExprKind::Begin || expr.kind == ExprKind::End)
      states[from].anchors.push_back({expr.kind, to});
    return to;
  }

  uint32_t repeat(const Expr &expr, uint32_t from) {
    for (uint32_t i = 0; i < expr.min && !budget.exhausted(); ++i)
      from = compile(expr.parts[0], from);
    uint32_t end = add();
    if (expr.max == kNone) {
      uint32_t again = add();
      states[from].silent.push_back(again);
      uint32_t once = compile(expr.parts[0], again);
      states[once].silent.push_back(again);
      states[again].silent.push_back(end);
      return end;
    }
    states[from].silent.push_back(end);
    for (uint32_t i = expr.min; i < expr.max && !budget.exhausted(); ++i) {
      from = compile(expr.parts[0], from);
      states[from].silent.push_back(end);
    }
    return end;
  }

  Set closure(Set set, bool atStart, bool atEnd) {
    std::vector<bool> seen(states.size());
    for (uint32_t s : set)
      seen[s] = true;
    auto reach = [&](uint32_t s) {
      if (!seen[s])
        set.push_back(s);
      seen[s] = true;
    };
    for (size_t i = 0; i < set.size(); ++i) {
      const State &state = states[set[i]];
      for (uint32_t to : state.silent)
        reach(to);
      for (auto [kind, to] : state.anchors)
        if (kind == ExprKind::Begin ? atStart : atEnd)
          reach(to);
    }
    budget.spend(set.size() / 8);
    std::sort(set.begin(), set.end());
    return set;
  }

  bool accepts(const Set &set, bool atStart) {
    Set all = closure(set, atStart, /*atEnd=*/true);
    return std::binary_search(all.begin(), all.end(), last);
  }

  /// The match may begin anywhere, and nothing that follows a match matters.
  template <typename IdOf> std::vector<CharDfa::Edge> transitions(const Set &set, uint32_t start, IdOf idOf) {
    std::vector<CharDfa::Edge> edges;
    if (std::binary_search(set.begin(), set.end(), last))
      return edges.push_back({0, kLastCodePoint, idOf(set)}), edges;
    CharCuts cuts;
    cuts.add(0, kLastCodePoint);
    for (uint32_t s : set)
      for (const CharDfa::Edge &edge : states[s].edges)
        cuts.add(edge.low, edge.high);
    cuts.forEach([&](char32_t low, char32_t high) {
      if (!budget.spend(1 + set.size() / 8))
        return;
      Set next{start};
      for (uint32_t s : set)
        for (const CharDfa::Edge &edge : states[s].edges)
          if (edge.low <= low && edge.high >= high)
            next.push_back(edge.to);
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end()), next.end());
      next = closure(std::move(next), false, false);
      // A set that has matched stands for every set that has.
      if (std::binary_search(next.begin(), next.end(), last))
        next = {last};
      appendEdge(edges, {low, high, idOf(std::move(next))});
    });
    return edges;
  }

  const ExprPool &pool;
  CompileBudget &budget;
  std::vector<State> states;
  uint32_t last = 0;
};

} // namespace

CharDfa CharDfa::ofPattern(std::string_view pattern, CompileBudget &budget) {
  ExprPool pool(budget);
  ExprId expr = parseRegex(pool, pattern, RegexAnchors::Anywhere);
  if (budget.exhausted())
    return CharDfa::all();
  return CharNfa(pool, budget).build(expr);
}

} // namespace fusec::grammar
