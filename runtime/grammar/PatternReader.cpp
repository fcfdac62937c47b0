//===- PatternReader.cpp --------------------------------------------------===//
#include "runtime/grammar/PatternReader.h"

#include "runtime/text/Utf8.h"

#include <algorithm>

namespace fusec::grammar {

bool PatternReader::take(std::string_view expected) {
  if (text.substr(at, expected.size()) != expected)
    return false;
  at += expected.size();
  return true;
}

ExprId PatternReader::fail(const std::string &what) {
  pool.budget.fail(invalidArgument(place() + ": " + what));
  return 0;
}

char32_t PatternReader::point() {
  text::CodePoint character = text::decodeUtf8(text, at);
  at += character.length;
  return character.value;
}

bool PatternReader::number(uint32_t &value) {
  size_t begin = at;
  uint64_t total = 0;
  for (; peek() >= '0' && peek() <= '9'; ++at)
    total = std::min<uint64_t>(total * 10 + static_cast<uint64_t>(peek() - '0'), kNone);
  if (total > 1'000'000'000)
    fail("a repetition may have a bound of at most 1000000000");
  value = static_cast<uint32_t>(total);
  return at > begin;
}

uint64_t PatternReader::hexDigits(size_t digits) {
  uint64_t value = 0;
  for (size_t i = 0; i < digits; ++i, ++at) {
    char c = peek();
    int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
    if (digit < 0)
      return fail("expected a hexadecimal digit");
    value = value * 16 + static_cast<uint64_t>(digit);
  }
  return value;
}

bool PatternReader::shortRepetition(uint32_t &min, uint32_t &max) {
  min = 0, max = kNone;
  if (take("*"))
    return true;
  if (take("+"))
    return min = 1, true;
  if (take("?"))
    return max = 1, true;
  return false;
}

} // namespace fusec::grammar
