//===- NumberAutomaton.h - the spellings of a set of numbers ---------------===//
//
// A number is read digit by digit and compared with the bounds on the way:
// exact for integers and decimals of any size. Where a set has bounds or
// multiples, its numbers are spelled without an exponent (each has such a
// spelling); integers may be spelled "1.0".
//
//   NumberAutomaton automaton(set, limits);
//   if (!automaton.problem().ok()) ...               // a multipleOf that needs too many states
//   automaton.addTo(builder, rule);
//
// Threading: values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Machine.h"
#include "runtime/grammar/json/ValueSets.h"

#include <array>
#include <compare>
#include <optional>

namespace fusec::grammar::json {

class NumberAutomaton {
public:
  NumberAutomaton(const NumberSet &set, const Limits &limits);

  /// Unsupported: a multipleOf beyond what an automaton can track.
  const Status &problem() const { return error; }
  /// Some number is in the set.
  bool inhabited(CompileBudget &budget) const;
  /// Adds the states of `rule`.
  void addTo(MachineBuilder &builder, RuleId rule) const;

private:
  enum class Phase : uint8_t { Start, Minus, Zero, Whole, Point, Fraction, Exp, ExpSign, ExpDigits };
  /// What is known of the number after some of its text.
  struct State {
    Phase phase = Phase::Start;
    bool negative = false;
    bool nonzero = false;          ///< A digit other than 0 was read,
    bool fractionNonzero = false;  ///< also after the point.
    uint16_t digits = 0;           ///< In this phase.
    std::array<int8_t, 2> order{}; ///< Magnitude against low's and high's so far.
    uint32_t remainder = 0;        ///< Of the digits as an integer, by `modulus`.
    auto operator<=>(const State &) const = default;
  };

  void setMultiples(const std::vector<Decimal> &multiples);
  std::optional<State> step(const State &state, char byte) const;
  std::optional<State> digit(State state, char byte) const;
  std::optional<State> wholeDigit(State state, char byte) const;
  std::optional<State> fractionDigit(State state, char byte) const;
  State endWhole(State state) const;
  bool accepts(const State &state) const;
  bool meets(const State &state, const NumberSet::Bound &bound, int8_t order, bool lower) const;
  /// Calls visitEdge(from, byte, to) and visitEnd(state) on indices of states; false stops.
  template <typename Edge, typename End> void explore(CompileBudget &budget, Edge visitEdge, End visitEnd) const;

  const NumberSet set;
  bool plain; ///< Neither bounds nor multiples: exponents are allowed.
  uint16_t maxWhole, maxFraction;
  uint32_t modulus = 1; ///< The number times 10^scale is a multiple of it.
  uint16_t scale = 0;
  bool scaled = false; ///< There are multiples.
  Status error;
};

} // namespace fusec::grammar::json
