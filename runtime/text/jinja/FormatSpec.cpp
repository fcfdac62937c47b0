//===- FormatSpec.cpp - one value under a format specification ---------------===//
//
// The core shared by `str.format` and `%`: [[fill]align][sign][#][0][width][,]
// [.precision][type], applied to text, integers and floats.
//
//===----------------------------------------------------------------------===//
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Unicode.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace fusec::text::jinja {

namespace {

/// Widest field and longest precision accepted; more is a mistake or an attack.
constexpr int64_t kMaxField = 100'000;
constexpr int64_t kMaxPrecision = 500;

bool isAlign(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

int64_t readNumber(std::string_view text, size_t &pos) {
  int64_t value = 0;
  for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos)
    value = std::min<int64_t>(value * 10 + (text[pos] - '0'), kMaxField + 1);
  return value;
}

void readAlignment(std::string_view text, size_t &pos, FormatSpec &spec) {
  if (text.empty())
    return;
  size_t fill = decodeAt(text, 0).length;
  if (fill < text.size() && isAlign(text[fill])) {
    spec.fill = text.substr(0, fill);
    spec.align = text[fill];
    pos = fill + 1;
  } else if (isAlign(text[0])) {
    spec.align = text[0];
    pos = 1;
  }
}

std::string digitsInBase(uint64_t value, unsigned base, bool upper) {
  char buffer[65];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, static_cast<int>(base)).ptr;
  std::string out(buffer, end);
  if (upper)
    for (char &c : out)
      if (c >= 'a')
        c = static_cast<char>(c - 'a' + 'A');
  return out;
}

std::string groupThousands(std::string digits) {
  size_t whole = digits.find_first_not_of("0123456789");
  for (size_t i = whole == digits.npos ? digits.size() : whole; i > 3; i -= 3)
    digits.insert(i - 3, ",");
  return digits;
}

std::string signOf(bool negative, char sign) { return negative ? "-" : sign == '-' ? "" : std::string(1, sign); }

struct NumberText {
  std::string prefix; ///< Sign and base prefix: '=' padding goes behind it.
  std::string digits;
};

Result<NumberText> integerText(int64_t value, const FormatSpec &spec) {
  uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string prefix = signOf(value < 0, spec.sign);
  switch (spec.type) {
  case 'x':
  case 'X':
    return NumberText{prefix + (spec.alternate ? std::string("0") + spec.type : ""),
                      digitsInBase(magnitude, 16, spec.type == 'X')};
  case 'o':
    return NumberText{prefix + (spec.alternate ? "0o" : ""), digitsInBase(magnitude, 8, false)};
  case 'b':
    return NumberText{prefix + (spec.alternate ? "0b" : ""), digitsInBase(magnitude, 2, false)};
  case 0:
  case 'd':
  case 'n': {
    std::string digits = digitsInBase(magnitude, 10, false);
    return NumberText{prefix, spec.grouping ? groupThousands(digits) : digits};
  }
  default:
    return invalidArgument(std::string("Unknown format code '") + spec.type + "' for object of type 'int'");
  }
}

Result<NumberText> floatText(double value, const FormatSpec &spec) {
  std::string prefix = signOf(std::signbit(value), spec.sign), digits;
  double magnitude = std::fabs(value);
  char type = spec.type == 'n' ? 'g' : spec.type;
  if (type == 0 && spec.precision < 0) {
    digits = formatFloat(magnitude);
  } else if (type == 0 || std::string_view("eEfFgG%").find(type) != std::string_view::npos) {
    char pattern[8] = {'%', '.', '*', type == '%' ? 'f' : type == 0 ? 'g' : type, 0};
    char buffer[1024];
    int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
    std::snprintf(buffer, sizeof buffer, pattern, precision, type == '%' ? magnitude * 100 : magnitude);
    digits = std::string(buffer) + (type == '%' ? "%" : "");
  } else {
    return invalidArgument(std::string("Unknown format code '") + spec.type + "' for object of type 'float'");
  }
  return NumberText{prefix, spec.grouping ? groupThousands(digits) : digits};
}

bool wantsFloat(char type) { return type && std::string_view("eEfFgG%").find(type) != std::string_view::npos; }

Status appendFill(Budget &budget, Text &out, const std::string &fill, int64_t count) {
  FUSEC_RETURN_IF_ERROR(budget.allocate(std::max<int64_t>(count, 0) * static_cast<int64_t>(fill.size())));
  for (int64_t i = 0; i < count; ++i)
    out.append(fill, true);
  return {};
}

Result<Text> pad(Budget &budget, const Text &prefix, const Text &body, const FormatSpec &spec, char defaultAlign) {
  auto used = static_cast<int64_t>(countCodePoints(prefix.view()) + countCodePoints(body.view()));
  int64_t room = std::max<int64_t>(spec.width - used, 0);
  char align = spec.align ? spec.align : defaultAlign;
  int64_t before = align == '<' || align == '=' ? 0 : align == '^' ? room / 2 : room;
  int64_t between = align == '=' ? room : 0;
  Text out;
  FUSEC_RETURN_IF_ERROR(appendFill(budget, out, spec.fill, before));
  out.append(prefix);
  FUSEC_RETURN_IF_ERROR(appendFill(budget, out, spec.fill, between));
  out.append(body);
  FUSEC_RETURN_IF_ERROR(appendFill(budget, out, spec.fill, room - before - between));
  return out;
}

Text firstCharacters(const Text &text, int64_t count) {
  size_t pos = 0;
  for (; count > 0 && pos < text.size(); --count)
    pos += decodeAt(text.view(), pos).length;
  return text.slice(0, pos);
}

} // namespace

Result<FormatSpec> parseFormatSpec(std::string_view text) {
  FormatSpec spec;
  size_t pos = 0;
  readAlignment(text, pos, spec);
  auto take = [&](std::string_view choices) {
    bool found = pos < text.size() && choices.find(text[pos]) != std::string_view::npos;
    return found ? text[pos++] : char{0};
  };
  if (char sign = take("+- "))
    spec.sign = sign;
  spec.alternate = take("#") != 0;
  if (take("0") && !spec.align) {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = readNumber(text, pos);
  spec.grouping = take(",") != 0;
  if (take(".")) {
    size_t before = pos;
    spec.precision = readNumber(text, pos);
    if (before == pos)
      return invalidArgument("Format specifier missing precision");
  }
  if (pos < text.size())
    spec.type = text[pos++];
  if (pos != text.size())
    return invalidArgument("Invalid format specifier '" + std::string(text) + "'");
  return spec;
}

Result<Text> formatValue(Budget &budget, const Value &value, const FormatSpec &spec) {
  if (spec.width > kMaxField || spec.precision > kMaxPrecision)
    return resourceExhausted("a format field that wide");
  if (value.isNumber() && !(value.isBool() && spec.type == 0)) {
    Result<NumberText> number = value.isFloat() || wantsFloat(spec.type) ? floatText(*value.asDouble(), spec)
                                                                         : integerText(*value.asInt(), spec);
    if (!number)
      return number.status();
    return pad(budget, Text(number->prefix, true), Text(number->digits, true), spec, '>');
  }
  FUSEC_ASSIGN_OR_RETURN(Text text, toText(budget, value));
  if (spec.type != 0 && spec.type != 's')
    return invalidArgument(std::string("Unknown format code '") + spec.type + "' for object of type '" +
                           value.typeName() + "'");
  text.markup = false;
  return pad(budget, Text(), spec.precision >= 0 ? firstCharacters(text, spec.precision) : text, spec, '<');
}

} // namespace fusec::text::jinja
