//===- Policy.h - who goes first: the table of policies -----------------------===//
//
// A policy orders the requests that wait. All share one rule on top: a request
// that others were started past too often goes first (bounded waiting).
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fusec::runtime {

enum class Policy : uint8_t { Fcfs, Priority, PrefixAware };

struct PolicyRow {
  Policy policy;
  std::string_view name;
  bool byPriority; ///< Lower priority values go first; the others by arrival.
  bool byPrefix;   ///< Of those that came first, the longest cached prefix goes first.
  size_t window;   ///< Waiting requests looked at in a step: bounds its cost when thousands wait and none fits.
  std::string_view summary;
};

std::span<const PolicyRow> policyTable();
const PolicyRow &policyRow(Policy policy);
/// Null for an unknown name.
const PolicyRow *findPolicy(std::string_view name);

} // namespace fusec::runtime
