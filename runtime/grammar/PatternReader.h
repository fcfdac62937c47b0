//===- PatternReader.h - a cursor over the text of a pattern -----------------===//
//
// What the parsers of regular expressions and of GBNF read alike: characters,
// numbers, hexadecimal digits, * + ?, and errors that name the place. A parser
// derives from it and says how places are named.
//
// Errors go to the pool's budget; after one, good() is false and what is read is
// of no use.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Expr.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace fusec::grammar {

class PatternReader {
protected:
  PatternReader(ExprPool &pool, std::string_view text) : pool(pool), text(text) {}
  ~PatternReader() = default;

  /// The place of `at`, as messages begin: "regex column 3".
  virtual std::string place() const = 0;

  bool good() const { return !pool.budget.exhausted(); }
  bool more() const { return at < text.size() && good(); }
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  bool take(std::string_view expected);
  /// Always 0, so that it can end any reading.
  ExprId fail(const std::string &what);

  /// The character at the cursor, which stands on valid UTF-8.
  char32_t point();
  /// The bound of a repetition; false without digits.
  bool number(uint32_t &value);
  /// Exactly so many digits, at most 8.
  uint64_t hexDigits(size_t digits);
  /// *, + or ?; sets the bounds of any repetition to "none" otherwise.
  bool shortRepetition(uint32_t &min, uint32_t &max);

  ExprPool &pool;
  std::string_view text;
  size_t at = 0;
};

} // namespace fusec::grammar
