//===- Filters.h - the filters a template can use ----------------------------===//
#pragma once

#include <span>
#include <string_view>

namespace fusec::text::jinja {

struct NativeRow;

/// Null when there is no filter of that name.
const NativeRow *findFilter(std::string_view name);

/// The tables findFilter searches; a test iterates them.
std::span<const NativeRow> textFilters();
std::span<const NativeRow> sequenceFilters();
std::span<const NativeRow> valueFilters();

} // namespace fusec::text::jinja
