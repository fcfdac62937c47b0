//===- StepPlan.h - the step that is being planned ------------------------------===//
//
// Its rows may be planned while the step before still runs (Scheduler::prepare):
// until it begins, no device knows of it, so a row is taken back by forgetting it.
//
// Invariant: Entry::planned and Entry::inPlan of an entry with a row contain its
// `count`; SchedulerState::unplan() is the one that takes it back.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sched/Entry.h"

#include <cstdint>
#include <vector>

namespace fusec::runtime {

struct StepPlan {
  /// The `count` tokens before Entry::planned; an entry has one row.
  struct Row {
    Entry *entry;
    bool isDecode;          ///< Continues an answer.
    bool allRows;           ///< The logits of every token are wanted.
    int64_t count = 0;      ///< Tokens.
    int64_t outputRows = 0; ///< Rows of logits.
  };

  std::vector<Row> rows;
  int64_t tokensLeft = 0, rowsLeft = 0; ///< Of the step's limits.
  /// Prepared to the end, and nobody came or went since: planning again would find nothing.
  bool isSettled = false;
};

} // namespace fusec::runtime
