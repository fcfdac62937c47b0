//===- GrammarOption.cpp -------------------------------------------------------===//

#include "runtime/capi/GrammarOption.h"

#include <algorithm>
#include <iterator>

using fusec::grammar::GrammarKind;
using fusec::grammar::GrammarPtr;

namespace fusec::capi {

namespace {

struct KindRow {
  fusec_grammar_kind number;
  GrammarKind kind;
  bool hasText;
};
constexpr KindRow kinds[] = {
    {FUSEC_GRAMMAR_JSON_SCHEMA, GrammarKind::JsonSchema, true},  {FUSEC_GRAMMAR_REGEX, GrammarKind::Regex, true},
    {FUSEC_GRAMMAR_JSON_OBJECT, GrammarKind::JsonObject, false}, {FUSEC_GRAMMAR_GBNF, GrammarKind::Gbnf, true},
    {FUSEC_GRAMMAR_CHOICE, GrammarKind::Choice, true},
};

/// A grammar without its kind, or the reverse, would otherwise be a text that is free.
Status requireBoth(const KindRow &row, const char *text) {
  if (row.hasText == (text != nullptr))
    return {};
  return invalidArgument(row.hasText ? "grammar: expected a pointer, found NULL"
                                     : "grammar: expected NULL, because any JSON object will do");
}

} // namespace

Result<GrammarPtr> GrammarOption::compile(const fusec_request_options &options) {
  if (options.grammar_kind == FUSEC_GRAMMAR_NONE) {
    if (options.grammar)
      return invalidArgument("grammar_kind: expected the kind of the grammar, found FUSEC_GRAMMAR_NONE");
    return GrammarPtr();
  }
  const auto *row = std::find_if(std::begin(kinds), std::end(kinds),
                                 [&](const KindRow &row) { return row.number == options.grammar_kind; });
  if (row == std::end(kinds))
    return invalidArgument("grammar_kind: " + std::to_string(options.grammar_kind) + " is none of fusec_grammar_kind");
  FUSEC_RETURN_IF_ERROR(requireBoth(*row, options.grammar));
  std::call_once(once, [&] { vocabulary = grammar::Vocabulary::fromTokenizer(tokenizer); });
  Result<GrammarPtr> compiled = cache.get({row->kind, options.grammar ? options.grammar : ""}, vocabulary);
  return compiled ? compiled : compiled.status().withContext("grammar");
}

} // namespace fusec::capi
