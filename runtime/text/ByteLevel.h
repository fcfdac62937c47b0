//===- ByteLevel.h - the printable alphabet of byte-level vocabularies -----===//
//
// GPT-2 style vocabularies spell each byte as one printable character: bytes
// that are printable in Latin-1 stand for themselves, the other 68 are
// numbered from U+0100 on. fusec keeps vocabularies in raw bytes and uses the
// alphabet only at the border.
//
// Threading: pure functions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fusec::text {

/// Appends the alphabet's character for each byte.
std::string bytesToAlphabet(std::string_view bytes);

/// The bytes that `spelling` stands for; nullopt when a character is not in
/// the alphabet.
std::optional<std::string> alphabetToBytes(std::string_view spelling);

} // namespace fusec::text
