//===- Globals.cpp - functions every template sees ---------------------------===//
#include "runtime/text/jinja/Globals.h"

#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Native.h"
#include "runtime/text/jinja/Ops.h"

namespace fusec::text::jinja {

namespace {

constexpr int64_t kMaxRange = 100'000; // Jinja's sandbox has the same bound.
constexpr size_t kMaxDateBytes = 4096;

Result<int64_t> wholeNumber(const Value &v) {
  if (auto i = v.asInt())
    return *i;
  if (v.isUndefined())
    return invalidArgument(v.undefinedMessage());
  return invalidArgument("'" + v.typeName() + "' object cannot be interpreted as an integer");
}

Result<Value> range(NativeCall &call) {
  const auto &args = call.rest.positional;
  if (args.empty() || args.size() > 3)
    return invalidArgument("range expected 1 to 3 arguments, got " + std::to_string(args.size()));
  int64_t bounds[3] = {0, 0, 1};
  for (size_t i = 0; i < args.size(); ++i) {
    FUSEC_ASSIGN_OR_RETURN(bounds[args.size() == 1 ? 1 : i], wholeNumber(args[i]));
  }
  auto [start, stop, step] = bounds;
  if (step == 0)
    return invalidArgument("range() arg 3 must not be zero");
  std::vector<Value> items;
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (static_cast<int64_t>(items.size()) == kMaxRange)
      return invalidArgument("Range too big. The sandbox blocks ranges larger than MAX_RANGE (" +
                             std::to_string(kMaxRange) + ").");
    items.push_back(Value::integer(i));
    if (__builtin_add_overflow(i, step, &i))
      break;
  }
  FUSEC_RETURN_IF_ERROR(call.budget().step(static_cast<int64_t>(items.size())));
  return makeSequence(call.budget(), SequenceKind::Range, std::move(items));
}

/// dict(mapping or pairs, **named) into `dict`.
Status fillDict(NativeCall &call, Dict &dict) {
  if (!call.rest.positional.empty()) {
    const Value &source = call.rest.positional[0];
    if (const Dict *other = source.asDict()) {
      dict = *other;
    } else {
      FUSEC_ASSIGN_OR_RETURN(std::vector<Value> pairs, iterate(call.budget(), source));
      for (const Value &pair : pairs) {
        FUSEC_ASSIGN_OR_RETURN(std::vector<Value> both, iterate(call.budget(), pair));
        if (both.size() != 2)
          return invalidArgument("dictionary update sequence element has length " + std::to_string(both.size()) +
                                 "; 2 is required");
        if (!hashable(both[0]))
          return invalidArgument("unhashable type: '" + both[0].typeName() + "'");
        dict.set(both[0], both[1]);
      }
    }
  }
  for (const auto &[name, value] : call.rest.named)
    dict.set(Value::trusted(name), value);
  return call.budget().allocate(static_cast<int64_t>(dict.size() * sizeof(Dict::Entry)));
}

Result<Value> newDict(NativeCall &call) {
  Dict dict;
  FUSEC_RETURN_IF_ERROR(fillDict(call, dict));
  return makeDict(call.budget(), std::move(dict));
}

Result<Value> newNamespace(NativeCall &call) {
  auto space = std::make_unique<Namespace>();
  FUSEC_RETURN_IF_ERROR(fillDict(call, space->content));
  return Value::object(call.interpreter.own(std::move(space)));
}

Result<Value> raiseException(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(Text message, toText(call.budget(), *call.get(0)));
  return invalidArgument(message.bytes());
}

/// The C library's strftime with Python's rules: a naive clock has no zone.
Result<Value> formatTime(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(const Text *format, call.text(0));
  constexpr std::string_view kKnown = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%f";
  std::string pattern;
  for (size_t i = 0; i < format->size(); ++i) {
    char c = format->bytes()[i];
    if (c != '%') {
      pattern += c;
      continue;
    }
    char directive = ++i < format->size() ? format->bytes()[i] : '\0';
    if (directive == '-' && i + 1 < format->size())
      pattern += "%-", directive = format->bytes()[++i];
    else if (directive != 'f' && directive != 'z' && directive != 'Z')
      pattern += '%';
    if (directive == '\0' || kKnown.find(directive) == kKnown.npos)
      return invalidArgument("unknown strftime directive in " + quotePython(format->view()));
    if (directive == 'f')
      pattern += "000000";
    else if (directive != 'z' && directive != 'Z')
      pattern += directive;
  }
  if (pattern.size() > kMaxDateBytes / 8)
    return resourceExhausted("a strftime format that long");
  char buffer[kMaxDateBytes];
  std::tm now = call.interpreter.now();
  size_t length = std::strftime(buffer, sizeof buffer, pattern.c_str(), &now);
  return makeText(call.budget(), Text(std::string(buffer, length), format->allTrusted()));
}

/// cycler(a, b): next() goes round, current and reset() as in Jinja.
class Cycler final : public Object {
public:
  explicit Cycler(std::vector<Value> c) : choices(std::move(c)) {}
  std::string typeName() const override { return "Cycler"; }
  Result<std::optional<Value>> attribute(Interpreter &interpreter, std::string_view name) override;
  Value take() { return choices[std::exchange(position, (position + 1) % choices.size())]; }
  void reset() { position = 0; }

private:
  std::vector<Value> choices;
  size_t position = 0;
};

/// One method of an object that lives in this file.
class Action final : public Object {
public:
  explicit Action(Value (*a)(Object &), Object &o) : action(a), owner(o) {}
  std::string typeName() const override { return "method"; }
  bool callable() const override { return true; }
  Result<Value> call(Interpreter &, Args) override { return action(owner); }

private:
  Value (*action)(Object &);
  Object &owner;
};

Result<std::optional<Value>> Cycler::attribute(Interpreter &interpreter, std::string_view name) {
  if (name == "current")
    return std::optional<Value>(choices[position]);
  Value (*action)(Object &) = nullptr;
  if (name == "next")
    action = [](Object &o) { return static_cast<Cycler &>(o).take(); };
  if (name == "reset")
    action = [](Object &o) { return static_cast<Cycler &>(o).reset(), Value::none(); };
  if (!action)
    return std::optional<Value>();
  return std::optional<Value>(Value::object(interpreter.own(std::make_unique<Action>(action, *this))));
}

Result<Value> newCycler(NativeCall &call) {
  if (call.rest.positional.empty())
    return invalidArgument("at least one item has to be provided");
  return Value::object(call.interpreter.own(std::make_unique<Cycler>(std::move(call.rest.positional))));
}

/// joiner(sep): nothing on the first call, the separator afterwards.
class Joiner final : public Object {
public:
  explicit Joiner(Value s) : separator(std::move(s)) {}
  std::string typeName() const override { return "Joiner"; }
  bool callable() const override { return true; }
  Result<Value> call(Interpreter &, Args) override {
    return std::exchange(used, true) ? separator : Value::trusted("");
  }

private:
  Value separator;
  bool used = false;
};

Result<Value> newJoiner(NativeCall &call) {
  Value separator = call.get(0) ? *call.get(0) : Value::trusted(", ");
  return Value::object(call.interpreter.own(std::make_unique<Joiner>(std::move(separator))));
}

constexpr NativeRow kGlobals[] = {
    {"cycler", "*", 0, newCycler},
    {"dict", "*", 0, newDict},
    {"joiner", "sep", 0, newJoiner},
    {"namespace", "*", 0, newNamespace},
    {"raise_exception", "message", 1, raiseException},
    {"range", "*", 0, range},
    {"strftime_now", "format", 1, formatTime},
};

} // namespace

std::span<const NativeRow> globalFunctions() { return kGlobals; }

} // namespace fusec::text::jinja
