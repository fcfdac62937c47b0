//===- ItemKeys.cpp - attributes of list items as sort, group and filter keys =//
#include "runtime/text/jinja/ItemKeys.h"

#include "runtime/text/jinja/Ops.h"
#include "runtime/text/jinja/StableSort.h"
#include "runtime/text/jinja/TextAlgorithms.h"

#include <charconv>
#include <numeric>

namespace fusec::text::jinja {

namespace {

/// "0" in a path is a list index, everything else a name.
Value pathStep(const Text &part) {
  int64_t index = 0;
  std::string_view text = part.view();
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), index);
  bool number = !text.empty() && text[0] != '-' && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return number ? Value::integer(index) : Value::text(part);
}

Value withoutCase(const Value &key, const KeyRule &rule) {
  const Text *text = rule.ignoreCase ? key.asText() : nullptr;
  return text ? Value::text(mapCase(*text, CaseMap::Lower)) : key;
}

} // namespace

Result<Value> attributeOf(Interpreter &interpreter, const Value &item, const Value &path, const Value *fallback) {
  if (path.isNone())
    return item;
  std::vector<Value> steps;
  if (const Text *text = path.asText()) {
    for (const Text &part : splitText(*text, ".", -1))
      steps.push_back(pathStep(part));
  } else {
    steps.push_back(path);
  }
  Value value = item;
  for (const Value &step : steps) {
    FUSEC_ASSIGN_OR_RETURN(value, interpreter.getItem(value, step));
    if (value.isUndefined() && fallback && !fallback->isNone())
      value = *fallback;
  }
  return value;
}

Result<Value> itemKey(Interpreter &interpreter, const Value &item, const KeyRule &rule) {
  FUSEC_ASSIGN_OR_RETURN(Value key, attributeOf(interpreter, item, rule.attribute, rule.fallback));
  return withoutCase(key, rule);
}

Result<Value> sortKey(Interpreter &interpreter, const Value &item, const KeyRule &rule) {
  const Text *paths = rule.attribute.asText();
  if (!paths || paths->view().find(',') == std::string_view::npos)
    return itemKey(interpreter, item, rule);
  std::vector<Value> keys;
  for (const Text &path : splitText(*paths, ",", -1)) {
    FUSEC_ASSIGN_OR_RETURN(Value key, attributeOf(interpreter, item, Value::text(path), rule.fallback));
    keys.push_back(withoutCase(key, rule));
  }
  return makeSequence(interpreter.budget(), SequenceKind::List, std::move(keys));
}

Status sortByKey(Interpreter &interpreter, std::vector<Value> &items, const KeyRule &rule, bool descending) {
  std::vector<Value> keys;
  for (const Value &item : items) {
    FUSEC_ASSIGN_OR_RETURN(Value key, sortKey(interpreter, item, rule));
    keys.push_back(std::move(key));
  }
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  FUSEC_RETURN_IF_ERROR(stableSort(order, [&](size_t a, size_t b) {
    return compare(interpreter.budget(), CompareOp::Lt, keys[descending ? b : a], keys[descending ? a : b]);
  }));
  std::vector<Value> sorted;
  for (size_t i : order)
    sorted.push_back(std::move(items[i]));
  items = std::move(sorted);
  return {};
}

} // namespace fusec::text::jinja
