//===- Regex.h - tokenizer expressions on PCRE2 ----------------------------===//
//
// Tokenizer files are written for Oniguruma with Unicode tables. compile()
// rewrites the few constructs that differ (\s, \S, \w, \W and \h by their
// Oniguruma meaning, ^ and $ at every line) and refuses those it cannot carry
// over (set operations inside brackets, \C).
//
//   FUSEC_ASSIGN_OR_RETURN(Regex words, Regex::compile("\\p{L}+|\\s+"));
//   RegexScanner scanner(words);
//   FUSEC_RETURN_IF_ERROR(scanner.findAll(text, matches));
//
// Threading: a Regex is immutable and shareable; a RegexScanner belongs to one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/Utf8.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::text {

class Regex {
public:
  /// InvalidArgument for a malformed expression (with PCRE2's reason and
  /// offset), Unsupported for a construct that would change its meaning.
  static Result<Regex> compile(std::string_view pattern);
  /// An expression that matches `literal` itself.
  static Result<Regex> literal(std::string_view literal);

private:
  friend class RegexScanner;
  explicit Regex(std::shared_ptr<const void> c) : code(std::move(c)) {}
  std::shared_ptr<const void> code; ///< A pcre2_code.
};

/// Scratch memory for matching one expression; `regex` must outlive it.
class RegexScanner {
public:
  explicit RegexScanner(const Regex &regex);
  ~RegexScanner();
  RegexScanner(const RegexScanner &) = delete;
  RegexScanner &operator=(const RegexScanner &) = delete;

  /// Replaces `matches` by all non-empty matches in `text` (valid UTF-8), left
  /// to right, not overlapping. ResourceExhausted when the match limit is hit.
  Status findAll(std::string_view text, std::vector<TextRange> &matches);

private:
  struct Scratch;
  std::unique_ptr<Scratch> scratch;
};

} // namespace fusec::text
