//===- ToJson.cpp - Python's json.dumps --------------------------------------===//
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Ops.h"
#include "runtime/text/jinja/StableSort.h"
#include "runtime/text/jinja/Unicode.h"

#include <cmath>
#include <cstdio>

namespace fusec::text::jinja {

namespace {

std::string jsonFloat(double value) {
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value < 0 ? "-Infinity" : "Infinity";
  return formatFloat(value);
}

void appendUnit(unsigned unit, std::string &out) {
  char buffer[8];
  std::snprintf(buffer, sizeof buffer, "\\u%04x", unit);
  out += buffer;
}

void appendJsonCharacter(CodePoint c, std::string_view raw, bool ensureAscii, std::string &out) {
  constexpr std::pair<char32_t, std::string_view> kNamed[] = {
      {'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}, {'\f', "\\f"}, {'\b', "\\b"}};
  for (const auto &[value, text] : kNamed)
    if (c.value == value) {
      out += text;
      return;
    }
  bool plain = c.value >= 0x20 && (!ensureAscii || c.value < 0x7F);
  if (plain) {
    out += raw;
  } else if (c.value < 0x10000) {
    appendUnit(c.value, out);
  } else {
    appendUnit(0xD800 + ((c.value - 0x10000) >> 10), out);
    appendUnit(0xDC00 + ((c.value - 0x10000) & 0x3FF), out);
  }
}

class JsonWriter {
public:
  JsonWriter(Budget &b, const JsonOptions &o) : budget(b), options(o) {}

  Status write(const Value &value) {
    FUSEC_RETURN_IF_ERROR(budget.step());
    if (value.isNone())
      return put("null");
    if (value.isBool())
      return put(*value.asInt() ? "true" : "false");
    if (value.isInt())
      return put(std::to_string(*value.asInt()));
    if (value.isFloat())
      return put(jsonFloat(*value.asDouble()));
    if (const Text *text = value.asText())
      return writeText(*text);
    if (const Dict *dict = value.asDict())
      return writeDict(*dict);
    if (value.isList() || value.isTuple())
      return writeList(value.asSequence()->items);
    return invalidArgument("Object of type " + value.typeName() + " is not JSON serializable");
  }
  Text take() { return Text(std::move(out), trusted); }

private:
  Status put(std::string_view bytes) {
    FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>(bytes.size())));
    out += bytes;
    return {};
  }
  Status writeText(const Text &text) {
    trusted = trusted && text.allTrusted();
    std::string quoted = "\"";
    for (size_t pos = 0; pos < text.size();) {
      CodePoint c = decodeAt(text.view(), pos);
      appendJsonCharacter(c, text.view().substr(pos, c.length), options.ensureAscii, quoted);
      pos += c.length;
    }
    return put(quoted + "\"");
  }
  Status newline() {
    if (!options.indent)
      return {};
    FUSEC_RETURN_IF_ERROR(put("\n"));
    for (int i = 0; i < level; ++i)
      FUSEC_RETURN_IF_ERROR(put(*options.indent));
    return {};
  }
  /// `separator` between entries, then the line break and indentation of the next one.
  Status startEntry(bool first) {
    if (!first)
      FUSEC_RETURN_IF_ERROR(put(options.itemSeparator));
    return newline();
  }
  Status close(std::string_view bracket) {
    --level;
    FUSEC_RETURN_IF_ERROR(newline());
    return put(bracket);
  }
  Status writeList(const std::vector<Value> &items) {
    if (items.empty())
      return put("[]");
    FUSEC_RETURN_IF_ERROR(put("["));
    ++level;
    for (size_t i = 0; i < items.size(); ++i) {
      FUSEC_RETURN_IF_ERROR(startEntry(i == 0));
      FUSEC_RETURN_IF_ERROR(write(items[i]));
    }
    return close("]");
  }
  Status writeKey(const Value &key) {
    if (const Text *text = key.asText())
      return writeText(*text);
    if (key.isTuple() || key.isUndefined() || key.asObject())
      return invalidArgument("keys must be str, int, float, bool or None, not " + key.typeName());
    FUSEC_RETURN_IF_ERROR(put("\""));
    FUSEC_RETURN_IF_ERROR(write(key));
    return put("\"");
  }
  Status writeDict(const Dict &dict) {
    if (dict.size() == 0)
      return put("{}");
    std::vector<Dict::Entry> entries = dict.entries();
    if (options.sortKeys)
      FUSEC_RETURN_IF_ERROR(sortEntries(entries));
    FUSEC_RETURN_IF_ERROR(put("{"));
    ++level;
    for (size_t i = 0; i < entries.size(); ++i) {
      FUSEC_RETURN_IF_ERROR(startEntry(i == 0));
      FUSEC_RETURN_IF_ERROR(writeKey(entries[i].first));
      FUSEC_RETURN_IF_ERROR(put(options.keySeparator));
      FUSEC_RETURN_IF_ERROR(write(entries[i].second));
    }
    return close("}");
  }
  Status sortEntries(std::vector<Dict::Entry> &entries) {
    return stableSort(entries, [&](const Dict::Entry &a, const Dict::Entry &b) {
      return compare(budget, CompareOp::Lt, a.first, b.first);
    });
  }

  Budget &budget;
  const JsonOptions &options;
  std::string out;
  bool trusted = true;
  int level = 0;
};

} // namespace

Result<Text> toJson(Budget &budget, const Value &value, const JsonOptions &options) {
  JsonWriter writer(budget, options);
  FUSEC_RETURN_IF_ERROR(writer.write(value));
  return writer.take();
}

} // namespace fusec::text::jinja
