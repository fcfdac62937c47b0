//===- ShuffledText.h - a graph under other names, in another order -------------===//
#pragma once

#include <cstdint>
#include <string>

namespace fusec::differential {

/// The text of a function with fresh names for all its values and its ops in another order in which
/// every value still stands before its readers. Drawn from `seed`.
std::string shuffledText(const std::string &text, uint32_t seed);

} // namespace fusec::differential
