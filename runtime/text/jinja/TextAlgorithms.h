//===- TextAlgorithms.h - str operations that keep origins -------------------===//
//
// The algorithms behind str methods and text filters. Positions are bytes at
// character borders unless a name says characters. Results carry the markup flag
// and the origin of every byte.
//
// Threading: pure functions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/jinja/Text.h"
#include "runtime/text/jinja/Unicode.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fusec::text::jinja {

enum class Side { Left, Right, Both };

/// Strips characters found in `chars`, or whitespace without it.
Text stripText(const Text &text, Side side, std::optional<std::string_view> chars);
/// str.split / rsplit with a separator; `limit` < 0 is no limit. `separator` is not empty.
std::vector<Text> splitText(const Text &text, std::string_view separator, int64_t limit);
std::vector<Text> splitTextFromRight(const Text &text, std::string_view separator, int64_t limit);
/// str.split() on runs of whitespace.
std::vector<Text> splitWords(const Text &text, int64_t limit);
std::vector<Text> splitWordsFromRight(const Text &text, int64_t limit);
std::vector<Text> splitLines(const Text &text, bool keepEnds);
/// str.replace; `limit` < 0 is no limit.
Text replaceText(const Text &text, std::string_view from, const Text &to, int64_t limit);

Text mapCase(const Text &text, CaseMap map);
Text capitalizeText(const Text &text);
/// str.title: the first letter of every run of letters in upper case.
Text titleText(const Text &text);
/// Jinja's title filter: words also start after whitespace, `-`, `(`, `{`, `[` and `<` only.
Text titleWords(const Text &text);
Text swapCase(const Text &text);

/// `width` characters with `text` at the left, right or middle as str.ljust, rjust, center do.
Text padText(const Text &text, int64_t width, const Text &fill, Side textSide);

/// Byte position of character number `index` (its end when beyond).
size_t byteOfCharacter(std::string_view text, int64_t index);

} // namespace fusec::text::jinja
