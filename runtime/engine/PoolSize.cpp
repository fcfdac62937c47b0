//===- PoolSize.cpp ------------------------------------------------------------===//

#include "runtime/engine/PoolSize.h"

#include <algorithm>
#include <limits>

namespace fusec::runtime {

namespace {

constexpr int64_t defaultContextTokens = 4096;
constexpr int maxThreads = 1024;
constexpr int64_t mostSequences = 4096;
constexpr int64_t mostPages = std::numeric_limits<int32_t>::max() - 1;
/// Logits of a whole chunk would dwarf the other activations of a small model; more rows than this are evaluated in
/// several steps.
constexpr int64_t maxLogitBytes = 64 << 20;

Status requireBetween(const char *what, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high)
    return {};
  return invalidArgument(std::string(what) + ": expected " + std::to_string(low) + " to " + std::to_string(high) +
                         ", found " + std::to_string(value));
}

Status requireLegal(const EngineOptions &options, const Manifest &manifest) {
  FUSEC_RETURN_IF_ERROR(requireBetween("threads", options.threads, 0, maxThreads));
  if (options.contextTokens != 0)
    FUSEC_RETURN_IF_ERROR(requireBetween("context tokens (the model's limit is the most)", options.contextTokens, 1,
                                         manifest.model.contextLength));
  FUSEC_RETURN_IF_ERROR(requireBetween("sequences that run at once", options.maxSequences, 1, mostSequences));
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  FUSEC_RETURN_IF_ERROR(requireBetween("kv bytes", options.kvBytes, 0, most));
  FUSEC_RETURN_IF_ERROR(requireBetween("kv tokens", options.kvTokens, 0, most));
  if (options.kvBytes > 0 && options.kvTokens > 0)
    return invalidArgument("the KV pool has two sizes: give kv bytes or kv tokens, not both");
  if (options.chunkTokens < 1)
    return invalidArgument("chunk tokens: expected at least 1, found " + std::to_string(options.chunkTokens));
  return {};
}

int64_t bytesPerPage(const Manifest &manifest) { return std::max<int64_t>(1, manifest.kv.pageStride); }

/// Pages without the sink; 0 when the options do not say.
int64_t budgetedPages(const EngineOptions &options, const Manifest &manifest) {
  if (options.kvBytes > 0)
    return options.kvBytes / bytesPerPage(manifest) - 1; // The sink is in the bytes.
  return options.kvTokens / manifest.kv.pageTokens;
}

Status tooSmall(const EngineOptions &options, const Manifest &manifest, int64_t pages, int64_t needed) {
  const int64_t page = bytesPerPage(manifest);
  return invalidArgument("the KV pool holds " + std::to_string(std::max<int64_t>(pages, 0) * manifest.kv.pageTokens) +
                         " tokens (" + std::to_string(std::max<int64_t>(pages, 0)) + " pages of " +
                         std::to_string(page) + " bytes), one context of " + std::to_string(options.contextTokens) +
                         " tokens needs " + std::to_string(needed) + " pages: give it at least " +
                         std::to_string((needed + 1) * page) + " bytes, or choose a smaller context");
}

} // namespace

Result<PoolSize> sizePool(const EngineOptions &given, const Manifest &manifest) {
  FUSEC_RETURN_IF_ERROR(requireLegal(given, manifest));
  PoolSize size{given, 0, 1};
  EngineOptions &options = size.options;
  const int64_t pageTokens = manifest.kv.pageTokens;
  const bool isBudgeted = options.kvBytes > 0 || options.kvTokens > 0;
  int64_t pages = budgetedPages(options, manifest);
  if (options.contextTokens == 0) {
    options.contextTokens = std::min(manifest.model.contextLength, defaultContextTokens);
    if (isBudgeted)
      options.contextTokens = std::clamp<int64_t>(pages * pageTokens, 1, options.contextTokens);
  }
  const int64_t perContext = (options.contextTokens + pageTokens - 1) / pageTokens;
  if (!isBudgeted)
    pages = perContext * options.maxSequences;
  if (pages < perContext)
    return tooSmall(options, manifest, pages, perContext);
  size.numPages = static_cast<int32_t>(std::min(pages, mostPages) + 1); // And the sink.
  options.kvTokens = (size.numPages - 1) * pageTokens;
  options.kvBytes = 0; // Said by kvTokens now.
  // Every running sequence has a token in each step.
  options.chunkTokens =
      std::clamp(options.chunkTokens, options.maxSequences, options.contextTokens * options.maxSequences);
  size.maxOutputRows = std::clamp<int64_t>(maxLogitBytes / (manifest.model.rowWidth() * 4), 1, options.chunkTokens);
  size.maxOutputRows = std::max(size.maxOutputRows, options.maxSequences);
  return size;
}

} // namespace fusec::runtime
