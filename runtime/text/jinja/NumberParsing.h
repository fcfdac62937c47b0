//===- NumberParsing.h - int(text) and float(text) as Python reads them ------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fusec::text::jinja {

/// int(text, base) for base 2..36, or 0 for the prefix's base; nullopt where
/// Python raises ValueError or the value does not fit 64 bits.
std::optional<int64_t> parsePythonInt(std::string_view text, int base);
/// float(text); nullopt where Python raises ValueError.
std::optional<double> parsePythonFloat(std::string_view text);

} // namespace fusec::text::jinja
