//===- StringRules.cpp - JSON spellings of sets of strings -----------------===//
#include "runtime/grammar/json/StringRules.h"

#include "runtime/text/Utf8.h"

#include <algorithm>

namespace fusec::grammar::json {

namespace {

struct ShortEscape {
  char letter;
  char32_t point;
};
constexpr ShortEscape kShortEscapes[] = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},  {'b', '\b'},
                                         {'f', '\f'}, {'n', '\n'},  {'r', '\r'}, {'t', '\t'}};

/// Characters that stand as themselves in a JSON string.
constexpr CodePoints::Range kBare[] = {{0x20, '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, kLastCodePoint}};

/// A product with lengths larger than this is not built.
constexpr size_t kMaxLengthStates = 4096;

} // namespace

void JsonCharacters::add(StateId from, std::span<const CharArc> arcs, OpId any) {
  for (const CharArc &arc : arcs)
    for (const CodePoints::Range &bare : kBare) {
      char32_t low = std::max(arc.low, bare.low), high = std::min(arc.high, bare.high);
      if (low <= high && builder.budget.spend(1))
        paths.add(from, utf8Paths(low, high), arc.to, arc.ops);
    }
  if (!arcs.empty())
    addEscapes(from, arcs, any);
}

void JsonCharacters::addEscapes(StateId from, std::span<const CharArc> arcs, OpId any) {
  StateId escape = builder.addState(rule), hex = builder.addState(rule);
  builder.byteEdge(from, '\\', '\\', escape, any);
  builder.byteEdge(escape, 'u', 'u', hex, any);
  for (const CharArc &arc : arcs) {
    for (const ShortEscape &known : kShortEscapes)
      if (known.point >= arc.low && known.point <= arc.high) {
        auto letter = static_cast<uint8_t>(known.letter);
        builder.byteEdge(escape, letter, letter, arc.to, arc.ops.last);
      }
    if (builder.budget.spend(1))
      paths.add(hex, escapePaths(arc.low, arc.high), arc.to, arc.ops);
  }
}

bool StringPlan::countable(const CharDfa &dfa, uint32_t min) {
  // A count beside the automaton must never run into a dead end. An upper bound
  // never does, because the distance to the end is added to it; a lower bound
  // doesn't where the string may end, and go on, anywhere.
  return min == 0 || std::all_of(dfa.states.begin(), dfa.states.end(),
                                 [](const CharDfa::State &state) { return state.accept && !state.edges.empty(); });
}

StringPlan StringPlan::of(const StringSet &set, CompileBudget &budget) {
  StringPlan plan;
  plan.dfa = CharDfa::all();
  if (set.literals)
    plan.dfa = CharDfa::ofLiterals({set.literals->begin(), set.literals->end()}, budget);
  else if (!set.excluded.empty())
    plan.dfa = CharDfa::ofLiterals({set.excluded.begin(), set.excluded.end()}, budget).complement();
  for (const StringSet::Pattern &pattern : set.patterns) {
    CharDfa matching = CharDfa::ofPattern(pattern.text, budget);
    if (budget.exhausted())
      return plan;
    plan.dfa = CharDfa::product(plan.dfa, pattern.negated ? matching.complement() : matching, budget);
  }
  plan.min = set.min;
  plan.max = set.max;
  if (!plan.counts() || (countable(plan.dfa, set.min) && !set.literals) || budget.exhausted())
    return plan;
  uint64_t lengths = uint64_t{set.max == kNone ? set.min : set.max} + 1;
  if (!set.literals && lengths * plan.dfa.states.size() > kMaxLengthStates)
    budget.fail(unsupported("a pattern together with minLength " + std::to_string(set.min) +
                            " needs too many states; put the length into the pattern"));
  // Literals are shorter than the longest of them: larger bounds change nothing.
  uint32_t longest = set.literals ? static_cast<uint32_t>(plan.dfa.states.size()) : kNone;
  uint32_t upper = set.max == kNone || set.max > longest ? kNone : set.max;
  plan.dfa = CharDfa::product(plan.dfa, CharDfa::ofLength(std::min(set.min, longest), upper, budget), budget);
  plan.min = 0;
  plan.max = kNone;
  return plan;
}

CharDfa StringPlan::names(CompileBudget &budget) const {
  return counts() ? CharDfa::product(dfa, CharDfa::ofLength(min, max, budget), budget) : dfa;
}

OpId StringPlan::increment(MachineBuilder &builder, uint32_t distance, bool onlyCheck) const {
  if (!counts())
    return 0;
  Op op{.kind = onlyCheck ? OpKind::Below : OpKind::Increment, .min = min, .max = max};
  if (max != kNone)
    op.max = max - std::min(distance, max);
  return onlyCheck && max == kNone ? 0 : builder.addOp(op);
}

void StringPlan::addTo(MachineBuilder &builder, RuleId rule) const {
  std::vector<uint32_t> distances = dfa.distances();
  std::vector<StateId> states;
  for (size_t i = 0; i < dfa.states.size(); ++i)
    states.push_back(builder.addState(rule));
  StateId end = builder.addState(rule);
  builder.setAccept(end);
  builder.byteEdge(builder.start(rule), '"', '"', states[0]);
  OpId close = min > 0 ? builder.addOp({.kind = OpKind::AtLeast, .min = min}) : 0;
  uint32_t farthest = 0;
  JsonCharacters characters(builder, rule);
  for (size_t i = 0; i < dfa.states.size() && builder.budget.spend(1); ++i) {
    std::vector<CharArc> arcs;
    uint32_t nearest = kNone;
    for (const CharDfa::Edge &edge : dfa.states[i].edges) {
      uint32_t distance = distances[edge.to];
      nearest = std::min(nearest, distance);
      farthest = std::max(farthest, distance);
      arcs.push_back({edge.low,
                      edge.high,
                      states[edge.to],
                      {increment(builder, distance, true), increment(builder, distance, false)}});
    }
    characters.add(states[i], arcs, arcs.empty() ? 0 : increment(builder, nearest, true));
    if (dfa.states[i].accept)
      builder.byteEdge(states[i], '"', '"', end, close);
  }
  if (counts())
    builder.setCounts(rule, min, max == kNone ? kNone : max - std::min(farthest, max));
}

} // namespace fusec::grammar::json
