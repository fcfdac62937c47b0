//===- TextFilters.cpp - filters on text -------------------------------------===//
#include "runtime/text/jinja/Filters.h"
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Methods.h"
#include "runtime/text/jinja/Native.h"
#include "runtime/text/jinja/Ops.h"
#include "runtime/text/jinja/TextAlgorithms.h"

namespace fusec::text::jinja {

namespace {

constexpr int64_t kMaxIndent = 10'000;

/// The filtered value as text (jinja's soft_str: Markup stays Markup).
Result<Text> input(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(Text text, toText(call.budget(), call.self));
  FUSEC_RETURN_IF_ERROR(call.budget().step(1 + static_cast<int64_t>(text.size() / 16)));
  return text;
}

/// Runs the str method of the same name on the filtered value as text.
Result<Value> asMethod(NativeCall &call, std::string_view method, Args args) {
  FUSEC_ASSIGN_OR_RETURN(Text text, input(call));
  Value self = Value::text(std::move(text));
  return callNative(*findMethod(self, method), call.interpreter, self, std::move(args));
}

Result<Value> upper(NativeCall &call) { return asMethod(call, "upper", {}); }
Result<Value> lower(NativeCall &call) { return asMethod(call, "lower", {}); }
Result<Value> capitalize(NativeCall &call) { return asMethod(call, "capitalize", {}); }
Result<Value> trim(NativeCall &call) { return asMethod(call, "strip", {{call.orNone(0)}, {}}); }

Result<Value> title(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(Text text, input(call));
  text.markup = false;
  return makeText(call.budget(), titleWords(text));
}

Result<Value> center(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(int64_t width, call.integer(0, 80));
  return asMethod(call, "center", {{Value::integer(width)}, {}});
}

Result<Value> string(NativeCall &call) {
  if (call.self.isText())
    return call.self;
  FUSEC_ASSIGN_OR_RETURN(Text text, input(call));
  return makeText(call.budget(), std::move(text));
}

Result<Value> safe(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(Text text, input(call));
  text.markup = true;
  return makeText(call.budget(), std::move(text));
}

Result<Value> escape(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(Text text, input(call));
  FUSEC_RETURN_IF_ERROR(call.budget().allocate(static_cast<int64_t>(text.size() * 5)));
  return makeText(call.budget(), escapeHtml(text));
}

Result<Value> forceEscape(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(Text text, input(call));
  text.markup = false;
  FUSEC_RETURN_IF_ERROR(call.budget().allocate(static_cast<int64_t>(text.size() * 5)));
  return makeText(call.budget(), escapeHtml(text));
}

Result<Value> replace(NativeCall &call) {
  Args args;
  for (size_t i : {0, 1}) { // str(old), str(new)
    FUSEC_ASSIGN_OR_RETURN(Text text, toText(call.budget(), *call.get(i)));
    text.markup = false;
    args.positional.push_back(Value::text(std::move(text)));
  }
  args.positional.push_back(call.orNone(2));
  FUSEC_ASSIGN_OR_RETURN(Text text, input(call));
  text.markup = false;
  Value self = Value::text(std::move(text));
  return callNative(*findMethod(self, "replace"), call.interpreter, self, std::move(args));
}

Result<Value> format(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(Text text, input(call));
  if (!call.rest.named.empty() && !call.rest.positional.empty())
    return invalidArgument("can't handle positional and keyword arguments at the same time");
  if (call.rest.named.empty()) {
    FUSEC_ASSIGN_OR_RETURN(Value tuple,
                           makeSequence(call.budget(), SequenceKind::Tuple, std::move(call.rest.positional)));
    return formatPercent(call.budget(), text, tuple);
  }
  Dict dict;
  for (const auto &[name, value] : call.rest.named)
    dict.set(Value::trusted(name), value);
  FUSEC_ASSIGN_OR_RETURN(Value mapping, makeDict(call.budget(), std::move(dict)));
  return formatPercent(call.budget(), text, mapping);
}

/// What indent puts before a line: a given text or that many spaces.
Result<Text> indentation(NativeCall &call) {
  Value width = call.orNone(0);
  if (width.isText())
    return *width.asText();
  FUSEC_ASSIGN_OR_RETURN(int64_t spaces, call.integer(0, 4));
  if (spaces > kMaxIndent)
    return resourceExhausted("indentation by more than " + std::to_string(kMaxIndent) + " spaces");
  return Text(std::string(static_cast<size_t>(std::max<int64_t>(spaces, 0)), ' '), true);
}

/// indent adds a line break first, so it fails where Python's `+=` does.
Status checkIndentable(const Value &value) {
  if (value.isText())
    return {};
  if (value.isUndefined())
    return invalidArgument(value.undefinedMessage());
  if (value.isList())
    return invalidArgument("'list' object has no attribute 'splitlines'");
  if (value.isTuple())
    return invalidArgument("can only concatenate tuple (not \"str\") to tuple");
  return invalidArgument("unsupported operand type(s) for +=: '" + value.typeName() + "' and 'str'");
}

Result<Value> indent(NativeCall &call) {
  FUSEC_RETURN_IF_ERROR(checkIndentable(call.self));
  FUSEC_ASSIGN_OR_RETURN(Text prefix, indentation(call));
  FUSEC_ASSIGN_OR_RETURN(Text text, input(call));
  bool first = call.flag(1, false), blank = call.flag(2, false);
  Text out;
  out.markup = text.markup;
  if (first)
    out.append(prefix);
  text.append("\n", true); // Jinja's own quirk: a final line break is kept that way.
  std::vector<Text> lines = splitLines(text, false);
  FUSEC_RETURN_IF_ERROR(call.budget().allocate(static_cast<int64_t>(lines.size() * (prefix.size() + sizeof(Text)))));
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i)
      out.append("\n", true);
    if (i && (blank || !lines[i].empty()))
      out.append(prefix);
    out.append(lines[i]);
  }
  return makeText(call.budget(), std::move(out));
}

Result<Value> truncate(NativeCall &call) {
  if (!call.self.isText()) { // Short values of other types pass through.
    FUSEC_ASSIGN_OR_RETURN(int64_t items, length(call.self));
    FUSEC_ASSIGN_OR_RETURN(int64_t most, call.integer(0, 255));
    return items <= most ? Result<Value>(call.self)
                         : invalidArgument("truncate needs a str, found " + call.self.typeName());
  }
  FUSEC_ASSIGN_OR_RETURN(Text text, input(call));
  FUSEC_ASSIGN_OR_RETURN(int64_t length, call.integer(0, 255));
  FUSEC_ASSIGN_OR_RETURN(int64_t leeway, call.integer(3, 5));
  Text end("...", true);
  if (call.get(2)) {
    FUSEC_ASSIGN_OR_RETURN(const Text *given, call.text(2));
    end = *given;
  }
  auto endLength = static_cast<int64_t>(countCodePoints(end.view()));
  if (length < endLength)
    return invalidArgument("expected length >= " + std::to_string(endLength) + ", got " + std::to_string(length));
  if (leeway < 0)
    return invalidArgument("expected leeway >= 0, got " + std::to_string(leeway));
  if (static_cast<int64_t>(countCodePoints(text.view())) <= length + leeway)
    return Value::text(std::move(text));
  Text out = text.slice(0, byteOfCharacter(text.view(), length - endLength));
  if (!call.flag(1, false))
    out = splitTextFromRight(out, " ", 1)[0];
  out.append(end);
  return makeText(call.budget(), std::move(out));
}

Result<Value> wordCount(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(Text text, input(call));
  int64_t words = 0;
  bool inWord = false;
  for (size_t pos = 0; pos < text.size();) {
    CodePoint c = decodeAt(text.view(), pos);
    bool wordCharacter = c.valid && (c.value == '_' || isAlpha(c.value) || isNumeric(c.value));
    words += wordCharacter && !inWord;
    inWord = wordCharacter;
    pos += c.length;
  }
  return Value::integer(words);
}

constexpr NativeRow kTextFilters[] = {
    {"capitalize", "", 0, capitalize},
    {"center", "width", 0, center},
    {"e", "", 0, escape},
    {"escape", "", 0, escape},
    {"filesizeformat", "binary", 0, nullptr},
    {"forceescape", "", 0, forceEscape},
    {"format", "*", 0, format},
    {"indent", "width,first,blank", 0, indent},
    {"lower", "", 0, lower},
    {"replace", "old,new,count", 2, replace},
    {"safe", "", 0, safe},
    {"string", "", 0, string},
    {"striptags", "", 0, nullptr},
    {"title", "", 0, title},
    {"trim", "chars", 0, trim},
    {"truncate", "length,killwords,end,leeway", 0, truncate},
    {"upper", "", 0, upper},
    {"urlencode", "", 0, nullptr},
    {"urlize", "*", 0, nullptr},
    {"wordcount", "", 0, wordCount},
    {"wordwrap", "*", 0, nullptr},
    {"xmlattr", "autospace", 0, nullptr},
};

} // namespace

std::span<const NativeRow> textFilters() { return kTextFilters; }

} // namespace fusec::text::jinja
