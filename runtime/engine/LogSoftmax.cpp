//===- LogSoftmax.cpp --------------------------------------------------------===//

#include "runtime/engine/LogSoftmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fusec::runtime {

double logSumExp(std::span<const float> logits) {
  float best = -std::numeric_limits<float>::infinity();
  for (float logit : logits)
    best = logit > best ? logit : best; // False for NaN.
  if (std::isinf(best) && best < 0)
    return best;
  best = std::min(best, std::numeric_limits<float>::max());
  // Single-precision exponentials summed in double: the relative error of the sum stays near 1e-7 for any vocabulary.
  double sum = 0;
  for (float logit : logits)
    sum += std::isnan(logit) ? 0.0f : std::exp(std::min(logit - best, 0.0f)); // Above 0 only for +inf.
  return best + std::log(sum);
}

} // namespace fusec::runtime
