//===- Compile.cpp - texts to compiled grammars ----------------------------===//
#include "runtime/grammar/Compile.h"

#include "runtime/base/Json.h"
#include "runtime/grammar/ExprCompiler.h"
#include "runtime/grammar/GbnfParser.h"
#include "runtime/grammar/Matcher.h"
#include "runtime/grammar/RegexParser.h"
#include "runtime/grammar/json/SchemaCompiler.h"
#include "runtime/text/Utf8.h"

#include <map>

namespace fusec::grammar {

namespace {

Status checkSize(std::string_view what, size_t bytes, const Limits &limits) {
  if (bytes <= limits.textBytes)
    return {};
  return resourceExhausted(std::string(what) + " has " + std::to_string(bytes) + " bytes; at most " +
                           std::to_string(limits.textBytes) + " are accepted");
}

Result<GrammarPtr> finish(MachineBuilder &builder, RuleId root, VocabularyPtr vocabulary, const Limits &limits) {
  FUSEC_ASSIGN_OR_RETURN(Machine machine, builder.finish(root));
  return GrammarPtr(std::make_shared<MachineGrammar>(std::move(machine), std::move(vocabulary), limits));
}

/// The trie of the choices: one state per prefix.
using Trie = std::map<std::pair<StateId, uint8_t>, StateId>;

void addChoice(MachineBuilder &builder, RuleId rule, std::string_view text, Trie &trie) {
  StateId at = builder.start(rule);
  for (size_t i = 0; i < text.size() && builder.budget.spend(1); ++i) {
    auto byte = static_cast<uint8_t>(text[i]);
    auto [entry, isNew] = trie.try_emplace({at, byte}, 0);
    if (isNew) {
      entry->second = builder.addState(rule);
      builder.byteEdge(at, byte, byte, entry->second);
    }
    at = entry->second;
  }
  builder.setAccept(at);
}

/// The state after `text`, which is read from `from`.
StateId addText(MachineBuilder &builder, std::string_view text, StateId from) {
  for (char c : text) {
    StateId to = builder.addState(builder.ruleOf(from));
    builder.byteEdge(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), to);
    from = to;
  }
  return from;
}

/// Parts of a JsonSequence.
struct Sequence {
  std::string schema, end, next;
};

Result<Sequence> parseSequence(std::string_view text) {
  // Refuses what is nested so deeply that printing it would not end well; the second parse keeps the order of keys.
  FUSEC_RETURN_IF_ERROR(parseJson(text, "sequence").status());
  const auto parts = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto isText = [&](const char *name) { return parts.contains(name) && parts[name].is_string(); };
  if (!parts.is_object() || !parts.contains("schema") || !isText("end") || !isText("next"))
    return invalidArgument("sequence: expected an object with a schema and the strings end and next");
  return Sequence{parts["schema"].dump(), parts["end"].get<std::string>(), parts["next"].get<std::string>()};
}

Result<std::vector<std::string>> parseChoices(std::string_view text) {
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json list, parseJson(text, "choice"));
  std::vector<std::string> choices;
  if (!list.is_array())
    return invalidArgument("choice: expected an array of strings, found " + std::string(jsonTypeName(list)));
  for (const nlohmann::json &item : list) {
    if (!item.is_string())
      return invalidArgument("choice: expected strings only, found " + std::string(jsonTypeName(item)));
    choices.push_back(item.get<std::string>());
  }
  return choices;
}

} // namespace

Result<GrammarPtr> compileRegex(std::string_view pattern, VocabularyPtr vocabulary, const Limits &limits) {
  FUSEC_RETURN_IF_ERROR(checkSize("the regex", pattern.size(), limits));
  CompileBudget budget(limits);
  ExprPool pool(budget);
  ExprId expr = parseRegex(pool, pattern, RegexAnchors::AtEnds);
  FUSEC_RETURN_IF_ERROR(budget.status());
  MachineBuilder builder(budget);
  ExprCompiler compiler(pool, builder);
  RuleId root = compiler.declare("the regex");
  compiler.define(0, expr);
  compiler.emit();
  return finish(builder, root, std::move(vocabulary), limits);
}

Result<GrammarPtr> compileGbnf(std::string_view text, VocabularyPtr vocabulary, const Limits &limits) {
  FUSEC_RETURN_IF_ERROR(checkSize("the grammar", text.size(), limits));
  CompileBudget budget(limits);
  ExprPool pool(budget);
  GbnfGrammar grammar;
  parseGbnf(pool, text, grammar);
  FUSEC_RETURN_IF_ERROR(budget.status());
  MachineBuilder builder(budget);
  ExprCompiler compiler(pool, builder);
  std::vector<RuleId> rules;
  for (const GbnfGrammar::NamedRule &rule : grammar.rules)
    rules.push_back(compiler.declare(rule.name));
  for (uint32_t i = 0; i < rules.size(); ++i)
    compiler.define(i, grammar.rules[i].expr);
  compiler.emit();
  return finish(builder, rules[grammar.root], std::move(vocabulary), limits);
}

Result<GrammarPtr> compileChoice(const std::vector<std::string> &choices, VocabularyPtr vocabulary,
                                 const Limits &limits) {
  CompileBudget budget(limits);
  MachineBuilder builder(budget);
  RuleId root = builder.addRule("choice");
  Trie trie;
  size_t bytes = 0;
  for (const std::string &choice : choices) {
    FUSEC_RETURN_IF_ERROR(checkSize("choice", bytes += choice.size(), limits));
    if (!text::isValidUtf8(choice))
      return invalidArgument("choice: a string is not valid UTF-8");
    addChoice(builder, root, choice, trie);
  }
  return finish(builder, root, std::move(vocabulary), limits);
}

Result<GrammarPtr> compileJsonSchema(std::string_view schema, VocabularyPtr vocabulary, const Limits &limits) {
  FUSEC_RETURN_IF_ERROR(checkSize("the schema", schema.size(), limits));
  CompileBudget budget(limits);
  MachineBuilder builder(budget);
  FUSEC_ASSIGN_OR_RETURN(RuleId root, json::buildSchema(schema, builder));
  return finish(builder, root, std::move(vocabulary), limits);
}

Result<GrammarPtr> compileJsonObject(VocabularyPtr vocabulary, const Limits &limits) {
  return compileJsonSchema(R"({"type": "object"})", std::move(vocabulary), limits);
}

Result<GrammarPtr> compileJsonSequence(std::string_view schema, std::string_view end, std::string_view next,
                                       VocabularyPtr vocabulary, const Limits &limits) {
  FUSEC_RETURN_IF_ERROR(checkSize("the schema", schema.size(), limits));
  CompileBudget budget(limits);
  MachineBuilder builder(budget);
  FUSEC_ASSIGN_OR_RETURN(RuleId value, json::buildSchema(schema, builder));
  RuleId root = builder.addRule("sequence");
  StateId written = builder.addState(root);
  builder.callEdge(builder.start(root), value, written);
  builder.setAccept(written);
  StateId closed = addText(builder, end, written);
  builder.setAccept(closed);
  if (!next.empty())
    builder.silentEdge(addText(builder, next, closed), builder.start(root));
  return finish(builder, root, std::move(vocabulary), limits);
}

Result<GrammarPtr> compile(const GrammarText &text, VocabularyPtr vocabulary, const Limits &limits) {
  switch (text.kind) {
  case GrammarKind::JsonSchema:
    return compileJsonSchema(text.text, std::move(vocabulary), limits);
  case GrammarKind::JsonObject:
    return compileJsonObject(std::move(vocabulary), limits);
  case GrammarKind::Regex:
    return compileRegex(text.text, std::move(vocabulary), limits);
  case GrammarKind::Gbnf:
    return compileGbnf(text.text, std::move(vocabulary), limits);
  case GrammarKind::JsonSequence: {
    FUSEC_RETURN_IF_ERROR(checkSize("sequence", text.text.size(), limits));
    FUSEC_ASSIGN_OR_RETURN(Sequence parts, parseSequence(text.text));
    return compileJsonSequence(parts.schema, parts.end, parts.next, std::move(vocabulary), limits);
  }
  case GrammarKind::Choice: {
    FUSEC_RETURN_IF_ERROR(checkSize("choice", text.text.size(), limits));
    FUSEC_ASSIGN_OR_RETURN(std::vector<std::string> choices, parseChoices(text.text));
    return compileChoice(choices, std::move(vocabulary), limits);
  }
  }
  return internalError("unknown kind of grammar");
}

} // namespace fusec::grammar
