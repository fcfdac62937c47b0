//===- Machine.h - the one internal form of every grammar ------------------===//
//
// A pushdown automaton over bytes. Rules are automata; an edge consumes one
// byte of a range, or is silent, or calls another rule and continues at its
// target when that rule returns. Each open rule (a frame of the stack) has two
// registers, `count` and `seen`, that the Ops on edges test and change:
// repetitions with large bounds, string lengths, items and properties seen
// need no states of their own.
//
//   MachineBuilder builder(budget);
//   RuleId digits = builder.addRule("digits");
//   StateId end = builder.addState(digits);
//   builder.byteEdge(builder.start(digits), '0', '9', end);
//   builder.setAccept(end);
//   FUSEC_ASSIGN_OR_RETURN(Machine machine, builder.finish(digits));
//
// finish() removes whatever can never complete, so that every byte a machine
// offers leads to a finished text. Every Op must keep that promise too.
//
// Threading: a Machine is immutable.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/grammar/Limits.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fusec::grammar {

using StateId = uint32_t;
using RuleId = uint32_t;
using OpId = uint32_t;

inline constexpr uint32_t kNone = UINT32_MAX;

/// Of one open rule.
struct Registers {
  uint64_t seen = 0;  ///< One bit per property an object keeps track of.
  uint32_t count = 0; ///< Repetitions, characters, items or properties so far.
  bool operator==(const Registers &) const = default;
};

enum class OpKind : uint8_t {
  Pass,      ///< No condition.
  Increment, ///< count < max; then ++count, which stays at `min` where there is no max.
  Below,     ///< count < max.
  AtLeast,   ///< count >= min.
  KeyOpen,   ///< One of the keys in `keys` (or, with `others`, any other key) may still be written.
  KeyTaken,  ///< As KeyOpen; then sets the bits of `keys` and increments where count matters.
  Close,     ///< All `required` seen and count >= min.
};

struct Op {
  OpKind kind = OpKind::Pass;
  bool others = false;
  uint32_t min = 0;
  uint32_t max = kNone;
  uint64_t keys = 0;
  uint64_t required = 0;
  bool operator==(const Op &) const = default;

  /// False when the condition fails; otherwise `registers` are updated.
  bool apply(Registers &registers) const;

private:
  bool keyOpen(const Registers &registers) const;
};

struct ByteEdge {
  uint8_t low, high;
  OpId op;
  StateId target;
};

struct SilentEdge {
  OpId op;
  StateId target;
  RuleId callee; ///< kNone: just moves to target.
};

struct Rule {
  std::string name;
  StateId start = 0;
  /// While countMin <= count and count + n <= countMax, n bytes cannot make any
  /// Op of the rule fail: such counts are alike (see MaskCache).
  uint32_t countMin = 0;
  uint32_t countMax = kNone;
};

class Machine {
public:
  std::span<const ByteEdge> bytes(StateId s) const { return slice(byteEdges, states[s].bytes, states[s + 1].bytes); }
  std::span<const SilentEdge> silents(StateId s) const {
    return slice(silentEdges, states[s].silents, states[s + 1].silents);
  }
  bool accepts(StateId s) const { return states[s].accept; }
  /// Nothing but returning is left: a call that continues here needs no frame.
  bool onlyReturns(StateId s) const { return accepts(s) && bytes(s).empty() && silents(s).empty(); }
  const Rule &ruleOf(StateId s) const { return rules[states[s].rule]; }
  const Op &op(OpId id) const { return ops[id]; }
  StateId start() const { return rules[root].start; }
  StateId startOf(RuleId rule) const { return rules[rule].start; }
  size_t stateCount() const { return states.size() - 1; }
  size_t bytesHeld() const;

private:
  friend class MachineBuilder;
  struct State {
    uint32_t bytes, silents; ///< Of its first edges; the next state's are the end.
    RuleId rule;
    bool accept;
  };
  template <typename T> static std::span<const T> slice(const std::vector<T> &all, uint32_t begin, uint32_t end) {
    return std::span<const T>(all).subspan(begin, end - begin);
  }

  std::vector<State> states; ///< One more than there are states.
  std::vector<ByteEdge> byteEdges;
  std::vector<SilentEdge> silentEdges;
  std::vector<Op> ops;
  std::vector<Rule> rules;
  RuleId root = 0;
};

class MachineBuilder {
public:
  explicit MachineBuilder(CompileBudget &b) : budget(b), ops(1) {}

  RuleId addRule(std::string name);
  StateId addState(RuleId rule);
  StateId start(RuleId rule) const { return rules[rule].start; }
  void setAccept(StateId s) { states[s].accept = true; }
  void byteEdge(StateId from, uint8_t low, uint8_t high, StateId to, OpId op = 0);
  void silentEdge(StateId from, StateId to, OpId op = 0);
  /// Runs `callee`, then continues at `to`.
  void callEdge(StateId from, RuleId callee, StateId to, OpId op = 0);
  /// The same Op has one id.
  OpId addOp(const Op &op);
  /// See Rule::countMin.
  void setCounts(RuleId rule, uint32_t min, uint32_t max);
  RuleId ruleOf(StateId s) const { return states[s].rule; }

  /// The machine of `root`. InvalidArgument when nothing matches it, or naming
  /// the rule that calls itself without consuming anything first.
  Result<Machine> finish(RuleId root);

  CompileBudget &budget;

private:
  friend class MachineCheck;
  struct State {
    std::vector<ByteEdge> bytes;
    std::vector<SilentEdge> silents;
    RuleId rule;
    bool accept = false;
  };

  Machine freeze(RuleId root) const;

  std::vector<State> states;
  std::vector<Rule> rules;
  std::vector<Op> ops;
};

} // namespace fusec::grammar
