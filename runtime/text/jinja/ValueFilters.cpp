//===- ValueFilters.cpp - filters on numbers, JSON and single values ---------===//
#include "runtime/text/jinja/Filters.h"
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Native.h"
#include "runtime/text/jinja/NumberParsing.h"
#include "runtime/text/jinja/Ops.h"

#include <cmath>
#include <cstdio>

namespace fusec::text::jinja {

namespace {

constexpr int64_t kMaxJsonIndent = 100;

Result<Value> absolute(NativeCall &call) {
  if (call.self.isUndefined())
    return invalidArgument(call.self.undefinedMessage());
  if (call.self.isFloat())
    return Value::number(std::fabs(*call.self.asDouble()));
  auto i = call.self.asInt();
  if (!i)
    return invalidArgument("bad operand type for abs(): '" + call.self.typeName() + "'");
  return *i < 0 ? negate(call.self) : Value::integer(*i);
}

Result<Value> fallback(NativeCall &call) {
  bool missing = call.self.isUndefined() || (call.flag(1, false) && !call.self.truthy());
  if (!missing)
    return call.self;
  return call.get(0) ? *call.get(0) : Value::trusted("");
}

Result<Value> toInteger(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(int64_t base, call.integer(1, 10));
  Value otherwise = call.get(0) ? *call.get(0) : Value::integer(0);
  if (call.self.isUndefined())
    return invalidArgument(call.self.undefinedMessage());
  if (auto i = call.self.asInt())
    return Value::integer(*i);
  std::optional<double> number = call.self.asDouble();
  if (const Text *text = call.self.asText()) {
    if (auto i = parsePythonInt(text->view(), static_cast<int>(base)))
      return Value::integer(*i);
    number = parsePythonFloat(text->view());
  }
  // The cast is defined only inside the 64-bit range.
  if (!number || !(std::fabs(*number) < 9.2e18))
    return otherwise;
  return Value::integer(static_cast<int64_t>(*number));
}

Result<Value> toFloat(NativeCall &call) {
  Value otherwise = call.get(0) ? *call.get(0) : Value::number(0);
  if (call.self.isUndefined())
    return invalidArgument(call.self.undefinedMessage());
  if (auto number = call.self.asDouble())
    return Value::number(*number);
  const Text *text = call.self.asText();
  auto number = text ? parsePythonFloat(text->view()) : std::nullopt;
  return number ? Value::number(*number) : otherwise;
}

/// Python's round(value, digits): the exact decimal value decides, ties to even.
double roundToDigits(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 300)
    return value;
  if (digits < 0) {
    double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::isinf(unit) ? 0.0 : std::nearbyint(value / unit) * unit;
  }
  char buffer[1024];
  std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), value);
  return std::strtod(buffer, nullptr);
}

Result<Value> round(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(int64_t digits, call.integer(0, 0));
  std::string_view method = "common";
  if (call.get(1)) {
    FUSEC_ASSIGN_OR_RETURN(const Text *given, call.text(1));
    method = given->view();
  }
  if (method != "common" && method != "ceil" && method != "floor")
    return invalidArgument("method must be common, ceil or floor");
  if (call.self.isUndefined())
    return invalidArgument(call.self.undefinedMessage());
  auto value = call.self.asDouble();
  if (!value)
    return invalidArgument("type " + call.self.typeName() + " doesn't define __round__ method");
  if (method == "common") {
    if (call.self.isIntegral() && digits >= 0)
      return Value::integer(*call.self.asInt());
    double rounded = roundToDigits(*value, digits);
    return call.self.isIntegral() ? Value::integer(static_cast<int64_t>(rounded)) : Value::number(rounded);
  }
  double scale = std::pow(10.0, static_cast<double>(digits));
  return Value::number((method == "ceil" ? std::ceil(*value * scale) : std::floor(*value * scale)) / scale);
}

/// json.dumps' `indent`: a number of spaces or the text itself.
Result<std::optional<std::string>> jsonIndent(NativeCall &call) {
  Value indent = call.orNone(1);
  if (indent.isNone())
    return std::optional<std::string>();
  if (const Text *text = indent.asText())
    return std::optional<std::string>(text->bytes());
  FUSEC_ASSIGN_OR_RETURN(int64_t spaces, call.integer(1, 0));
  if (spaces > kMaxJsonIndent)
    return resourceExhausted("a JSON indentation above " + std::to_string(kMaxJsonIndent));
  return std::optional<std::string>(std::string(static_cast<size_t>(std::max<int64_t>(spaces, 0)), ' '));
}

Result<Value> json(NativeCall &call) {
  JsonOptions options;
  options.ensureAscii = call.flag(0, false);
  options.sortKeys = call.flag(3, false);
  FUSEC_ASSIGN_OR_RETURN(options.indent, jsonIndent(call));
  if (options.indent)
    options.itemSeparator = ",";
  if (Value separators = call.orNone(2); !separators.isNone()) {
    FUSEC_ASSIGN_OR_RETURN(std::vector<Value> both, iterate(call.budget(), separators));
    if (both.size() != 2 || !both[0].isText() || !both[1].isText())
      return invalidArgument("separators must be a pair of str, not " + separators.typeName());
    options.itemSeparator = both[0].asText()->bytes();
    options.keySeparator = both[1].asText()->bytes();
  }
  FUSEC_ASSIGN_OR_RETURN(Text text, toJson(call.budget(), call.self, options));
  return makeText(call.budget(), std::move(text));
}

constexpr NativeRow kValueFilters[] = {
    {"abs", "", 0, absolute},
    {"attr", "name", 1, nullptr},
    {"d", "default_value,boolean", 0, fallback},
    {"default", "default_value,boolean", 0, fallback},
    {"float", "default", 0, toFloat},
    {"int", "default,base", 0, toInteger},
    {"pprint", "", 0, nullptr},
    {"random", "", 0, nullptr},
    {"round", "precision,method", 0, round},
    {"tojson", "ensure_ascii,indent,separators,sort_keys", 0, json},
};

} // namespace

std::span<const NativeRow> valueFilters() { return kValueFilters; }

const NativeRow *findFilter(std::string_view name) {
  for (std::span<const NativeRow> table : {textFilters(), sequenceFilters(), valueFilters()})
    if (const NativeRow *row = findRow(table, name))
      return row;
  return nullptr;
}

} // namespace fusec::text::jinja
