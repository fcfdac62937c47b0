//===- StringLiteral.h - escapes of a template's string literals -------------===//
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace fusec::text::jinja {

/// The inside of a quoted literal with Python's backslash escapes decoded; an
/// unknown escape keeps its backslash.
Result<std::string> decodeStringLiteral(std::string_view body);

} // namespace fusec::text::jinja
