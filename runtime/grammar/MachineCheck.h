//===- MachineCheck.h - dead ends and left recursion of a machine ----------===//
//
//   MachineCheck check(builder);
//   check.removeDeadEnds();
//   FUSEC_RETURN_IF_ERROR(check.findLeftRecursion());
//
// Everything here is iterative and linear in states and edges.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Machine.h"

namespace fusec::grammar {

class MachineCheck {
public:
  explicit MachineCheck(MachineBuilder &b) : builder(b) {}

  /// Removes edges that can't lead to the end of their rule.
  void removeDeadEnds();
  /// True when some text matches `rule`; valid after removeDeadEnds().
  bool productive(RuleId rule) const { return live[builder.rules[rule].start]; }
  /// InvalidArgument naming a rule that reaches a call of itself without consuming a byte.
  Status findLeftRecursion() const;

private:
  /// States from which the end of their rule is reachable, by all edges or by silent ones only.
  std::vector<bool> reachEnd(bool silentOnly) const;
  std::vector<std::vector<StateId>> silentGraph(const std::vector<bool> &nullable) const;

  MachineBuilder &builder;
  std::vector<bool> live;
};

} // namespace fusec::grammar
