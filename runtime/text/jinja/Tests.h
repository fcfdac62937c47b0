//===- Tests.h - the `is` tests a template can use ---------------------------===//
#pragma once

#include <span>
#include <string_view>

namespace fusec::text::jinja {

struct NativeRow;

/// Null when there is no test of that name.
const NativeRow *findTest(std::string_view name);
/// The table findTest searches; a test iterates it.
std::span<const NativeRow> testTable();

} // namespace fusec::text::jinja
