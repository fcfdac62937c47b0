//===- GraphStats.h - which steps ran as captured graphs ------------------------===//
//
// A GPU replays decode steps from captured graphs, which saves the time of their
// launches. Every step that does not is counted with its reason: a fall-back that
// nobody sees is a slow engine that nobody understands. Values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fusec::runtime {

/// Why a step was launched kernel by kernel.
enum class EagerReason : uint8_t {
  Prefill,          ///< Not one token of each sequence with one row of logits each.
  TooManySequences, ///< More than the largest graph holds.
  CaptureFailed,    ///< The device would not capture this step; the executor's notes say why.
  Profiling,        ///< Launches are timed one by one.
  Disabled,         ///< Graphs are switched off.
};
inline constexpr std::array<std::string_view, 5> eagerReasons = {"prefill", "too many sequences", "capture failed",
                                                                 "profiling", "graphs off"};

struct GraphStats {
  int64_t captured = 0;                             ///< Graphs made.
  int64_t replayed = 0;                             ///< Steps that ran as a graph.
  std::array<int64_t, eagerReasons.size()> eager{}; ///< Steps that did not, by reason.

  int64_t &operator[](EagerReason reason) { return eager[static_cast<size_t>(reason)]; }
  int64_t operator[](EagerReason reason) const { return eager[static_cast<size_t>(reason)]; }
};

} // namespace fusec::runtime
