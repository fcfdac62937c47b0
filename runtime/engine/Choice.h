//===- Choice.h - one text of a request: the next token, and whether it ends -----===//
//
// Per row of logits: restrict by the constraint, sample, turn into text, look for
// the end (an end id, a stop string, a complete constraint, the token limit).
//
//   FUSEC_ASSIGN_OR_RETURN(Choice choice, Choice::create(model, request, 0));
//   FUSEC_ASSIGN_OR_RETURN(TokenId token, choice.next(logits));
//   if (choice.finished()) ...
//   choice.tell(events);                      // Later, but before the next token.
//
// A device waits for the token, not for its text: the text is made when it is
// told, unless a stop string has to be looked for.
//
// What it gives depends on the request, the index and the logits alone.
//
// Ownership: a value that borrows the request and what ModelText borrows.
// Threading: one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Request.h"
#include "runtime/engine/Sampler.h"
#include "runtime/engine/TextStream.h"
#include "runtime/grammar/Constraint.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace fusec::runtime {

/// What all texts of an engine share.
struct ModelText {
  const text::Tokenizer &tokenizer;
  std::span<const TokenId> endIds; ///< Sorted.
  int64_t sampleableIds;           ///< Ids below may be sampled.
  int64_t contextTokens;
};

class Choice {
public:
  /// `request` is valid and outlives the choice.
  static Result<Choice> create(const ModelText &model, const Request &request, int index);

  /// Samples the token after `logits`. TokenEvent::noToken when the constraint finds
  /// the text complete as it is. An error ends the text: no token is possible, or the
  /// constraint has failed.
  Result<TokenId> next(std::span<const float> logits);

  /// What a device needs to know to choose the next token; nullopt when that takes
  /// the logits.
  std::optional<RowSampling> rowSampling() const;
  /// Like next(), with the token that a device chose by rowSampling().
  Result<TokenId> accept(TokenId chosen);

  /// Appends what the last token gives to tell; nothing when it was told.
  void tell(std::vector<TokenEvent> &events);

  /// Ends the text for a reason from outside.
  void end(FinishReason reason) { reasonToEnd = reasonToEnd.value_or(reason); }
  bool finished() const { return reasonToEnd.has_value(); }
  /// Tokens sampled, the end id included.
  int64_t sampled() const { return numSampled; }
  /// The text so far, all of it told; `reason` is set once it is finished.
  Generation take();

private:
  /// What the last token gives to tell.
  struct Untold {
    TokenEvent event;
    bool looksForStops = false; ///< Stop strings end the text.
    bool isLast = false;        ///< No token follows.
    bool isWritten = false;     ///< The event has its text.
  };

  Choice(const ModelText &model, const Request &request, int index, TextStream stream);
  Sampler::Restriction restriction();
  Result<TokenId> goOn(Sampler::Choice chosen);
  void acceptToken(Sampler::Choice chosen);
  void acceptEnd(TokenId id);
  void writeText();
  Status advanceConstraint(TokenId id);
  void report(const Sampler::Choice &chosen);
  bool isEnd(TokenId id) const;
  bool mayEnd() const { return numSampled >= request->minTokens; }

  const ModelText *model;
  const Request *request;
  int index;
  TextStream stream;
  Sampler sampler;
  std::unique_ptr<grammar::Constraint> constraint; ///< Null = free.
  std::vector<uint32_t> mask;                      ///< Work space of the constraint.
  std::vector<TokenId> banned;                     ///< End ids, while there must be more tokens.
  int64_t tokenLimit;                              ///< maxTokens and the context.
  int64_t numSampled = 0;
  double logprobSum = 0;
  std::optional<FinishReason> reasonToEnd;
  std::optional<Untold> untold;
  Generation result;
};

} // namespace fusec::runtime
