//===- ItemKeys.h - attributes of list items as sort, group and filter keys --===//
#pragma once

#include "runtime/text/jinja/Interpreter.h"

namespace fusec::text::jinja {

/// What an item is compared by: an attribute path (None = the item itself).
struct KeyRule {
  Value attribute = Value::none();
  bool ignoreCase = true;
  const Value *fallback = nullptr; ///< Stands in for an undefined attribute.
};

/// item.path where `path` is a str of names and numbers with dots, or an int.
Result<Value> attributeOf(Interpreter &interpreter, const Value &item, const Value &path, const Value *fallback);
/// The attribute with text in lower case when the rule ignores case.
Result<Value> itemKey(Interpreter &interpreter, const Value &item, const KeyRule &rule);
/// The same for `sort` and `unique`: several comma-separated attributes make a list.
Result<Value> sortKey(Interpreter &interpreter, const Value &item, const KeyRule &rule);
/// Stable sort by the items' sort keys.
Status sortByKey(Interpreter &interpreter, std::vector<Value> &items, const KeyRule &rule, bool descending);

} // namespace fusec::text::jinja
