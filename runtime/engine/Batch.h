//===- Batch.h - a scheduled step as arrays for the executor ---------------------===//
//
// Packs the tokens of all items, their positions, one row of the block table per
// item, and the rows whose logits are wanted.
//
// Owns the arrays and reuses them; an input is valid until the next build().
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/exec/StepInput.h"
#include "runtime/kv/KvManager.h"
#include "runtime/sched/Step.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

class Batch {
public:
  /// `sampling`: a row for each that wants logits, or empty.
  StepInput build(const Step &step, const KvManager &kv, std::span<const RowSampling> sampling);

  /// Rows of logits that belong to an item of the step.
  struct Rows {
    size_t first = 0, count = 0;
  };
  Rows rows(size_t item) const { return itemRows[item]; }
  size_t numRows() const { return outputRows.size(); }

private:
  void addTokens(const Step::Item &item, int32_t row);
  void addRows(const Step::Item &item);
  void fillTable(const Step &step, const KvManager &kv);

  std::vector<TokenId> tokens;
  std::vector<int32_t> positions, sequences, blockTable, outputRows;
  std::vector<uint64_t> sequenceIds; ///< Of the rows of the block table.
  std::vector<Rows> itemRows;
  int64_t stride = 0; ///< Of the block table.
};

} // namespace fusec::runtime
