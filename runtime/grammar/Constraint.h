//===- Constraint.h - which tokens may come next ---------------------------------===//
//
// What a sampler asks of structured output, whatever it was made from (a JSON
// schema, a regular expression, a grammar):
//
//   std::unique_ptr<Constraint> state = grammar->start();
//   state->allowed(mask);               // before each token
//   state->accept(token);               // after it was chosen
//
// A CompiledGrammar is immutable and may be shared by any number of requests and
// threads; a Constraint belongs to one generated text and one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/TokenId.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace fusec::grammar {

/// The state of one constrained text.
class Constraint {
public:
  virtual ~Constraint() = default;

  /// Writes all of `mask`, ceil(vocab / 32) words: bit `id` is set when the token may come next. End ids are set where
  /// the text may end.
  virtual void allowed(std::span<uint32_t> mask) = 0;
  /// Goes on by a token. False, and the state is unchanged, when it was not allowed.
  virtual bool accept(text::TokenId id) = 0;
  /// The text is complete and nothing can follow: generation ends, even without an end id.
  virtual bool finished() const = 0;
  /// The text so far is complete, though more may follow.
  virtual bool mayEnd() const { return finished(); }
  /// Ok, or why no token is allowed: InvalidArgument for a dead end (no token of the vocabulary continues the text),
  /// ResourceExhausted for a limit.
  virtual Status status() const { return {}; }
  /// An independent copy.
  virtual std::unique_ptr<Constraint> clone() const = 0;
};

/// What constraints are started from.
class CompiledGrammar {
public:
  virtual ~CompiledGrammar() = default;
  /// The state before the first token.
  virtual std::unique_ptr<Constraint> start() const = 0;
  /// Bytes held now, caches included.
  virtual size_t bytes() const { return 0; }
};

} // namespace fusec::grammar
