//===- Compile.h - texts to compiled grammars ------------------------------===//
//
//   auto vocabulary = Vocabulary::fromTokenizer(tokenizer);
//   FUSEC_ASSIGN_OR_RETURN(auto grammar, compileJsonSchema(schemaText, vocabulary));
//
// Compiling runs on the caller's thread and may take up to Limits::seconds:
// keep it off the engine's thread. Errors: InvalidArgument for a text that is
// wrong, Unsupported for what fusec doesn't do, ResourceExhausted for a limit;
// the message names the place (schema path, or line and column).
//
// What each kind of grammar means: docs/serving/structured-output.md.
//
// Threading: free functions; the results are safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/grammar/Constraint.h"
#include "runtime/grammar/Limits.h"
#include "runtime/grammar/Vocabulary.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::grammar {

using GrammarPtr = std::shared_ptr<const CompiledGrammar>;
using VocabularyPtr = std::shared_ptr<const Vocabulary>;

/// JSON that satisfies a JSON schema (draft 2020-12), exactly.
Result<GrammarPtr> compileJsonSchema(std::string_view schema, VocabularyPtr vocabulary, const Limits &limits = {});
/// Any JSON object.
Result<GrammarPtr> compileJsonObject(VocabularyPtr vocabulary, const Limits &limits = {});
/// A text that a regular expression matches as a whole (see RegexParser.h).
Result<GrammarPtr> compileRegex(std::string_view pattern, VocabularyPtr vocabulary, const Limits &limits = {});
/// A text that the rule `root` of a GBNF grammar matches (see GbnfParser.h).
Result<GrammarPtr> compileGbnf(std::string_view grammar, VocabularyPtr vocabulary, const Limits &limits = {});
/// One of `choices`.
Result<GrammarPtr> compileChoice(const std::vector<std::string> &choices, VocabularyPtr vocabulary,
                                 const Limits &limits = {});

/// JSON that satisfies the schema; then `end` may follow, and behind it `next` and another such JSON, and so on. With
/// an empty `next` there is one.
Result<GrammarPtr> compileJsonSequence(std::string_view schema, std::string_view end, std::string_view next,
                                       VocabularyPtr vocabulary, const Limits &limits = {});

/// A grammar of any kind, as a server's request names it.
enum class GrammarKind { JsonSchema, JsonObject, Regex, Gbnf, Choice, JsonSequence };

struct GrammarText {
  GrammarKind kind = GrammarKind::JsonObject;
  /// Of a choice: a JSON array of strings. Of JsonObject: ignored. Of JsonSequence:
  /// {"schema": ..., "end": "...", "next": "..."}.
  std::string text;
};

Result<GrammarPtr> compile(const GrammarText &text, VocabularyPtr vocabulary, const Limits &limits = {});

} // namespace fusec::grammar
