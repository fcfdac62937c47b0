//===- FusionControl.cpp ------------------------------------------------------------===//
#include "passes/fusion/FusionControl.h"

namespace fusec {

bool FusionControl::take(const FusionCandidate &, bool profitable) {
  if (!options.enabled || !profitable || (options.limit >= 0 && count >= options.limit))
    return false;
  ++count;
  return true;
}

} // namespace fusec
