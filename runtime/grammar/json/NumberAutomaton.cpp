//===- NumberAutomaton.cpp - the spellings of a set of numbers -------------===//
#include "runtime/grammar/json/NumberAutomaton.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace fusec::grammar::json {

namespace {

constexpr uint64_t kMaxModulus = 1000;
constexpr uint16_t kMaxExponentDigits = 4;

std::strong_ordering orderOf(int8_t order) { return order <=> 0; }

/// The magnitudes' digits agree so far; the next ones are `digit` and position `at` of `digits`.
int8_t compareDigit(char digit, const std::string &digits, size_t at) {
  char other = at < digits.size() ? digits[at] : '0';
  return digit == other ? int8_t{0} : digit < other ? int8_t{-1} : int8_t{1};
}

} // namespace

NumberAutomaton::NumberAutomaton(const NumberSet &s, const Limits &limits)
    : set(s), plain(!s.low && !s.high && !s.fractional), maxWhole(static_cast<uint16_t>(limits.digits)),
      maxFraction(static_cast<uint16_t>(limits.digits)) {
  setMultiples(set.multiples);
  for (const auto &bound : {set.low, set.high})
    if (bound) {
      maxWhole = std::max(maxWhole, static_cast<uint16_t>(bound->value.whole.size() + 1));
      maxFraction = std::max(maxFraction, static_cast<uint16_t>(bound->value.fraction.size() + 1));
    }
  if (set.integer)
    maxFraction = 1;
}

void NumberAutomaton::setMultiples(const std::vector<Decimal> &multiples) {
  for (const Decimal &multiple : multiples)
    scale = std::max(scale, static_cast<uint16_t>(multiple.fraction.size()));
  uint64_t common = 1;
  for (const Decimal &multiple : multiples) {
    std::string digits = multiple.whole + multiple.fraction;
    digits.append(scale - multiple.fraction.size(), '0');
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    uint64_t value = digits.size() > 9 ? kMaxModulus + 1 : std::stoull(digits);
    common = value > kMaxModulus ? value : std::lcm(common, value);
    if (common > kMaxModulus) {
      error = unsupported("multipleOf " + multiple.text() + " is not supported (too many digits to track)");
      return;
    }
  }
  bool onlyIntegers = scale == 0 && common == 1;
  scaled = !multiples.empty() && !(onlyIntegers && set.integer);
  plain &= !scaled;
  modulus = static_cast<uint32_t>(common);
}

NumberAutomaton::State NumberAutomaton::endWhole(State state) const {
  size_t length = state.phase == Phase::Zero ? 0 : state.digits;
  for (size_t i = 0; i < 2; ++i)
    if (const auto &bound = i == 0 ? set.low : set.high)
      if (length < bound->value.whole.size())
        state.order[i] = -1;
  return state;
}

std::optional<NumberAutomaton::State> NumberAutomaton::wholeDigit(State state, char byte) const {
  if (state.phase == Phase::Zero || state.digits == maxWhole)
    return std::nullopt;
  if (byte == '0' && state.phase != Phase::Whole) {
    state.phase = Phase::Zero;
    return state;
  }
  for (size_t i = 0; i < 2; ++i) {
    const auto &bound = i == 0 ? set.low : set.high;
    if (!bound)
      continue;
    if (state.digits >= bound->value.whole.size())
      state.order[i] = 1;
    else if (state.order[i] == 0)
      state.order[i] = compareDigit(byte, bound->value.whole, state.digits);
  }
  state.phase = Phase::Whole;
  ++state.digits;
  return state;
}

std::optional<NumberAutomaton::State> NumberAutomaton::fractionDigit(State state, char byte) const {
  bool zero = byte == '0';
  if (state.digits == maxFraction || (!zero && set.integer) || (!zero && scaled && state.digits >= scale))
    return std::nullopt;
  for (size_t i = 0; i < 2; ++i)
    if (const auto &bound = i == 0 ? set.low : set.high; bound && state.order[i] == 0)
      state.order[i] = compareDigit(byte, bound->value.fraction, state.digits);
  state.phase = Phase::Fraction;
  state.fractionNonzero |= !zero && set.fractional;
  ++state.digits;
  return state;
}

std::optional<NumberAutomaton::State> NumberAutomaton::digit(State state, char byte) const {
  switch (state.phase) {
  case Phase::Exp:
  case Phase::ExpSign:
  case Phase::ExpDigits:
    if (state.digits == kMaxExponentDigits)
      return std::nullopt;
    state.phase = Phase::ExpDigits;
    ++state.digits;
    return state;
  default:
    break;
  }
  bool fraction = state.phase == Phase::Point || state.phase == Phase::Fraction;
  bool counts = scaled && (!fraction || state.digits < scale);
  std::optional<State> next = fraction ? fractionDigit(state, byte) : wholeDigit(state, byte);
  if (!next)
    return next;
  if (counts)
    next->remainder = (state.remainder * 10 + static_cast<uint32_t>(byte - '0')) % modulus;
  if (!plain)
    next->nonzero |= byte != '0';
  return next;
}

std::optional<NumberAutomaton::State> NumberAutomaton::step(const State &state, char byte) const {
  State next = state;
  bool whole = state.phase == Phase::Zero || state.phase == Phase::Whole;
  if (byte >= '0' && byte <= '9')
    return digit(state, byte);
  if (byte == '-' && state.phase == Phase::Start) {
    next.phase = Phase::Minus;
    next.negative = !plain;
    return next;
  }
  if (byte == '.' && whole) {
    next = endWhole(state);
    next.phase = Phase::Point;
    next.digits = 0;
    return next;
  }
  if ((byte == 'e' || byte == 'E') && plain && (whole || state.phase == Phase::Fraction)) {
    next.phase = Phase::Exp;
    next.digits = 0;
    return next;
  }
  if ((byte == '+' || (byte == '-' && !set.integer)) && state.phase == Phase::Exp) {
    next.phase = Phase::ExpSign;
    return next;
  }
  return std::nullopt;
}

bool NumberAutomaton::meets(const State &state, const NumberSet::Bound &bound, int8_t magnitude, bool lower) const {
  bool negative = state.negative && state.nonzero; // -0 is 0.
  std::strong_ordering order = std::strong_ordering::equal;
  if (negative != bound.value.negative)
    order = negative ? std::strong_ordering::less : std::strong_ordering::greater;
  else
    order = negative ? 0 <=> orderOf(magnitude) : orderOf(magnitude);
  if (order == 0)
    return !bound.open;
  return lower ? order > 0 : order < 0;
}

bool NumberAutomaton::accepts(const State &at) const {
  bool ends = at.phase == Phase::Zero || at.phase == Phase::Whole || at.phase == Phase::Fraction ||
              at.phase == Phase::ExpDigits;
  if (!ends || (set.fractional && !at.fractionNonzero))
    return false;
  bool fraction = at.phase == Phase::Fraction;
  State state = fraction ? at : endWhole(at);
  size_t read = fraction ? at.digits : 0;
  for (size_t i = 0; i < 2; ++i)
    if (const auto &bound = i == 0 ? set.low : set.high) {
      int8_t order = state.order[i];
      if (order == 0 && bound->value.fraction.size() > read)
        order = -1; // Its digits go on, and the last one isn't 0.
      if (!meets(state, *bound, order, i == 0))
        return false;
    }
  uint64_t remainder = state.remainder;
  for (size_t i = std::min<size_t>(read, scale); i < scale && scaled; ++i)
    remainder = remainder * 10 % modulus;
  return remainder == 0;
}

template <typename Edge, typename End>
void NumberAutomaton::explore(CompileBudget &budget, Edge visitEdge, End visitEnd) const {
  std::map<State, uint32_t> ids{{State(), 0}};
  std::vector<State> states(1);
  for (uint32_t i = 0; i < states.size() && budget.spend(1); ++i) {
    State state = states[i];
    if (accepts(state) && !visitEnd(i))
      return;
    for (char byte : std::string_view("0123456789-+.eE")) {
      std::optional<State> next = step(state, byte);
      if (!next)
        continue;
      auto [entry, isNew] = ids.try_emplace(*next, static_cast<uint32_t>(states.size()));
      if (isNew)
        states.push_back(*next);
      visitEdge(i, static_cast<uint8_t>(byte), entry->second);
    }
  }
}

bool NumberAutomaton::inhabited(CompileBudget &budget) const {
  bool any = false;
  explore(
      budget, [](uint32_t, uint8_t, uint32_t) {},
      [&](uint32_t) {
        any = true;
        return false;
      });
  return any;
}

void NumberAutomaton::addTo(MachineBuilder &builder, RuleId rule) const {
  std::vector<StateId> states{builder.start(rule)};
  auto stateOf = [&](uint32_t id) {
    while (states.size() <= id)
      states.push_back(builder.addState(rule));
    return states[id];
  };
  explore(
      builder.budget,
      [&](uint32_t from, uint8_t byte, uint32_t to) {
        StateId target = stateOf(to);
        builder.byteEdge(stateOf(from), byte, byte, target);
      },
      [&](uint32_t end) {
        builder.setAccept(stateOf(end));
        return true;
      });
}

} // namespace fusec::grammar::json
