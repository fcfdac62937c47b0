//===- SequenceFilters.cpp - filters on lists, dicts and generators ----------===//
#include "runtime/text/jinja/Filters.h"
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/ItemKeys.h"
#include "runtime/text/jinja/Native.h"
#include "runtime/text/jinja/Ops.h"

#include <algorithm>

namespace fusec::text::jinja {

namespace {

Result<std::vector<Value>> items(NativeCall &call) { return iterate(call.budget(), call.self); }

/// map and select look at a value only when it is true: `none|map(...)` is empty.
Result<std::vector<Value>> itemsOfTruthy(NativeCall &call) {
  if (!call.self.truthy())
    return std::vector<Value>();
  return items(call);
}

Result<Value> generator(NativeCall &call, std::vector<Value> values) {
  return makeSequence(call.budget(), SequenceKind::Generator, std::move(values));
}
Result<Value> list(NativeCall &call, std::vector<Value> values) {
  return makeSequence(call.budget(), SequenceKind::List, std::move(values));
}

Result<Value> count(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(int64_t n, length(call.self));
  return Value::integer(n);
}

Result<Value> toList(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, items(call));
  return list(call, std::move(values));
}

Result<Value> first(NativeCall &call) {
  Sequence *s = call.self.asSequence();
  if (s && s->oneShot())
    return s->next < s->items.size() ? s->items[s->next++] : Value::undefined("No first item, sequence was empty.");
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, items(call));
  return values.empty() ? Value::undefined("No first item, sequence was empty.") : values.front();
}

/// The items of what Python's reversed() accepts.
Result<std::vector<Value>> reversible(NativeCall &call) {
  const Sequence *s = call.self.asSequence();
  if ((s && s->oneShot()) || call.self.isUndefined())
    return invalidArgument("'" + call.self.typeName() + "' object is not reversible");
  return items(call);
}

Result<Value> last(NativeCall &call) {
  if (call.self.isUndefined())
    return Value::undefined("No last item, sequence was empty.");
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, reversible(call));
  return values.empty() ? Value::undefined("No last item, sequence was empty.") : values.back();
}

Result<Value> reverse(NativeCall &call) {
  if (call.self.isText())
    return slice(call.budget(), call.self, Value::none(), Value::none(), Value::integer(-1));
  if (!iterable(call.self))
    return invalidArgument("argument must be iterable");
  const Sequence *s = call.self.asSequence();
  bool oneShot = s && s->oneShot();
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, items(call));
  std::reverse(values.begin(), values.end());
  return makeSequence(call.budget(), oneShot ? SequenceKind::List : SequenceKind::ReverseIterator, std::move(values));
}

Result<Value> join(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, items(call));
  FUSEC_ASSIGN_OR_RETURN(Text separator, toText(call.budget(), call.get(0) ? *call.get(0) : Value::trusted("")));
  Text out;
  for (size_t i = 0; i < values.size(); ++i) {
    Value item = values[i];
    if (call.get(1)) {
      FUSEC_ASSIGN_OR_RETURN(item, attributeOf(call.interpreter, item, *call.get(1), nullptr));
    }
    FUSEC_ASSIGN_OR_RETURN(Text text, toText(call.budget(), item));
    if (i)
      FUSEC_RETURN_IF_ERROR(call.budget().allocate(static_cast<int64_t>(separator.size())));
    if (i)
      out.append(separator);
    out.append(text);
  }
  return makeText(call.budget(), std::move(out));
}

Result<Value> pairs(NativeCall &call) {
  if (call.self.isUndefined())
    return generator(call, {});
  const Dict *dict = call.self.asDict();
  if (!dict)
    return invalidArgument("Can only get item pairs from a mapping.");
  std::vector<Value> out;
  for (const auto &[key, value] : dict->entries()) {
    FUSEC_ASSIGN_OR_RETURN(Value pair, makeSequence(call.budget(), SequenceKind::Tuple, {key, value}));
    out.push_back(std::move(pair));
  }
  return generator(call, std::move(out));
}

/// map(attribute='x', default=y) or map('filter', arguments...).
Result<Value> map(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, itemsOfTruthy(call));
  Args &args = call.rest;
  if (args.positional.empty()) {
    const Value *attribute = nullptr, *otherwise = nullptr;
    for (const auto &[name, value] : args.named) {
      if (name == "attribute")
        attribute = &value;
      else if (name == "default")
        otherwise = &value;
      else
        return invalidArgument("Unexpected keyword argument " + quotePython(name));
    }
    if (!attribute)
      return invalidArgument("map requires a filter argument");
    for (Value &value : values) {
      FUSEC_ASSIGN_OR_RETURN(value, attributeOf(call.interpreter, value, *attribute, otherwise));
    }
    return generator(call, std::move(values));
  }
  const Text *name = args.positional[0].asText();
  if (!name)
    return invalidArgument("map requires a filter name, not " + args.positional[0].typeName());
  Args more{{args.positional.begin() + 1, args.positional.end()}, args.named};
  for (Value &value : values) {
    FUSEC_ASSIGN_OR_RETURN(value, call.interpreter.applyFilter(name->bytes(), value, more));
  }
  return generator(call, std::move(values));
}

/// select, reject, selectattr and rejectattr: keep items whose test result is `wanted`.
template <bool wanted, bool byAttribute> Result<Value> select(NativeCall &call) {
  const auto &args = call.rest.positional;
  size_t at = byAttribute ? 1 : 0;
  if (byAttribute && args.empty())
    return invalidArgument("Missing parameter for attribute name");
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, itemsOfTruthy(call));
  Args more;
  if (args.size() > at)
    more = {{args.begin() + static_cast<std::ptrdiff_t>(at) + 1, args.end()}, call.rest.named};
  std::vector<Value> kept;
  for (const Value &item : values) {
    Value subject = item;
    if (byAttribute) {
      FUSEC_ASSIGN_OR_RETURN(subject, attributeOf(call.interpreter, item, args[0], nullptr));
    }
    bool passes = subject.truthy();
    if (args.size() > at) {
      const Text *test = args[at].asText();
      if (!test)
        return invalidArgument("a test is named by a str, not " + args[at].typeName());
      FUSEC_ASSIGN_OR_RETURN(passes, call.interpreter.applyTest(test->bytes(), subject, more));
    }
    if (passes == wanted)
      kept.push_back(item);
  }
  return generator(call, std::move(kept));
}

Result<Value> sort(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, items(call));
  FUSEC_RETURN_IF_ERROR(
      sortByKey(call.interpreter, values, {call.orNone(2), !call.flag(1, false)}, call.flag(0, false)));
  return list(call, std::move(values));
}

Result<Value> dictSort(NativeCall &call) {
  const Dict *dict = call.self.asDict();
  if (!dict)
    return invalidArgument(call.self.isUndefined() ? call.self.undefinedMessage()
                                                   : "'" + call.self.typeName() + "' object has no attribute 'items'");
  int64_t by = 0;
  if (call.get(1)) {
    FUSEC_ASSIGN_OR_RETURN(const Text *given, call.text(1));
    if (given->bytes() != "key" && given->bytes() != "value")
      return invalidArgument("You can only sort by either \"key\" or \"value\"");
    by = given->bytes() == "value";
  }
  std::vector<Value> entries;
  for (const auto &[key, value] : dict->entries()) {
    FUSEC_ASSIGN_OR_RETURN(Value pair, makeSequence(call.budget(), SequenceKind::Tuple, {key, value}));
    entries.push_back(std::move(pair));
  }
  FUSEC_RETURN_IF_ERROR(
      sortByKey(call.interpreter, entries, {Value::integer(by), !call.flag(0, false)}, call.flag(2, false)));
  return list(call, std::move(entries));
}

Result<Value> unique(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, items(call));
  Dict seen;
  std::vector<Value> kept;
  for (const Value &item : values) {
    FUSEC_ASSIGN_OR_RETURN(Value key, sortKey(call.interpreter, item, {call.orNone(1), !call.flag(0, false)}));
    FUSEC_RETURN_IF_ERROR(call.budget().step(1 + static_cast<int64_t>(key.isText() ? 0 : seen.size())));
    if (!hashable(key))
      return invalidArgument("unhashable type: '" + key.typeName() + "'");
    if (seen.find(key))
      continue;
    seen.set(key, Value::none());
    kept.push_back(item);
  }
  return generator(call, std::move(kept));
}

template <CompareOp better> Result<Value> extreme(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, items(call));
  if (values.empty())
    return Value::undefined("No aggregated item, sequence was empty.");
  KeyRule rule{call.orNone(1), !call.flag(0, false)};
  size_t best = 0;
  FUSEC_ASSIGN_OR_RETURN(Value bestKey, itemKey(call.interpreter, values[0], rule));
  for (size_t i = 1; i < values.size(); ++i) {
    FUSEC_ASSIGN_OR_RETURN(Value key, itemKey(call.interpreter, values[i], rule));
    FUSEC_ASSIGN_OR_RETURN(bool replaces, compare(call.budget(), better, key, bestKey));
    if (!replaces)
      continue;
    best = i;
    bestKey = std::move(key);
  }
  return values[best];
}

Result<Value> sum(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, items(call));
  Value total = call.get(1) ? *call.get(1) : Value::integer(0);
  for (Value &item : values) {
    if (call.get(0) && !call.get(0)->isNone()) {
      FUSEC_ASSIGN_OR_RETURN(item, attributeOf(call.interpreter, item, *call.get(0), nullptr));
    }
    FUSEC_ASSIGN_OR_RETURN(total, binary(call.budget(), BinaryOp::Add, total, item));
  }
  return total;
}

/// A list of `part` plus `fill` up to `size` items, when a fill value is given.
Result<Value> filledList(NativeCall &call, std::vector<Value> part, size_t size, const Value *fill) {
  if (fill && !fill->isNone() && part.size() < size) {
    FUSEC_RETURN_IF_ERROR(call.budget().allocate(static_cast<int64_t>((size - part.size()) * sizeof(Value))));
    part.resize(size, *fill);
  }
  return list(call, std::move(part));
}

Result<Value> batch(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, items(call));
  FUSEC_ASSIGN_OR_RETURN(int64_t size, call.integer(0, 0));
  if (size < 1 || size > 1'000'000)
    return invalidArgument("batch needs a size from 1 to 1000000, found " + std::to_string(size));
  std::vector<Value> batches;
  for (size_t i = 0; i < values.size(); i += static_cast<size_t>(size)) {
    auto begin = values.begin() + static_cast<std::ptrdiff_t>(i);
    auto end = begin + std::min<std::ptrdiff_t>(size, values.end() - begin);
    FUSEC_ASSIGN_OR_RETURN(Value part, filledList(call, {begin, end}, static_cast<size_t>(size), call.get(1)));
    batches.push_back(std::move(part));
  }
  return generator(call, std::move(batches));
}

Result<Value> sliceInto(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, items(call));
  FUSEC_ASSIGN_OR_RETURN(int64_t slices, call.integer(0, 0));
  if (slices < 1 || slices > 100'000)
    return invalidArgument("slice needs a count from 1 to 100000, found " + std::to_string(slices));
  auto each = static_cast<std::ptrdiff_t>(values.size()) / slices,
       longer = static_cast<std::ptrdiff_t>(values.size()) % slices;
  std::vector<Value> parts;
  auto begin = values.begin();
  for (std::ptrdiff_t i = 0; i < slices; ++i) {
    auto end = begin + each + (i < longer ? 1 : 0);
    size_t size = static_cast<size_t>(end - begin) + (i >= longer && longer != 0 ? 1 : 0);
    // Jinja fills every later slice by one, even when all slices are equal.
    if (longer == 0)
      size = static_cast<size_t>(end - begin) + 1;
    FUSEC_ASSIGN_OR_RETURN(Value part, filledList(call, {begin, end}, size, call.get(1)));
    parts.push_back(std::move(part));
    begin = end;
  }
  return generator(call, std::move(parts));
}

/// Pairs (key, items with that key), ascending by key.
Result<Value> groupBy(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> values, items(call));
  KeyRule rule{*call.get(0), !call.flag(2, false), call.get(1)};
  FUSEC_RETURN_IF_ERROR(sortByKey(call.interpreter, values, rule, false));
  std::vector<Value> groups;
  for (size_t i = 0; i < values.size();) {
    FUSEC_ASSIGN_OR_RETURN(Value key, itemKey(call.interpreter, values[i], rule));
    std::vector<Value> members;
    for (bool same = true; i < values.size(); ++i) {
      FUSEC_ASSIGN_OR_RETURN(Value other, itemKey(call.interpreter, values[i], rule));
      FUSEC_ASSIGN_OR_RETURN(same, equals(call.budget(), key, other));
      if (!same)
        break;
      members.push_back(values[i]);
    }
    FUSEC_ASSIGN_OR_RETURN(Value shown, attributeOf(call.interpreter, members[0], *call.get(0), call.get(1)));
    FUSEC_ASSIGN_OR_RETURN(Value group, list(call, std::move(members)));
    FUSEC_ASSIGN_OR_RETURN(Value pair,
                           makeSequence(call.budget(), SequenceKind::Tuple, {std::move(shown), std::move(group)}));
    groups.push_back(std::move(pair));
  }
  return list(call, std::move(groups));
}

constexpr NativeRow kSequenceFilters[] = {
    {"batch", "linecount,fill_with", 1, batch},
    {"count", "", 0, count},
    {"dictsort", "case_sensitive,by,reverse", 0, dictSort},
    {"first", "", 0, first},
    {"groupby", "attribute,default,case_sensitive", 1, groupBy},
    {"items", "", 0, pairs},
    {"join", "d,attribute", 0, join},
    {"last", "", 0, last},
    {"length", "", 0, count},
    {"list", "", 0, toList},
    {"map", "*", 0, map},
    {"max", "case_sensitive,attribute", 0, extreme<CompareOp::Gt>},
    {"min", "case_sensitive,attribute", 0, extreme<CompareOp::Lt>},
    {"reject", "*", 0, select<false, false>},
    {"rejectattr", "*", 0, select<false, true>},
    {"reverse", "", 0, reverse},
    {"select", "*", 0, select<true, false>},
    {"selectattr", "*", 0, select<true, true>},
    {"slice", "slices,fill_with", 1, sliceInto},
    {"sort", "reverse,case_sensitive,attribute", 0, sort},
    {"sum", "attribute,start", 0, sum},
    {"unique", "case_sensitive,attribute", 0, unique},
};

} // namespace

std::span<const NativeRow> sequenceFilters() { return kSequenceFilters; }

} // namespace fusec::text::jinja
