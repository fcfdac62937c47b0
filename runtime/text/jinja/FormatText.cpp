//===- FormatText.cpp - `text % values` and `text.format(...)` ---------------===//
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Interpreter.h"
#include "runtime/text/jinja/Ops.h"
#include "runtime/text/jinja/Unicode.h"

namespace fusec::text::jinja {

namespace {

/// Hands out the values of `%`: a tuple's items one by one, a dict's by name.
class PercentArguments {
public:
  explicit PercentArguments(const Value &v) : value(v) {}

  Result<Value> next() {
    if (value.isTuple()) {
      const auto &items = value.asSequence()->items;
      if (position < items.size())
        return items[position++];
    } else if (position++ == 0) {
      return value;
    }
    return invalidArgument("not enough arguments for format string");
  }
  Result<Value> named(std::string_view key) {
    const Dict *dict = value.asDict();
    if (!dict)
      return invalidArgument("format requires a mapping");
    position = 1;
    const Value *found = dict->find(key);
    return found ? Result<Value>(*found) : invalidArgument(quotePython(key));
  }
  bool leftOver() const {
    if (value.isTuple())
      return position < value.asSequence()->items.size();
    return position == 0 && !value.isDict() && !value.isList();
  }

private:
  const Value &value;
  size_t position = 0;
};

struct PercentField {
  FormatSpec spec;
  std::optional<std::string> key;
};

Result<int64_t> readCount(std::string_view text, size_t &pos, PercentArguments &arguments) {
  if (pos < text.size() && text[pos] == '*') {
    ++pos;
    FUSEC_ASSIGN_OR_RETURN(Value v, arguments.next());
    return v.isIntegral() ? Result<int64_t>(*v.asInt()) : invalidArgument("* wants int");
  }
  int64_t value = 0;
  for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos)
    value = std::min<int64_t>(value * 10 + (text[pos] - '0'), int64_t{1} << 30);
  return value;
}

void readFlags(std::string_view text, size_t &pos, FormatSpec &spec) {
  spec.align = '>';
  bool left = false, zero = false;
  for (; pos < text.size(); ++pos) {
    if (text[pos] == '-')
      left = true;
    else if (text[pos] == '0')
      zero = true;
    else if (text[pos] == '#')
      spec.alternate = true;
    else if (text[pos] == '+' || (text[pos] == ' ' && spec.sign != '+'))
      spec.sign = text[pos];
    else
      break;
  }
  if (left)
    spec.align = '<';
  else if (zero)
    spec.fill = "0", spec.align = '=';
}

/// Reads what follows a '%': (key), flags, width, precision, type.
Result<PercentField> readField(std::string_view text, size_t &pos, PercentArguments &arguments) {
  PercentField field;
  if (pos < text.size() && text[pos] == '(') {
    size_t close = text.find(')', pos);
    if (close == text.npos)
      return invalidArgument("incomplete format key");
    field.key = text.substr(pos + 1, close - pos - 1);
    pos = close + 1;
  }
  readFlags(text, pos, field.spec);
  FUSEC_ASSIGN_OR_RETURN(field.spec.width, readCount(text, pos, arguments));
  if (pos < text.size() && text[pos] == '.') {
    ++pos;
    FUSEC_ASSIGN_OR_RETURN(field.spec.precision, readCount(text, pos, arguments));
  }
  while (pos < text.size() && std::string_view("hlL").find(text[pos]) != std::string_view::npos)
    ++pos;
  if (pos >= text.size())
    return invalidArgument("incomplete format");
  field.spec.type = text[pos++];
  return field;
}

/// %c: a code point, or a text of one character.
Result<Value> percentCharacter(Budget &budget, const Value &value, FormatSpec &spec) {
  spec.type = 's';
  if (const Text *text = value.asText(); text && countCodePoints(text->view()) == 1)
    return value;
  auto code = value.asInt();
  if (!code)
    return invalidArgument("%c requires int or char");
  if (*code < 0 || *code > 0x10FFFF)
    return invalidArgument("%c arg not in range(0x110000)");
  std::string character;
  appendUtf8(static_cast<char32_t>(*code), character);
  return makeText(budget, Text(std::move(character), true));
}

Result<Value> percentOperand(Budget &budget, const Value &value, FormatSpec &spec) {
  char type = spec.type;
  if (type == 's' || type == 'r' || type == 'a') {
    spec.type = 's';
    if (spec.fill == "0")
      spec.fill = " ", spec.align = '>';
    Result<Text> printed = type == 's' ? toText(budget, value) : toRepr(budget, value);
    if (!printed)
      return printed.status();
    return Value::text(std::move(*printed));
  }
  if (type == 'c')
    return percentCharacter(budget, value, spec);
  if (type == 'i' || type == 'u')
    spec.type = type = 'd';
  bool integral = type == 'd' || type == 'x' || type == 'X' || type == 'o';
  if (!integral && std::string_view("eEfFgG").find(type) == std::string_view::npos)
    return invalidArgument(std::string("unsupported format character '") + type + "'");
  if (value.isUndefined())
    return invalidArgument(value.undefinedMessage());
  if (!value.isNumber())
    return invalidArgument(integral
                               ? std::string("%") + type + " format: a real number is required, not " + value.typeName()
                               : "must be real number, not " + value.typeName());
  if (value.isFloat() && integral)
    return Value::integer(static_cast<int64_t>(*value.asDouble()));
  return value.isBool() ? Value::integer(*value.asInt()) : value;
}

} // namespace

Result<Value> formatPercent(Budget &budget, const Text &format, const Value &value) {
  PercentArguments arguments(value);
  std::string_view text = format.view();
  Text out;
  out.markup = format.markup;
  for (size_t pos = 0; pos < text.size();) {
    FUSEC_RETURN_IF_ERROR(budget.step());
    size_t mark = std::min(text.find('%', pos), text.size());
    out.append(format, pos, mark);
    if (mark == text.size())
      break;
    pos = mark + 1;
    FUSEC_ASSIGN_OR_RETURN(PercentField field, readField(text, pos, arguments));
    if (field.spec.type == '%') {
      out.append("%", format.trustedAt(mark));
      continue;
    }
    FUSEC_ASSIGN_OR_RETURN(Value operand, field.key ? arguments.named(*field.key) : arguments.next());
    FUSEC_ASSIGN_OR_RETURN(Value printable, percentOperand(budget, operand, field.spec));
    FUSEC_ASSIGN_OR_RETURN(Text piece, formatValue(budget, printable, field.spec));
    out.append(format.markup ? escapeHtml(piece) : piece);
  }
  if (arguments.leftOver())
    return invalidArgument("not all arguments converted during string formatting");
  return makeText(budget, std::move(out));
}

namespace {

/// The replacement fields of one str.format call.
class BraceFormatter {
public:
  BraceFormatter(Interpreter &i, const Args &a) : interpreter(i), args(a) {}

  Result<Text> run(const Text &format, int depth) {
    if (depth > 2)
      return invalidArgument("Max string recursion exceeded");
    std::string_view text = format.view();
    Text out;
    for (size_t pos = 0; pos < text.size();) {
      FUSEC_RETURN_IF_ERROR(interpreter.budget().step());
      size_t mark = std::min(text.find_first_of("{}", pos), text.size());
      out.append(format, pos, mark);
      if (mark == text.size())
        break;
      if (mark + 1 < text.size() && text[mark + 1] == text[mark]) { // "{{" and "}}" stand for one brace.
        out.append(format, mark, mark + 1);
        pos = mark + 2;
        continue;
      }
      if (text[mark] == '}')
        return invalidArgument("Single '}' encountered in format string");
      FUSEC_ASSIGN_OR_RETURN(size_t close, closingBrace(text, mark));
      FUSEC_ASSIGN_OR_RETURN(Text piece, field(format.slice(mark + 1, close), depth));
      out.append(piece);
      pos = close + 1;
    }
    return out;
  }

private:
  static Result<size_t> closingBrace(std::string_view text, size_t open) {
    int level = 0;
    for (size_t i = open; i < text.size(); ++i) {
      level += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
      if (level == 0)
        return i;
    }
    return invalidArgument(open + 1 == text.size() ? "Single '{' encountered in format string"
                                                   : "expected '}' before end of string");
  }

  Result<Text> field(const Text &body, int depth) {
    std::string_view text = body.view();
    size_t nameEnd = std::min(text.find_first_of("!:"), text.size());
    FUSEC_ASSIGN_OR_RETURN(Value value, lookUp(text.substr(0, nameEnd)));
    size_t pos = nameEnd;
    if (pos < text.size() && text[pos] == '!') {
      if (pos + 1 >= text.size())
        return invalidArgument("end of string while looking for conversion specifier");
      char conversion = text[pos + 1];
      if (conversion != 's' && conversion != 'r')
        return invalidArgument(std::string("Unknown conversion specifier ") + conversion);
      auto converted = conversion == 'r' ? toRepr(interpreter.budget(), value) : toText(interpreter.budget(), value);
      if (!converted)
        return converted.status();
      value = Value::text(std::move(*converted));
      pos += 2;
    }
    FormatSpec spec;
    if (pos < text.size()) {
      if (text[pos] != ':')
        return invalidArgument("expected ':' after conversion specifier");
      FUSEC_ASSIGN_OR_RETURN(Text specText, run(body.slice(pos + 1, text.size()), depth + 1));
      FUSEC_ASSIGN_OR_RETURN(spec, parseFormatSpec(specText.view()));
    }
    return formatValue(interpreter.budget(), value, spec);
  }

  static bool isDigits(std::string_view s) { return !s.empty() && s.find_first_not_of("0123456789") == s.npos; }

  Result<Value> root(std::string_view name) {
    if (name.empty() || isDigits(name)) {
      size_t index = name.empty() ? automatic++ : name.size() > 6 ? SIZE_MAX : std::stoul(std::string(name));
      if (index < args.positional.size())
        return args.positional[index];
      return invalidArgument("tuple index out of range");
    }
    for (const auto &[key, value] : args.named)
      if (key == name)
        return value;
    return invalidArgument(quotePython(name));
  }

  /// A field name: root, then .attribute and [index] steps.
  Result<Value> lookUp(std::string_view name) {
    size_t pos = std::min(name.find_first_of(".["), name.size());
    FUSEC_ASSIGN_OR_RETURN(Value value, root(name.substr(0, pos)));
    while (pos < name.size()) {
      bool byIndex = name[pos] == '[';
      size_t end = byIndex ? name.find(']', pos) : std::min(name.find_first_of(".[", pos + 1), name.size());
      if (end == name.npos)
        return invalidArgument("Missing ']' in format string");
      std::string step(name.substr(pos + 1, end - pos - 1));
      Value key =
          byIndex && isDigits(step) && step.size() < 10 ? Value::integer(std::stol(step)) : Value::trusted(step);
      FUSEC_ASSIGN_OR_RETURN(value, byIndex ? interpreter.getItem(value, key) : interpreter.getAttribute(value, step));
      pos = byIndex ? end + 1 : end;
    }
    return value;
  }

  Interpreter &interpreter;
  const Args &args;
  size_t automatic = 0;
};

} // namespace

Result<Value> formatBraces(Interpreter &interpreter, const Text &format, const Args &args) {
  BraceFormatter formatter(interpreter, args);
  FUSEC_ASSIGN_OR_RETURN(Text out, formatter.run(format, 0));
  out.markup = format.markup;
  return makeText(interpreter.budget(), std::move(out));
}

} // namespace fusec::text::jinja
