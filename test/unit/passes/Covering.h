//===- Covering.h - few cases that meet every pair of options -------------------===//
//
// Most faults need two options to meet, few need three. Rows are drawn greedily
// until every two values of every two factors stand together in one row.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace fusec::differential {

/// One value index per factor, `values[f]` of them for factor f. At least `atLeast` rows; those beyond
/// the covering set are random. The same rows everywhere for the same arguments.
std::vector<std::vector<int>> coveringRows(llvm::ArrayRef<int> values, size_t atLeast, uint32_t seed);

} // namespace fusec::differential
