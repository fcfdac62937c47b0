//===- StepShape.cpp ---------------------------------------------------------===//

#include "runtime/exec/StepShape.h"

#include "runtime/exec/QueryTiles.h"

#include <algorithm>
#include <cmath>

namespace fusec::runtime {

namespace {

int64_t ceilDiv(int64_t value, int64_t by) { return (value + by - 1) / by; }

/// InternalError unless every value is in [0, end).
Status requireRange(std::span<const int32_t> values, int64_t end, const char *what) {
  for (int32_t value : values)
    if (value < 0 || value >= end)
      return internalError("step: " + std::string(what) + " " + std::to_string(value) + " is not in [0, " +
                           std::to_string(end) + ")");
  return {};
}

Status requireSize(size_t size, int64_t low, int64_t high, const char *what) {
  int64_t found = static_cast<int64_t>(size);
  if (found >= low && found <= high)
    return {};
  return internalError("step: expected " + std::to_string(low) + " to " + std::to_string(high) + " " + what +
                       ", found " + std::to_string(found));
}

} // namespace

StepShape::StepShape(const Manifest &manifest, const StepLimits &limits, int64_t numPages)
    : limits(limits), numPages(numPages), vocabSize(manifest.model.vocabSize), tokensPerPage(manifest.kv.pageTokens),
      queryTile(manifest.kv.queryTile) {}

SymbolValues StepShape::maxima() const {
  SymbolValues maxima;
  maxima[Symbol::Tokens] = limits.tokens;
  maxima[Symbol::Sequences] = limits.sequences;
  maxima[Symbol::Blocks] = ceilDiv(limits.contextTokens, tokensPerPage);
  maxima[Symbol::OutputRows] = limits.outputRows;
  maxima[Symbol::Context] = maxima[Symbol::Blocks] * tokensPerPage;
  maxima[Symbol::QueryTiles] = queryTile > 0 ? limits.tokens : 0;
  return maxima;
}

Status StepShape::check(const StepInput &input) const {
  int64_t maxBlocks = ceilDiv(limits.contextTokens, tokensPerPage);
  FUSEC_RETURN_IF_ERROR(requireSize(input.tokens.size(), 1, limits.tokens, "tokens"));
  FUSEC_RETURN_IF_ERROR(requireSize(input.outputRows.size(), 0, limits.outputRows, "output rows"));
  if (input.positions.size() != input.tokens.size() || input.sequences.size() != input.tokens.size())
    return internalError("step: tokens, positions and sequences differ in length");
  if (input.blockStride < 1 || input.blockStride > maxBlocks ||
      input.blockTable.size() % static_cast<size_t>(input.blockStride) != 0)
    return internalError("step: the block table of " + std::to_string(input.blockTable.size()) +
                         " entries does not have rows of 1 to " + std::to_string(maxBlocks));
  size_t rows = input.blockTable.size() / static_cast<size_t>(input.blockStride);
  FUSEC_RETURN_IF_ERROR(requireSize(rows, 1, limits.sequences, "sequences"));
  FUSEC_RETURN_IF_ERROR(checkSampling(input));
  return checkTokens(input);
}

Status StepShape::check(std::span<const PageCopy> copies) const {
  for (const PageCopy &copy : copies) {
    const int32_t pages[] = {toIndex(copy.from), toIndex(copy.to)};
    FUSEC_RETURN_IF_ERROR(requireRange(pages, numPages, "page to copy"));
  }
  return {};
}

Status StepShape::checkSampling(const StepInput &input) const {
  if (!input.sampling.empty() && input.sampling.size() != input.outputRows.size())
    return internalError("step: " + std::to_string(input.sampling.size()) + " rows of sampling parameters for " +
                         std::to_string(input.outputRows.size()) + " output rows");
  // Written so that NaN fails.
  auto isShare = [](float value) { return value >= 0 && value <= 1; };
  for (const RowSampling &row : input.sampling)
    if (!(row.temperature >= 0 && std::isfinite(row.temperature)) || !isShare(row.topP) || !isShare(row.minP))
      return internalError("step: expected a finite temperature from 0 and top_p and min_p in [0, 1], found " +
                           std::to_string(row.temperature) + ", " + std::to_string(row.topP) + " and " +
                           std::to_string(row.minP));
  return {};
}

Status StepShape::checkTokens(const StepInput &input) const {
  int64_t sequences = static_cast<int64_t>(input.blockTable.size()) / input.blockStride;
  int64_t context = std::min(limits.contextTokens, input.blockStride * tokensPerPage);
  FUSEC_RETURN_IF_ERROR(requireRange(input.tokens, vocabSize, "token id"));
  FUSEC_RETURN_IF_ERROR(requireRange(input.positions, context, "position"));
  FUSEC_RETURN_IF_ERROR(requireRange(input.sequences, sequences, "sequence"));
  FUSEC_RETURN_IF_ERROR(requireRange(input.blockTable, numPages, "page"));
  return requireRange(input.outputRows, static_cast<int64_t>(input.tokens.size()), "output row");
}

SymbolValues StepShape::symbolsOf(const StepInput &input) const {
  int64_t context = *std::max_element(input.positions.begin(), input.positions.end()) + 1;
  SymbolValues values;
  values[Symbol::Tokens] = static_cast<int64_t>(input.tokens.size());
  values[Symbol::Sequences] = static_cast<int64_t>(input.blockTable.size()) / input.blockStride;
  values[Symbol::Blocks] = input.blockStride;
  values[Symbol::OutputRows] = static_cast<int64_t>(input.outputRows.size());
  values[Symbol::Context] = ceilDiv(context, tokensPerPage) * tokensPerPage;
  values[Symbol::QueryTiles] = queryTile > 0 ? countQueryTiles(input.sequences, queryTile) : 0;
  return values;
}

} // namespace fusec::runtime
