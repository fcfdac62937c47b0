//===- Loop.cpp - the `loop` variable ----------------------------------------===//
#include "runtime/text/jinja/Loop.h"

#include "runtime/text/jinja/Callables.h"
#include "runtime/text/jinja/Native.h"

namespace fusec::text::jinja {

namespace {

Result<Value> loopCycle(NativeCall &call) {
  const auto &choices = call.rest.positional;
  if (choices.empty())
    return invalidArgument("no items for cycling given");
  auto &loop = static_cast<Loop &>(*call.self.asObject());
  return choices[static_cast<size_t>(loop.position()) % choices.size()];
}

Result<Value> loopChanged(NativeCall &call) {
  return static_cast<Loop &>(*call.self.asObject()).changed(call.interpreter, std::move(call.rest.positional));
}

constexpr NativeRow kLoopMethods[] = {{"cycle", "*", 0, loopCycle}, {"changed", "*", 0, loopChanged}};

struct LoopAttribute {
  std::string_view name;
  Result<Value> (*read)(Loop &, Interpreter &);
};

Result<Value> fromEnd(Loop &loop, Interpreter &interpreter, int64_t offset) {
  FUSEC_ASSIGN_OR_RETURN(int64_t length, loop.length(interpreter));
  return Value::integer(length - loop.position() - offset);
}

constexpr LoopAttribute kLoopAttributes[] = {
    {"index", [](Loop &l, Interpreter &) { return Result<Value>(Value::integer(l.position() + 1)); }},
    {"index0", [](Loop &l, Interpreter &) { return Result<Value>(Value::integer(l.position())); }},
    {"revindex", [](Loop &l, Interpreter &i) { return fromEnd(l, i, 0); }},
    {"revindex0", [](Loop &l, Interpreter &i) { return fromEnd(l, i, 1); }},
    {"first", [](Loop &l, Interpreter &) { return Result<Value>(Value::boolean(l.position() == 0)); }},
    {"last",
     [](Loop &l, Interpreter &i) -> Result<Value> {
       FUSEC_ASSIGN_OR_RETURN(Value next, l.neighbour(i, 1, nullptr));
       return Value::boolean(next.isNone());
     }},
    {"length",
     [](Loop &l, Interpreter &i) -> Result<Value> {
       FUSEC_ASSIGN_OR_RETURN(int64_t length, l.length(i));
       return Value::integer(length);
     }},
    {"depth", [](Loop &l, Interpreter &) { return Result<Value>(Value::integer(l.depth() + 1)); }},
    {"depth0", [](Loop &l, Interpreter &) { return Result<Value>(Value::integer(l.depth())); }},
    {"previtem", [](Loop &l, Interpreter &i) { return l.neighbour(i, -1, "there is no previous item"); }},
    {"nextitem", [](Loop &l, Interpreter &i) { return l.neighbour(i, 1, "there is no next item"); }},
};

} // namespace

Result<bool> Loop::fetch(Interpreter &interpreter, size_t count) {
  while (accepted.size() < count && looked < source.size()) {
    const Value &item = source[looked++];
    FUSEC_RETURN_IF_ERROR(interpreter.budget().step());
    FUSEC_ASSIGN_OR_RETURN(bool passes, interpreter.loopAccepts(stmt, outer, item));
    if (passes)
      accepted.push_back(item);
  }
  return accepted.size() >= count;
}

Result<bool> Loop::advance(Interpreter &interpreter) {
  ++index0;
  return fetch(interpreter, static_cast<size_t>(index0) + 1);
}

Result<int64_t> Loop::length(Interpreter &interpreter) {
  FUSEC_ASSIGN_OR_RETURN(bool more, fetch(interpreter, SIZE_MAX));
  return static_cast<int64_t>(more ? SIZE_MAX : accepted.size());
}

/// The item `offset` rounds away. Without a `missing` text: None when there is none, True otherwise.
Result<Value> Loop::neighbour(Interpreter &interpreter, int64_t offset, const char *missing) {
  int64_t at = index0 + offset;
  FUSEC_ASSIGN_OR_RETURN(bool exists, fetch(interpreter, static_cast<size_t>(at + 1)));
  exists = exists && at >= 0;
  if (!missing)
    return exists ? Value::boolean(true) : Value::none();
  return exists ? accepted[static_cast<size_t>(at)] : Value::undefined(missing);
}

Result<Value> Loop::changed(Interpreter &interpreter, std::vector<Value> values) {
  FUSEC_ASSIGN_OR_RETURN(Value now, makeSequence(interpreter.budget(), SequenceKind::Tuple, std::move(values)));
  bool same = false;
  if (lastChanged) {
    FUSEC_ASSIGN_OR_RETURN(same, equals(interpreter.budget(), *lastChanged, now));
  }
  lastChanged = now;
  return Value::boolean(!same);
}

Result<Value> Loop::call(Interpreter &interpreter, Args args) {
  if (!stmt.recursive)
    return invalidArgument("The loop must have the 'recursive' marker to be called recursively.");
  if (args.positional.size() != 1)
    return invalidArgument("loop() takes exactly one argument");
  return interpreter.callLoop(stmt, outer, args.positional[0], depth0 + 1);
}

Result<std::optional<Value>> Loop::attribute(Interpreter &interpreter, std::string_view name) {
  for (const LoopAttribute &row : kLoopAttributes) {
    if (row.name != name)
      continue;
    FUSEC_ASSIGN_OR_RETURN(Value value, row.read(*this, interpreter));
    return std::optional<Value>(std::move(value));
  }
  if (const NativeRow *row = findRow(kLoopMethods, name))
    return std::optional<Value>(bindMethod(interpreter, Value::object(this), *row));
  return std::optional<Value>();
}

} // namespace fusec::text::jinja
