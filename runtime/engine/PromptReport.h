//===- PromptReport.h - log-probabilities of a prompt's tokens -------------------===//
//
// Filled in as the rows of its prefill arrive, in any pieces; a row that comes
// again after a preemption gives the same and is ignored.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Request.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

class PromptReport {
public:
  /// Reports nothing unless the request asks.
  PromptReport(const Request &request, int64_t sampleableIds);

  bool isWanted() const { return !reports.empty(); }
  /// `logits` follow prompt[position].
  void add(const Request &request, int64_t position, std::span<const float> logits);
  std::vector<TokenReport> take() { return std::move(reports); }

private:
  int64_t sampleableIds;
  int64_t next = 1; ///< Reports below are there.
  std::vector<TokenReport> reports;
};

} // namespace fusec::runtime
