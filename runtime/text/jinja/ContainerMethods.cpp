//===- ContainerMethods.cpp - methods of list, tuple, dict and numbers -------===//
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Methods.h"
#include "runtime/text/jinja/Native.h"
#include "runtime/text/jinja/Ops.h"

#include <algorithm>
#include <cmath>

namespace fusec::text::jinja {

namespace {

Result<Value> dictGet(NativeCall &call) {
  if (!hashable(*call.get(0)))
    return invalidArgument("unhashable type: '" + call.get(0)->typeName() + "'");
  const Value *found = call.self.asDict()->find(*call.get(0));
  return found ? *found : call.orNone(1);
}

Result<Value> dictKeys(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> keys, iterate(call.budget(), call.self));
  return makeSequence(call.budget(), SequenceKind::DictKeys, std::move(keys));
}

Result<Value> dictValues(NativeCall &call) {
  std::vector<Value> values;
  for (const auto &entry : call.self.asDict()->entries())
    values.push_back(entry.second);
  return makeSequence(call.budget(), SequenceKind::DictValues, std::move(values));
}

Result<Value> dictItems(NativeCall &call) {
  std::vector<Value> items;
  for (const auto &[key, value] : call.self.asDict()->entries()) {
    FUSEC_ASSIGN_OR_RETURN(Value pair, makeSequence(call.budget(), SequenceKind::Tuple, {key, value}));
    items.push_back(std::move(pair));
  }
  return makeSequence(call.budget(), SequenceKind::DictItems, std::move(items));
}

Result<Value> copySelf(NativeCall &call) { return call.self; }

Result<Value> listCount(NativeCall &call) {
  int64_t hits = 0;
  for (const Value &item : call.self.asSequence()->items) {
    FUSEC_ASSIGN_OR_RETURN(bool same, equals(call.budget(), item, *call.get(0)));
    hits += same;
  }
  return Value::integer(hits);
}

Result<Value> listIndex(NativeCall &call) {
  const auto &items = call.self.asSequence()->items;
  auto count = static_cast<int64_t>(items.size());
  FUSEC_ASSIGN_OR_RETURN(int64_t start, call.integer(1, 0));
  FUSEC_ASSIGN_OR_RETURN(int64_t stop, call.integer(2, count));
  auto normal = [count](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + count : i, 0, count); };
  for (int64_t i = normal(start); i < normal(stop); ++i) {
    FUSEC_ASSIGN_OR_RETURN(bool same, equals(call.budget(), items[static_cast<size_t>(i)], *call.get(0)));
    if (same)
      return Value::integer(i);
  }
  if (call.self.isTuple())
    return invalidArgument("tuple.index(x): x not in tuple");
  FUSEC_ASSIGN_OR_RETURN(Text shown, toRepr(call.budget(), *call.get(0)));
  return invalidArgument(shown.bytes() + " is not in list");
}

Result<Value> isInteger(NativeCall &call) {
  double d = *call.self.asDouble();
  return Value::boolean(std::isfinite(d) && std::floor(d) == d);
}

constexpr NativeRow kDictMethods[] = {
    {"copy", "", 0, copySelf},   {"fromkeys", "*", 0, nullptr}, {"get", "key,default,/", 1, dictGet},
    {"items", "", 0, dictItems}, {"keys", "", 0, dictKeys},     {"values", "", 0, dictValues},
};
constexpr NativeRow kListMethods[] = {
    {"copy", "", 0, copySelf}, {"count", "value,/", 1, listCount}, {"index", "value,start,stop,/", 1, listIndex}};
constexpr NativeRow kTupleMethods[] = {{"count", "value,/", 1, listCount},
                                       {"index", "value,start,stop,/", 1, listIndex}};
constexpr NativeRow kFloatMethods[] = {{"is_integer", "", 0, isInteger}};

constexpr std::string_view kDictMutators[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kListMutators[] = {"append", "clear",  "extend",  "insert",
                                              "pop",    "remove", "reverse", "sort"};

bool listed(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace

const NativeRow *findMethod(const Value &value, std::string_view name) {
  if (value.isText()) {
    const NativeRow *row = findRow(textMethods(), name);
    return row ? row : findRow(textSearchMethods(), name);
  }
  if (value.isDict())
    return findRow(kDictMethods, name);
  if (value.isList())
    return findRow(kListMethods, name);
  if (value.isTuple() || value.isSequence(SequenceKind::Range))
    return findRow(kTupleMethods, name);
  return value.isFloat() ? findRow(kFloatMethods, name) : nullptr;
}

bool mutates(const Value &value, std::string_view method) {
  return (value.isDict() && listed(kDictMutators, method)) || (value.isList() && listed(kListMutators, method));
}

} // namespace fusec::text::jinja
