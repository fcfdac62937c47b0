//===- TextMethods.cpp - methods of str: splitting, replacing, case ----------===//
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Methods.h"
#include "runtime/text/jinja/Native.h"
#include "runtime/text/jinja/Ops.h"
#include "runtime/text/jinja/TextAlgorithms.h"

namespace fusec::text::jinja {

namespace {

/// Widest text a padding method makes in one call.
constexpr int64_t kMaxWidth = 1'000'000;

const Text &selfText(const NativeCall &call) { return *call.self.asText(); }

Status chargeScan(NativeCall &call) { return call.budget().step(1 + static_cast<int64_t>(selfText(call).size() / 64)); }

Result<Value> textList(NativeCall &call, std::vector<Text> parts, SequenceKind kind = SequenceKind::List) {
  std::vector<Value> items;
  for (Text &part : parts) {
    FUSEC_ASSIGN_OR_RETURN(Value item, makeText(call.budget(), std::move(part)));
    items.push_back(std::move(item));
  }
  return makeSequence(call.budget(), kind, std::move(items));
}

Result<std::optional<std::string_view>> optionalText(NativeCall &call, size_t i, const char *message) {
  Value v = call.orNone(i);
  if (v.isNone())
    return std::optional<std::string_view>();
  if (!v.isText())
    return invalidArgument(message);
  return std::optional<std::string_view>(call.get(i)->asText()->view());
}

template <Side side> Result<Value> strip(NativeCall &call) {
  FUSEC_RETURN_IF_ERROR(chargeScan(call));
  FUSEC_ASSIGN_OR_RETURN(auto chars, optionalText(call, 0,
                                                  side == Side::Left    ? "lstrip arg must be None or str"
                                                  : side == Side::Right ? "rstrip arg must be None or str"
                                                                        : "strip arg must be None or str"));
  return makeText(call.budget(), stripText(selfText(call), side, chars));
}

template <bool fromRight> Result<Value> split(NativeCall &call) {
  FUSEC_RETURN_IF_ERROR(chargeScan(call));
  const Value separator = call.orNone(0);
  FUSEC_ASSIGN_OR_RETURN(int64_t limit, call.integer(1, -1));
  const Text &text = selfText(call);
  FUSEC_RETURN_IF_ERROR(call.budget().allocate(static_cast<int64_t>(text.size() * 8)));
  if (separator.isNone())
    return textList(call, fromRight ? splitWordsFromRight(text, limit) : splitWords(text, limit));
  const Text *by = separator.asText();
  if (!by)
    return invalidArgument("must be str or None, not " + separator.typeName());
  if (by->empty())
    return invalidArgument("empty separator");
  return textList(call, fromRight ? splitTextFromRight(text, by->view(), limit) : splitText(text, by->view(), limit));
}

template <bool fromRight> Result<Value> partition(NativeCall &call) {
  FUSEC_RETURN_IF_ERROR(chargeScan(call));
  FUSEC_ASSIGN_OR_RETURN(const Text *by, call.text(0));
  if (by->empty())
    return invalidArgument("empty separator");
  const Text &text = selfText(call);
  size_t hit = fromRight ? text.view().rfind(by->view()) : text.view().find(by->view());
  if (hit == std::string_view::npos)
    return textList(call, fromRight ? std::vector<Text>{Text(), Text(), text} : std::vector<Text>{text, Text(), Text()},
                    SequenceKind::Tuple);
  size_t end = hit + by->size();
  return textList(call, {text.slice(0, hit), text.slice(hit, end), text.slice(end, text.size())}, SequenceKind::Tuple);
}

Result<Value> lines(NativeCall &call) {
  FUSEC_RETURN_IF_ERROR(chargeScan(call));
  return textList(call, splitLines(selfText(call), call.flag(0, false)));
}

Result<Value> replace(NativeCall &call) {
  FUSEC_RETURN_IF_ERROR(chargeScan(call));
  FUSEC_ASSIGN_OR_RETURN(int64_t limit, call.integer(2, -1));
  for (size_t i : {0, 1})
    if (!call.get(i)->isText())
      return invalidArgument("replace() argument " + std::to_string(i + 1) + " must be str, not " +
                             call.get(i)->typeName());
  const Text &text = selfText(call), &from = *call.get(0)->asText();
  Text to = text.markup ? escapeHtml(*call.get(1)->asText()) : *call.get(1)->asText();
  size_t hits = from.empty() ? text.size() + 1 : text.size() / from.size();
  FUSEC_RETURN_IF_ERROR(call.budget().step(static_cast<int64_t>(hits)));
  if (to.size() > 1) { // Growing: the worst case must fit before it is built.
    size_t real = from.empty() ? hits : 0;
    for (size_t p = 0; !from.empty() && (p = text.view().find(from.view(), p)) != std::string_view::npos;
         p += from.size())
      ++real;
    FUSEC_RETURN_IF_ERROR(call.budget().allocate(static_cast<int64_t>(real * to.size())));
  }
  return makeText(call.budget(), replaceText(text, from.view(), to, limit));
}

template <Text (*convert)(const Text &)> Result<Value> convertText(NativeCall &call) {
  FUSEC_RETURN_IF_ERROR(call.budget().step(1 + static_cast<int64_t>(selfText(call).size())));
  return makeText(call.budget(), convert(selfText(call)));
}
Text upperText(const Text &text) { return mapCase(text, CaseMap::Upper); }
Text lowerText(const Text &text) { return mapCase(text, CaseMap::Lower); }

template <Side side> Result<Value> pad(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(int64_t width, call.integer(0, 0));
  if (width > kMaxWidth)
    return resourceExhausted("padding to more than " + std::to_string(kMaxWidth) + " characters");
  Text fill(" ", true);
  if (call.get(1)) {
    FUSEC_ASSIGN_OR_RETURN(const Text *given, call.text(1));
    if (countCodePoints(given->view()) != 1)
      return invalidArgument("The fill character must be exactly one character long");
    fill = selfText(call).markup ? escapeHtml(*given) : *given;
  }
  FUSEC_RETURN_IF_ERROR(call.budget().allocate(std::max<int64_t>(width, 0) * 4));
  return makeText(call.budget(), padText(selfText(call), width, fill, side));
}

Result<Value> zeroFill(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(int64_t width, call.integer(0, 0));
  if (width > kMaxWidth)
    return resourceExhausted("padding to more than " + std::to_string(kMaxWidth) + " characters");
  const Text &text = selfText(call);
  size_t sign = !text.empty() && (text.bytes()[0] == '-' || text.bytes()[0] == '+') ? 1 : 0;
  Text out = text.slice(0, sign);
  out.append(padText(text.slice(sign, text.size()), width - static_cast<int64_t>(sign), Text("0", true), Side::Right));
  return makeText(call.budget(), std::move(out));
}

Result<Value> join(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> items, iterate(call.budget(), *call.get(0)));
  const Text &separator = selfText(call);
  Text out;
  out.markup = separator.markup;
  for (size_t i = 0; i < items.size(); ++i) {
    const Text *item = items[i].asText();
    if (!item)
      return invalidArgument("sequence item " + std::to_string(i) + ": expected str instance, " + items[i].typeName() +
                             " found");
    FUSEC_RETURN_IF_ERROR(call.budget().allocate(static_cast<int64_t>(item->size() + separator.size())));
    if (i)
      out.append(separator);
    out.append(separator.markup ? escapeHtml(*item) : *item);
  }
  return makeText(call.budget(), std::move(out));
}

Result<Value> formatMethod(NativeCall &call) { return formatBraces(call.interpreter, selfText(call), call.rest); }

template <bool prefix> Result<Value> removeAffix(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(const Text *affix, call.text(0));
  const Text &text = selfText(call);
  if (prefix ? !text.view().starts_with(affix->view()) : !text.view().ends_with(affix->view()))
    return call.self;
  return makeText(call.budget(),
                  prefix ? text.slice(affix->size(), text.size()) : text.slice(0, text.size() - affix->size()));
}

constexpr NativeRow kTextMethods[] = {
    {"capitalize", "", 0, convertText<capitalizeText>},
    {"casefold", "", 0, nullptr},
    {"center", "width,fillchar,/", 1, pad<Side::Both>},
    {"encode", "encoding,errors", 0, nullptr},
    {"expandtabs", "tabsize", 0, nullptr},
    {"format", "*", 0, formatMethod},
    {"format_map", "mapping,/", 1, nullptr},
    {"join", "iterable,/", 1, join},
    {"ljust", "width,fillchar,/", 1, pad<Side::Left>},
    {"lower", "", 0, convertText<lowerText>},
    {"lstrip", "chars,/", 0, strip<Side::Left>},
    {"maketrans", "*", 0, nullptr},
    {"partition", "sep,/", 1, partition<false>},
    {"removeprefix", "prefix,/", 1, removeAffix<true>},
    {"removesuffix", "suffix,/", 1, removeAffix<false>},
    {"replace", "old,new,count,/", 2, replace},
    {"rjust", "width,fillchar,/", 1, pad<Side::Right>},
    {"rpartition", "sep,/", 1, partition<true>},
    {"rsplit", "sep,maxsplit", 0, split<true>},
    {"rstrip", "chars,/", 0, strip<Side::Right>},
    {"split", "sep,maxsplit", 0, split<false>},
    {"splitlines", "keepends", 0, lines},
    {"strip", "chars,/", 0, strip<Side::Both>},
    {"swapcase", "", 0, convertText<swapCase>},
    {"title", "", 0, convertText<titleText>},
    {"translate", "table,/", 1, nullptr},
    {"upper", "", 0, convertText<upperText>},
    {"zfill", "width,/", 1, zeroFill},
};

} // namespace

std::span<const NativeRow> textMethods() { return kTextMethods; }

} // namespace fusec::text::jinja
