//===- Policy.cpp ------------------------------------------------------------===//

#include "runtime/sched/Policy.h"

#include <algorithm>

namespace fusec::runtime {

static constexpr PolicyRow table[] = {
    {Policy::Fcfs, "fcfs", false, false, 32, "in the order of arrival"},
    {Policy::Priority, "priority", true, false, 32, "lower priority values first, then in the order of arrival"},
    {Policy::PrefixAware, "prefix", false, true, 128, "longest cached prefix first"},
};

std::span<const PolicyRow> policyTable() { return table; }

const PolicyRow &policyRow(Policy policy) { return table[static_cast<size_t>(policy)]; }

const PolicyRow *findPolicy(std::string_view name) {
  auto row = std::find_if(std::begin(table), std::end(table), [&](const PolicyRow &row) { return row.name == name; });
  return row == std::end(table) ? nullptr : row;
}

} // namespace fusec::runtime
