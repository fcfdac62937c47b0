//===- Admission.cpp ---------------------------------------------------------===//

#include "runtime/sched/Admission.h"

#include <string>

namespace fusec::runtime {

Status proveAdmission(const ScheduledRequest &request, const KvManager &kv, int64_t contextTokens) {
  auto text = [](int64_t value) { return std::to_string(value); };
  int64_t prompt = static_cast<int64_t>(request.prompt.size());
  if (prompt == 0)
    return invalidArgument("prompt: expected at least 1 token, found 0");
  if (request.maxTokens < 0)
    return invalidArgument("max tokens: expected 0 or more, found " + text(request.maxTokens));
  std::string what = text(prompt) + " prompt + " + text(request.maxTokens) + " new tokens";
  if (prompt > contextTokens || request.maxTokens > contextTokens - prompt)
    return resourceExhausted(what + " exceed the context of " + text(contextTokens) + " tokens");
  int64_t needed = kv.blocksFor(positionsAtEnd(prompt, request.maxTokens));
  if (needed > kv.totalBlocks() - 1)
    return resourceExhausted(what + " need " + text(needed) + " KV pages of " + text(kv.pageTokens()) +
                             " tokens, the pool has " + text(kv.totalBlocks() - 1) + ": it could never finish");
  return {};
}

} // namespace fusec::runtime
