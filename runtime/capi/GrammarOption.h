//===- GrammarOption.h - the grammars that an engine's requests name ---------------===//
//
//   GrammarOption grammars(service.tokenizer());
//   FUSEC_ASSIGN_OR_RETURN(request.constraint, grammars.compile(options));
//
// Compiled ones are kept for the next request that names the same.
//
// Threading: every member may be called from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/capi/fusec.h"
#include "runtime/grammar/GrammarCache.h"

#include <mutex>

namespace fusec::capi {

class GrammarOption {
public:
  /// Borrows the tokenizer.
  explicit GrammarOption(const text::Tokenizer &tokenizer) : tokenizer(tokenizer) {}

  /// Null for a request without a grammar. Errors name the field, or the place in the grammar.
  Result<grammar::GrammarPtr> compile(const fusec_request_options &options);

private:
  const text::Tokenizer &tokenizer;
  std::once_flag once;
  grammar::VocabularyPtr vocabulary; ///< Made for the first grammar: most engines never need it.
  grammar::GrammarCache cache{64u << 20};
};

} // namespace fusec::capi
