//===- BytePaths.h - characters as paths of bytes --------------------------===//
//
// A range of characters becomes a few sequences of byte ranges: its UTF-8, or
// its \uXXXX spellings in JSON.
//
//   BytePaths paths(builder, rule);
//   paths.add(from, utf8Paths(U'α', U'ω'), to, {});
//
// Threading: one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Machine.h"

#include <map>
#include <span>
#include <vector>

namespace fusec::grammar {

/// One byte of a path; `hex`: the range is of hexadecimal digit values, in either case.
struct ByteStep {
  uint8_t low, high;
  bool hex = false;
  auto operator<=>(const ByteStep &) const = default;
};
using BytePath = std::vector<ByteStep>;

/// The UTF-8 of the characters low ... high; surrogates are left out.
std::vector<BytePath> utf8Paths(char32_t low, char32_t high);
/// What follows "\u" in the JSON escapes of low ... high (above FFFF: pairs of surrogates).
std::vector<BytePath> escapePaths(char32_t low, char32_t high);

/// Ops of a path: `check` on every edge but the last, which has `last`.
struct PathOps {
  OpId check = 0;
  OpId last = 0;
  auto operator<=>(const PathOps &) const = default;
};

class BytePaths {
public:
  BytePaths(MachineBuilder &b, RuleId r) : builder(b), rule(r) {}

  /// Paths with equal ends share the states of those ends.
  void add(StateId from, const std::vector<BytePath> &paths, StateId to, PathOps ops);

private:
  struct Suffix {
    BytePath steps;
    StateId to;
    PathOps ops;
    auto operator<=>(const Suffix &) const = default;
  };

  void edge(StateId from, const ByteStep &step, StateId to, OpId op);
  /// The state from which `steps` lead to `to`.
  StateId before(std::span<const ByteStep> steps, StateId to, PathOps ops);

  MachineBuilder &builder;
  RuleId rule;
  std::map<Suffix, StateId> suffixes;
};

} // namespace fusec::grammar
