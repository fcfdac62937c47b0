//===- Repr.cpp - Python's str() and repr() of template values ---------------===//
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Unicode.h"

#include <charconv>
#include <cmath>

namespace fusec::text::jinja {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

void appendHex(char32_t value, int digits, std::string &out) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += kHexDigits[(value >> shift) & 0xF];
}

void appendEscaped(CodePoint c, char quote, std::string_view raw, std::string &out) {
  constexpr std::pair<char32_t, std::string_view> kNamed[] = {
      {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}, {'\\', "\\\\"}};
  for (const auto &[value, text] : kNamed)
    if (c.value == value) {
      out += text;
      return;
    }
  if (c.value == static_cast<char32_t>(quote))
    out += '\\';
  if (c.valid && isPrintable(c.value)) {
    out += raw;
    return;
  }
  int digits = c.value < 0x100 ? 2 : c.value < 0x10000 ? 4 : 8;
  out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  appendHex(c.value, digits, out);
}

/// Lays out the digits and decimal exponent of a finite number as repr(float) does.
std::string layOutFloat(std::string_view digits, int exponent) {
  auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    std::string out(digits.substr(0, 1));
    if (count > 1)
      out.append(".").append(digits.substr(1));
    std::string magnitude = std::to_string(std::abs(exponent));
    return out + (exponent < 0 ? "e-" : "e+") + (magnitude.size() < 2 ? "0" : "") + magnitude;
  }
  if (exponent < 0)
    return "0." + std::string(static_cast<size_t>(-exponent - 1), '0').append(digits);
  if (count <= exponent + 1)
    return std::string(digits).append(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  auto whole = static_cast<size_t>(exponent + 1);
  return std::string(digits.substr(0, whole)).append(".").append(digits.substr(whole));
}

/// Writes repr() of nested values; collects whether any text came from the request.
class ReprWriter {
public:
  explicit ReprWriter(Budget &b) : budget(b) {}

  Status write(const Value &value) {
    FUSEC_RETURN_IF_ERROR(budget.step());
    if (++level > 2 * kMaxValueDepth)
      return resourceExhausted("values nested too deeply to print");
    Status status = writeUnguarded(value);
    --level;
    return status;
  }
  Text take() { return Text(std::move(out), trusted); }

private:
  Status put(std::string_view bytes) {
    FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>(bytes.size())));
    out += bytes;
    return {};
  }
  Status writeUnguarded(const Value &value) {
    if (value.isUndefined())
      return put("Undefined");
    if (value.isNone())
      return put("None");
    if (value.isBool())
      return put(*value.asInt() ? "True" : "False");
    if (value.isInt())
      return put(std::to_string(*value.asInt()));
    if (value.isFloat())
      return put(formatFloat(*value.asDouble()));
    if (const Text *text = value.asText())
      return writeText(*text);
    if (const Dict *dict = value.asDict())
      return writeDict(*dict);
    if (const Sequence *s = value.asSequence())
      return writeSequence(*s);
    return writeObject(*value.asObject());
  }
  Status writeText(const Text &text) {
    trusted = trusted && text.allTrusted();
    std::string quoted = quotePython(text.view());
    return put(text.markup ? "Markup(" + quoted + ")" : quoted);
  }
  Status writeDict(const Dict &dict) {
    FUSEC_RETURN_IF_ERROR(put("{"));
    bool first = true;
    for (const auto &[key, value] : dict.entries()) {
      if (!first)
        FUSEC_RETURN_IF_ERROR(put(", "));
      first = false;
      FUSEC_RETURN_IF_ERROR(write(key));
      FUSEC_RETURN_IF_ERROR(put(": "));
      FUSEC_RETURN_IF_ERROR(write(value));
    }
    return put("}");
  }
  Status writeItems(std::string_view open, const std::vector<Value> &items, std::string_view close) {
    FUSEC_RETURN_IF_ERROR(put(open));
    for (size_t i = 0; i < items.size(); ++i) {
      if (i)
        FUSEC_RETURN_IF_ERROR(put(", "));
      FUSEC_RETURN_IF_ERROR(write(items[i]));
    }
    return put(close);
  }
  Status writeSequence(const Sequence &s) {
    switch (s.kind) {
    case SequenceKind::List:
      return writeItems("[", s.items, "]");
    case SequenceKind::Tuple:
      return writeItems("(", s.items, s.items.size() == 1 ? ",)" : ")");
    case SequenceKind::Range:
      return writeRange(s.items);
    case SequenceKind::Generator:
      return put("<generator object>");
    case SequenceKind::ReverseIterator:
      return put("<list_reverseiterator object>");
    case SequenceKind::DictKeys:
      return writeItems("dict_keys([", s.items, "])");
    case SequenceKind::DictValues:
      return writeItems("dict_values([", s.items, "])");
    case SequenceKind::DictItems:
      return writeItems("dict_items([", s.items, "])");
    }
    return {};
  }
  Status writeRange(const std::vector<Value> &items) {
    if (items.empty())
      return put("range(0, 0)");
    int64_t first = *items.front().asInt(), last = *items.back().asInt();
    int64_t step = items.size() > 1 ? *items[1].asInt() - first : 1;
    std::string text = "range(" + std::to_string(first) + ", " + std::to_string(last + step);
    return put(text + (step == 1 ? ")" : ", " + std::to_string(step) + ")"));
  }
  Status writeObject(Object &object) {
    Namespace *space = object.asNamespace();
    if (!space)
      return put(object.display());
    FUSEC_RETURN_IF_ERROR(put("<Namespace "));
    FUSEC_RETURN_IF_ERROR(writeDict(space->content));
    return put(">");
  }

  Budget &budget;
  std::string out;
  bool trusted = true;
  int level = 0;
};

} // namespace

std::string formatFloat(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value), std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  size_t mark = text.find('e');
  std::string digits(text.substr(0, 1));
  if (mark > 2)
    digits += text.substr(2, mark - 2);
  int exponent = 0;
  std::from_chars(text.data() + mark + (text[mark + 1] == '+' ? 2 : 1), end, exponent);
  return (std::signbit(value) ? "-" : "") + layOutFloat(digits, exponent);
}

std::string quotePython(std::string_view text) {
  bool hasSingle = text.find('\'') != text.npos, hasDouble = text.find('"') != text.npos;
  char quote = hasSingle && !hasDouble ? '"' : '\'';
  std::string out(1, quote);
  for (size_t pos = 0; pos < text.size();) {
    CodePoint c = decodeAt(text, pos);
    appendEscaped(c, quote, text.substr(pos, c.length), out);
    pos += c.length;
  }
  return out + quote;
}

Result<Text> toText(Budget &budget, const Value &value) {
  if (value.isUndefined())
    return Text();
  if (const Text *text = value.asText()) {
    FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>(text->size())));
    return *text;
  }
  return toRepr(budget, value);
}

Result<Text> toRepr(Budget &budget, const Value &value) {
  ReprWriter writer(budget);
  FUSEC_RETURN_IF_ERROR(writer.write(value));
  return writer.take();
}

} // namespace fusec::text::jinja
