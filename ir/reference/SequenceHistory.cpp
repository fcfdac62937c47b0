//===- SequenceHistory.cpp - the inputs of a step ---------------------------------===//
#include "ir/reference/SequenceHistory.h"

namespace fusec::reference {

namespace {
Tensor vectorOf(std::vector<double> values) {
  const int64_t n = static_cast<int64_t>(values.size());
  return Tensor::fromValues(Element::I32, {n}, std::move(values));
}
} // namespace

Result<StepInputs> SequenceHistory::append(llvm::ArrayRef<Chunk> chunks, LogitRows rows) {
  for (const Chunk &chunk : chunks)
    if (chunk.sequence < 0 || chunk.sequence >= count())
      return invalidArgument("sequence " + std::to_string(chunk.sequence) + " does not exist, there are " +
                             std::to_string(count()));
  std::vector<double> tokens, positions, sequences, outputRows;
  StepInputs inputs;
  for (const Chunk &chunk : chunks) {
    for (size_t i = 0; i < chunk.tokens.size(); ++i) {
      if (rows == LogitRows::All || i + 1 == chunk.tokens.size())
        outputRows.push_back(static_cast<double>(tokens.size()));
      tokens.push_back(chunk.tokens[i]);
      positions.push_back(static_cast<double>(lengths[chunk.sequence]++));
      sequences.push_back(static_cast<double>(chunk.sequence));
    }
    inputs.context = std::max(inputs.context, lengths[chunk.sequence]);
  }
  inputs.tokens = vectorOf(std::move(tokens));
  inputs.positions = vectorOf(std::move(positions));
  inputs.sequences = vectorOf(std::move(sequences));
  inputs.outputRows = vectorOf(std::move(outputRows));
  return inputs;
}

int64_t roundToPages(int64_t context, int64_t page) { return page <= 0 ? context : (context + page - 1) / page * page; }

} // namespace fusec::reference
