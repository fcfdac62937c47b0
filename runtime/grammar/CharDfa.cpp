//===- CharDfa.cpp - deterministic automata over characters ----------------===//
#include "runtime/grammar/CharDfa.h"

#include "runtime/text/Utf8.h"

#include <algorithm>
#include <map>

namespace fusec::grammar {

void CharCuts::add(char32_t low, char32_t high) {
  borders.push_back(low);
  borders.push_back(high + 1);
}

void CharCuts::add(const CharDfa::State &state) {
  for (const CharDfa::Edge &edge : state.edges)
    add(edge.low, edge.high);
}

void CharCuts::finish() {
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
}

void appendEdge(std::vector<CharDfa::Edge> &edges, CharDfa::Edge edge) {
  if (!edges.empty() && edges.back().to == edge.to && edges.back().high + 1 == edge.low)
    edges.back().high = edge.high;
  else
    edges.push_back(edge);
}

CharDfa CharDfa::all() {
  CharDfa dfa;
  dfa.states.emplace_back();
  dfa.states[0].edges.push_back({0, kLastCodePoint, 0});
  dfa.states[0].accept = true;
  return dfa;
}

CharDfa CharDfa::ofLiterals(const std::vector<std::string> &literals, CompileBudget &budget) {
  CharDfa dfa;
  dfa.states.emplace_back();
  std::map<std::pair<uint32_t, char32_t>, uint32_t> trie; // Sorted: edges come out in order.
  for (const std::string &literal : literals) {
    uint32_t at = 0;
    for (size_t i = 0; i < literal.size() && budget.spend(1);) {
      text::CodePoint point = text::decodeUtf8(literal, i);
      i += point.length;
      auto [entry, isNew] = trie.try_emplace({at, point.value}, static_cast<uint32_t>(dfa.states.size()));
      if (isNew)
        dfa.states.emplace_back();
      at = entry->second;
    }
    dfa.states[at].accept = true;
  }
  for (const auto &[from, to] : trie)
    dfa.states[from.first].edges.push_back({from.second, from.second, to});
  return dfa;
}

CharDfa CharDfa::ofLength(uint32_t min, uint32_t max, CompileBudget &budget) {
  CharDfa dfa;
  uint32_t last = max == UINT32_MAX ? min : max;
  for (uint32_t length = 0; length <= last && budget.spend(1); ++length) {
    State state{{}, length >= min};
    if (length < last)
      state.edges.push_back({0, kLastCodePoint, length + 1});
    else if (max == UINT32_MAX)
      state.edges.push_back({0, kLastCodePoint, length});
    dfa.states.push_back(std::move(state));
  }
  if (min > last || dfa.states.empty())
    dfa.states.assign(1, {});
  return dfa;
}

CharDfa CharDfa::product(const CharDfa &a, const CharDfa &b, CompileBudget &budget) {
  CharDfa dfa;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> ids;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  auto idOf = [&](uint32_t x, uint32_t y) {
    auto [entry, isNew] = ids.try_emplace({x, y}, static_cast<uint32_t>(pairs.size()));
    if (isNew) {
      pairs.push_back({x, y});
      dfa.states.push_back({{}, a.states[x].accept && b.states[y].accept});
    }
    return entry->second;
  };
  idOf(0, 0);
  for (size_t i = 0; i < pairs.size() && budget.spend(1); ++i) {
    auto [x, y] = pairs[i];
    CharCuts cuts;
    cuts.add(a.states[x]);
    cuts.add(b.states[y]);
    cuts.forEach([&](char32_t low, char32_t high) {
      uint32_t nextA = a.next(x, low), nextB = b.next(y, low);
      if (nextA == UINT32_MAX || nextB == UINT32_MAX || !budget.spend(1))
        return;
      uint32_t to = idOf(nextA, nextB);
      appendEdge(dfa.states[i].edges, {low, high, to});
    });
  }
  dfa.prune();
  return dfa;
}

CharDfa CharDfa::complement() const {
  CharDfa dfa;
  auto sink = static_cast<uint32_t>(states.size());
  for (const State &state : states) {
    State flipped{{}, !state.accept};
    char32_t next = 0;
    for (const Edge &edge : state.edges) {
      if (edge.low > next)
        flipped.edges.push_back({next, edge.low - 1, sink});
      flipped.edges.push_back(edge);
      next = edge.high + 1;
    }
    if (next <= kLastCodePoint)
      flipped.edges.push_back({next, kLastCodePoint, sink});
    dfa.states.push_back(std::move(flipped));
  }
  dfa.states.push_back(CharDfa::all().states[0]);
  dfa.states.back().edges[0].to = sink;
  dfa.prune();
  return dfa;
}

uint32_t CharDfa::next(uint32_t state, char32_t point) const {
  const std::vector<Edge> &edges = states[state].edges;
  auto edge = std::partition_point(edges.begin(), edges.end(), [&](const Edge &e) { return e.high < point; });
  return edge != edges.end() && edge->low <= point ? edge->to : UINT32_MAX;
}

bool CharDfa::matches(std::string_view text) const {
  uint32_t at = 0;
  for (size_t i = 0; i < text.size();) {
    text::CodePoint point = text::decodeUtf8(text, i);
    i += point.length;
    at = next(at, point.value);
    if (at == UINT32_MAX)
      return false;
  }
  return states[at].accept;
}

bool CharDfa::isAll() const {
  return std::all_of(states.begin(), states.end(), [](const State &state) {
    bool covers = !state.edges.empty() && state.edges.front().low == 0 && state.edges.back().high == kLastCodePoint;
    for (size_t i = 1; i < state.edges.size(); ++i)
      covers &= state.edges[i].low == state.edges[i - 1].high + 1;
    return state.accept && covers;
  });
}

std::vector<uint32_t> CharDfa::distances() const {
  std::vector<std::vector<uint32_t>> sources(states.size());
  for (uint32_t from = 0; from < states.size(); ++from)
    for (const Edge &edge : states[from].edges)
      sources[edge.to].push_back(from);
  std::vector<uint32_t> distance(states.size(), UINT32_MAX), work;
  for (uint32_t s = 0; s < states.size(); ++s)
    if (states[s].accept) {
      distance[s] = 0;
      work.push_back(s);
    }
  for (size_t i = 0; i < work.size(); ++i)
    for (uint32_t from : sources[work[i]])
      if (distance[from] == UINT32_MAX) {
        distance[from] = distance[work[i]] + 1;
        work.push_back(from);
      }
  return distance;
}

void CharDfa::prune() {
  std::vector<uint32_t> distance = distances();
  for (State &state : states)
    std::erase_if(state.edges, [&](const Edge &edge) { return distance[edge.to] == UINT32_MAX; });
}

} // namespace fusec::grammar
