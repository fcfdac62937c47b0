//===- PromptReport.cpp --------------------------------------------------------===//

#include "runtime/engine/PromptReport.h"

#include "runtime/engine/LogSoftmax.h"

namespace fusec::runtime {

PromptReport::PromptReport(const Request &request, int64_t sampleableIds) : sampleableIds(sampleableIds) {
  if (request.promptLogprobs < 0)
    return;
  reports.resize(request.prompt.size());
  reports[0].id = request.prompt[0];
}

void PromptReport::add(const Request &request, int64_t position, std::span<const float> logits) {
  if (position + 1 != next || next >= static_cast<int64_t>(reports.size()))
    return;
  const auto at = static_cast<size_t>(next++);
  reports[at] = reportToken(logits, sampleableIds, request.prompt[at], request.promptLogprobs);
}

} // namespace fusec::runtime
