//===- CharDfa.h - deterministic automata over characters ------------------===//
//
// What JSON strings and property names are built from: sets of strings that
// can be intersected exactly.
//
//   CharDfa words = CharDfa::ofPattern("^[a-z]+$", budget);
//   CharDfa both = CharDfa::product(words, CharDfa::ofLength(2, 8, budget), budget);
//
// State 0 is the start; a character without an edge is refused. Every state
// reaches an accepting one (prune()), unless the set is empty.
//
// Threading: values. Errors stick in the budget.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/CodePoints.h"
#include "runtime/grammar/Limits.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::grammar {

class CharDfa {
public:
  struct Edge {
    char32_t low, high;
    uint32_t to;
    bool operator==(const Edge &) const = default;
  };
  struct State {
    std::vector<Edge> edges; ///< Sorted and disjoint.
    bool accept = false;
  };

  static CharDfa all();
  /// Strings in which the ECMA-262 expression matches somewhere.
  static CharDfa ofPattern(std::string_view pattern, CompileBudget &budget);
  static CharDfa ofLiterals(const std::vector<std::string> &literals, CompileBudget &budget);
  /// `max` may be kNone.
  static CharDfa ofLength(uint32_t min, uint32_t max, CompileBudget &budget);
  static CharDfa product(const CharDfa &a, const CharDfa &b, CompileBudget &budget);
  CharDfa complement() const;

  bool empty() const { return !states[0].accept && states[0].edges.empty(); }
  bool matches(std::string_view text) const;
  /// Every string is in the set.
  bool isAll() const;
  /// Characters from each state to the nearest accepting one.
  std::vector<uint32_t> distances() const;
  /// Removes edges that lead to no accepting state.
  void prune();
  /// The target of `point`, or UINT32_MAX.
  uint32_t next(uint32_t state, char32_t point) const;

  std::vector<State> states;
};

/// Sorted borders of the ranges where any of the states' edges begin or end:
/// characters between two borders behave alike.
class CharCuts {
public:
  void add(const CharDfa::State &state);
  void add(char32_t low, char32_t high);
  /// Calls visit(low, high) for each range between neighbouring borders.
  template <typename Visit> void forEach(Visit visit) {
    finish();
    for (size_t i = 0; i + 1 < borders.size(); ++i)
      visit(borders[i], borders[i + 1] - 1);
  }

private:
  void finish();
  std::vector<char32_t> borders;
};

/// Appends, merging with the last edge where they adjoin.
void appendEdge(std::vector<CharDfa::Edge> &edges, CharDfa::Edge edge);

} // namespace fusec::grammar
