//===- VerifyBisect.cpp ----------------------------------------------------===//
#include "tools/fusec/VerifyBisect.h"

namespace fusec {

Result<BisectResult> bisect(int64_t total, const BisectMeasure &measure) {
  BisectResult result;
  auto sample = [&](int64_t fusions) {
    ++result.measured;
    return measure(fusions);
  };
  FUSEC_ASSIGN_OR_RETURN(result.after, sample(total));
  if (!result.after.exceeds)
    return invalidArgument("nothing to find: with all " + std::to_string(total) +
                           " fusions the error is within its bound");
  FUSEC_ASSIGN_OR_RETURN(result.before, sample(0));
  if (result.before.exceeds)
    return invalidArgument("the error exceeds its bound without any fusion; what differs is not a fusion");
  int64_t passing = 0, failing = total;
  while (failing - passing > 1) {
    const int64_t middle = passing + (failing - passing) / 2;
    FUSEC_ASSIGN_OR_RETURN(BisectSample found, sample(middle));
    (found.exceeds ? failing : passing) = middle;
    (found.exceeds ? result.after : result.before) = found;
  }
  result.index = passing;
  return result;
}

} // namespace fusec
