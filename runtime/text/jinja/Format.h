//===- Format.h - values as text: str, repr, JSON, %-format and str.format ---===//
//
// Everything that turns a value into characters, exactly as Python prints it.
// The result keeps origins: text that holds any request text is untrusted.
//
// Threading: pure functions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/jinja/Object.h"
#include "runtime/text/jinja/Value.h"

namespace fusec::text::jinja {

/// str(value).
Result<Text> toText(Budget &budget, const Value &value);
/// repr(value).
Result<Text> toRepr(Budget &budget, const Value &value);
/// repr(float): the shortest digits that read back as the same number.
std::string formatFloat(double value);
/// repr of a str: quotes chosen and characters escaped as Python does.
std::string quotePython(std::string_view text);

/// Arguments of json.dumps as Transformers' `tojson` passes them.
struct JsonOptions {
  bool ensureAscii = false;
  bool sortKeys = false;
  std::optional<std::string> indent;
  std::string itemSeparator = ", ";
  std::string keySeparator = ": ";
};
Result<Text> toJson(Budget &budget, const Value &value, const JsonOptions &options);

/// `text % arguments`.
Result<Value> formatPercent(Budget &budget, const Text &format, const Value &arguments);
/// text.format(...).
Result<Value> formatBraces(Interpreter &interpreter, const Text &format, const Args &args);

/// One number or text under a format specification ("{:>8.2f}" or "%8.2f"); see FormatSpec.cpp.
struct FormatSpec {
  std::string fill = " ";
  char align = 0; ///< '<', '>', '^', '=' or 0 for the type's default.
  char sign = '-';
  bool alternate = false;
  bool grouping = false;
  int64_t width = 0;
  int64_t precision = -1;
  char type = 0;
};
/// Reads a `str.format` specification; an error names what is wrong in it.
Result<FormatSpec> parseFormatSpec(std::string_view text);
Result<Text> formatValue(Budget &budget, const Value &value, const FormatSpec &spec);

} // namespace fusec::text::jinja
