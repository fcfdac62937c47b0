//===- StepInputs.cpp --------------------------------------------------------===//

#include "runtime/exec/StepInputs.h"

#include "runtime/exec/QueryTiles.h"

#include <cstring>

namespace fusec::runtime {

namespace {

constexpr int64_t alignment = 64;
constexpr int64_t slackBytes = 64;

int64_t alignedBytes(int64_t elements) {
  int64_t bytes = elements * static_cast<int64_t>(sizeof(int32_t)) + slackBytes;
  return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

Result<StepInputs> StepInputs::create(const SymbolValues &maxima, int64_t queryTile) {
  StepInputs inputs;
  inputs.queryTile = queryTile;
  int64_t total = 0;
  auto place = [&](InputKind kind, int64_t elements) {
    inputs.offsets[static_cast<size_t>(kind)] = total;
    total += alignedBytes(elements);
  };
  place(InputKind::Tokens, maxima[Symbol::Tokens]);
  place(InputKind::Positions, maxima[Symbol::Tokens]);
  place(InputKind::Sequences, maxima[Symbol::Tokens]);
  place(InputKind::BlockTable, maxima[Symbol::Sequences] * maxima[Symbol::Blocks]);
  place(InputKind::OutputRows, maxima[Symbol::OutputRows]);
  place(InputKind::QueryTiles, 2 * maxima[Symbol::QueryTiles]);
  FUSEC_ASSIGN_OR_RETURN(inputs.memory, Buffer::allocate(total, "step inputs"));
  return inputs;
}

void StepInputs::fill(const StepInput &input) {
  auto copy = [&](InputKind kind, std::span<const int32_t> values) {
    if (!values.empty())
      std::memcpy(address(kind), values.data(), values.size_bytes());
  };
  copy(InputKind::Tokens, input.tokens);
  copy(InputKind::Positions, input.positions);
  copy(InputKind::Sequences, input.sequences);
  copy(InputKind::BlockTable, input.blockTable);
  copy(InputKind::OutputRows, input.outputRows);
  if (queryTile > 0)
    writeQueryTiles(input.sequences, queryTile, reinterpret_cast<int32_t *>(address(InputKind::QueryTiles)));
}

} // namespace fusec::runtime
