//===- Globals.h - functions every template sees -----------------------------===//
#pragma once

#include <span>

namespace fusec::text::jinja {

struct NativeRow;

/// range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
std::span<const NativeRow> globalFunctions();

} // namespace fusec::text::jinja
