//===- EmbeddingPool.cpp -------------------------------------------------------===//

#include "runtime/engine/EmbeddingPool.h"

#include <cmath>

namespace fusec::runtime {

void EmbeddingPool::add(int64_t position, std::span<const float> row) {
  const bool isFirst = sum.empty();
  if (needsAllRows() && position != next)
    return;
  ++next;
  if (isFirst || info.pooling == Pooling::Last)
    sum.assign(row.begin(), row.end());
  else if (info.pooling == Pooling::Mean)
    for (size_t i = 0; i < row.size(); ++i)
      sum[i] += row[i];
}

/// The mean and the sum have the same direction, which is all that is left of them.
Result<std::vector<float>> EmbeddingPool::take() const {
  double squares = 0;
  for (double value : sum)
    squares += value * value;
  if (!std::isfinite(squares))
    return internalError("embedding: the model's hidden states are not finite");
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  std::vector<float> embedding;
  for (double value : sum)
    embedding.push_back(static_cast<float>(value * scale));
  return embedding;
}

} // namespace fusec::runtime
