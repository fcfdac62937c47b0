//===- TextSearchMethods.cpp - methods of str that look and classify ---------===//
#include "runtime/text/jinja/Methods.h"
#include "runtime/text/jinja/Native.h"
#include "runtime/text/jinja/TextAlgorithms.h"

#include <algorithm>

namespace fusec::text::jinja {

namespace {

const Text &selfText(const NativeCall &call) { return *call.self.asText(); }

/// The bytes that `[start:end]` (arguments 1 and 2, in characters) selects.
struct Window {
  size_t begin, end;
  bool valid; ///< False when start lies behind the end: then nothing matches.
};

Result<Window> window(NativeCall &call) {
  const Text &text = selfText(call);
  FUSEC_RETURN_IF_ERROR(call.budget().step(1 + static_cast<int64_t>(text.size() / 64)));
  if (!call.get(1) && !call.get(2))
    return Window{0, text.size(), true};
  auto count = static_cast<int64_t>(countCodePoints(text.view()));
  FUSEC_ASSIGN_OR_RETURN(int64_t start, call.integer(1, 0));
  FUSEC_ASSIGN_OR_RETURN(int64_t end, call.integer(2, count));
  auto normal = [count](int64_t i) { return i < 0 ? std::max<int64_t>(i + count, 0) : i; };
  start = normal(start);
  end = std::min(normal(end), count);
  return Window{byteOfCharacter(text.view(), start), byteOfCharacter(text.view(), end), start <= end};
}

template <bool atStart> Result<Value> affix(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(Window w, window(call));
  const Value &wanted = *call.get(0);
  std::vector<Value> choices = wanted.isTuple() ? wanted.asSequence()->items : std::vector<Value>{wanted};
  std::string_view text = selfText(call).view().substr(w.begin, w.valid ? w.end - w.begin : 0);
  for (const Value &choice : choices) {
    const Text *t = choice.asText();
    if (!t)
      return invalidArgument(std::string(atStart ? "startswith" : "endswith") +
                             " first arg must be str or a tuple of str, not " + choice.typeName());
    if (w.valid && (atStart ? text.starts_with(t->view()) : text.ends_with(t->view())))
      return Value::boolean(true);
  }
  return Value::boolean(false);
}

template <bool fromRight, bool mustExist> Result<Value> find(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(Window w, window(call));
  FUSEC_ASSIGN_OR_RETURN(const Text *part, call.text(0));
  std::string_view text = selfText(call).view().substr(0, w.end);
  size_t hit = !w.valid ? text.npos : fromRight ? text.rfind(part->view()) : text.find(part->view(), w.begin);
  if (hit != text.npos && hit >= w.begin)
    return Value::integer(static_cast<int64_t>(countCodePoints(text.substr(0, hit))));
  if (mustExist)
    return invalidArgument("substring not found");
  return Value::integer(-1);
}

Result<Value> count(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(Window w, window(call));
  FUSEC_ASSIGN_OR_RETURN(const Text *part, call.text(0));
  if (!w.valid)
    return Value::integer(0);
  std::string_view text = selfText(call).view().substr(w.begin, w.end - w.begin);
  if (part->empty())
    return Value::integer(static_cast<int64_t>(countCodePoints(text)) + 1);
  int64_t hits = 0;
  for (size_t pos = 0; (pos = text.find(part->view(), pos)) != text.npos; pos += part->size())
    ++hits;
  return Value::integer(hits);
}

/// True when there is a character and all of them have the property.
template <bool (*property)(char32_t)> Result<Value> all(NativeCall &call) {
  std::string_view text = selfText(call).view();
  FUSEC_RETURN_IF_ERROR(call.budget().step(1 + static_cast<int64_t>(text.size())));
  for (size_t pos = 0; pos < text.size();) {
    CodePoint c = decodeAt(text, pos);
    if (!c.valid || !property(c.value))
      return Value::boolean(false);
    pos += c.length;
  }
  return Value::boolean(!text.empty());
}

bool isAlphaNumeric(char32_t c) { return isAlpha(c) || isNumeric(c); }

/// isupper and islower: some cased character, and none of the other case.
template <bool (*wanted)(char32_t), bool (*refused)(char32_t)> Result<Value> allCased(NativeCall &call) {
  std::string_view text = selfText(call).view();
  FUSEC_RETURN_IF_ERROR(call.budget().step(1 + static_cast<int64_t>(text.size())));
  bool any = false;
  for (size_t pos = 0; pos < text.size();) {
    CodePoint c = decodeAt(text, pos);
    if (c.valid && refused(c.value))
      return Value::boolean(false);
    any = any || (c.valid && wanted(c.value));
    pos += c.length;
  }
  return Value::boolean(any);
}

Result<Value> titled(NativeCall &call) {
  std::string_view text = selfText(call).view();
  bool any = false, inWord = false;
  for (size_t pos = 0; pos < text.size();) {
    CodePoint c = decodeAt(text, pos);
    bool upper = c.valid && isUpper(c.value), lower = c.valid && isLower(c.value);
    if ((upper && inWord) || (lower && !inWord))
      return Value::boolean(false);
    any = any || upper || lower;
    inWord = upper || lower;
    pos += c.length;
  }
  return Value::boolean(any);
}

Result<Value> ascii(NativeCall &call) { return Value::boolean(isAscii(selfText(call).view())); }

Result<Value> printable(NativeCall &call) {
  if (selfText(call).empty())
    return Value::boolean(true);
  return all<isPrintable>(call);
}

Result<Value> identifier(NativeCall &call) {
  std::string_view text = selfText(call).view();
  bool good = !text.empty() && !(text[0] >= '0' && text[0] <= '9');
  for (size_t pos = 0; good && pos < text.size();) {
    CodePoint c = decodeAt(text, pos);
    good = c.valid && (c.value == '_' || isAlphaNumeric(c.value));
    pos += c.length;
  }
  return Value::boolean(good);
}

constexpr NativeRow kTextSearchMethods[] = {
    {"count", "sub,start,end,/", 1, count},
    {"endswith", "suffix,start,end,/", 1, affix<false>},
    {"find", "sub,start,end,/", 1, find<false, false>},
    {"index", "sub,start,end,/", 1, find<false, true>},
    {"isalnum", "", 0, all<isAlphaNumeric>},
    {"isalpha", "", 0, all<isAlpha>},
    {"isascii", "", 0, ascii},
    {"isdecimal", "", 0, all<isDigit>},
    {"isdigit", "", 0, all<isDigit>},
    {"isidentifier", "", 0, identifier},
    {"islower", "", 0, allCased<isLower, isUpper>},
    {"isnumeric", "", 0, all<isNumeric>},
    {"isprintable", "", 0, printable},
    {"isspace", "", 0, all<isSpace>},
    {"istitle", "", 0, titled},
    {"isupper", "", 0, allCased<isUpper, isLower>},
    {"rfind", "sub,start,end,/", 1, find<true, false>},
    {"rindex", "sub,start,end,/", 1, find<true, true>},
    {"startswith", "prefix,start,end,/", 1, affix<true>},
};

} // namespace

std::span<const NativeRow> textSearchMethods() { return kTextSearchMethods; }

} // namespace fusec::text::jinja
