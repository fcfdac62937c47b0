//===- Digest.h - identity of bytes by their content -----------------------===//
//
// Digests name cache entries and model contents. They guard against accidents,
// not against someone who crafts collisions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <string_view>

namespace fusec {

/// 128-bit digest (XXH3) of a string's bytes, as 32 hexadecimal digits.
std::string digestText(std::string_view text);

} // namespace fusec
