//===- Ops.cpp - comparison, iteration, subscripts and slices ----------------===//
#include "runtime/text/jinja/Ops.h"

#include "runtime/text/jinja/Object.h"
#include "runtime/text/jinja/Unicode.h"

#include <algorithm>

namespace fusec::text::jinja {

namespace {

constexpr std::string_view kCompareSymbols[] = {"==", "!=", "<", "<=", ">", ">=", "in", "not in"};

Result<bool> equalItems(Budget &budget, const std::vector<Value> &a, const std::vector<Value> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i) {
    FUSEC_ASSIGN_OR_RETURN(bool same, equals(budget, a[i], b[i]));
    if (!same)
      return false;
  }
  return true;
}

Result<bool> equalDicts(Budget &budget, const Dict &a, const Dict &b) {
  if (a.size() != b.size())
    return false;
  for (const auto &[key, value] : a.entries()) {
    const Value *other = b.find(key);
    if (!other)
      return false;
    FUSEC_ASSIGN_OR_RETURN(bool same, equals(budget, value, *other));
    if (!same)
      return false;
  }
  return true;
}

template <typename T> bool holds(CompareOp op, const T &a, const T &b) {
  switch (op) {
  case CompareOp::Lt:
    return a < b;
  case CompareOp::Le:
    return a <= b;
  case CompareOp::Gt:
    return a > b;
  case CompareOp::Ge:
    return a >= b;
  default:
    return false;
  }
}

Result<bool> order(Budget &budget, CompareOp op, const Value &a, const Value &b);

/// Lists and tuples: the first unequal pair decides, then the lengths.
Result<bool> orderItems(Budget &budget, CompareOp op, const std::vector<Value> &a, const std::vector<Value> &b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    FUSEC_ASSIGN_OR_RETURN(bool same, equals(budget, a[i], b[i]));
    if (!same)
      return order(budget, op, a[i], b[i]);
  }
  return holds(op, a.size(), b.size());
}

Result<bool> order(Budget &budget, CompareOp op, const Value &a, const Value &b) {
  FUSEC_RETURN_IF_ERROR(budget.step());
  if (a.isUndefined() || b.isUndefined())
    return invalidArgument((a.isUndefined() ? a : b).undefinedMessage());
  if (a.isIntegral() && b.isIntegral())
    return holds(op, *a.asInt(), *b.asInt());
  if (a.isNumber() && b.isNumber())
    return holds(op, *a.asDouble(), *b.asDouble());
  if (a.isText() && b.isText())
    return holds(op, a.asText()->bytes(), b.asText()->bytes());
  if ((a.isList() && b.isList()) || (a.isTuple() && b.isTuple()))
    return orderItems(budget, op, a.asSequence()->items, b.asSequence()->items);
  return invalidArgument("'" + std::string(kCompareSymbols[static_cast<int>(op)]) +
                         "' not supported between instances of " + typePair(a, b));
}

/// Characters of a text, one Value each.
Result<std::vector<Value>> characters(Budget &budget, const Text &text) {
  std::vector<Value> out;
  for (size_t pos = 0; pos < text.size();) {
    size_t end = pos + decodeAt(text.view(), pos).length;
    FUSEC_RETURN_IF_ERROR(budget.step());
    Text character = text.slice(pos, end);
    character.markup = false; // Iterating Markup gives plain str.
    FUSEC_ASSIGN_OR_RETURN(Value c, makeText(budget, std::move(character)));
    out.push_back(std::move(c));
    pos = end;
  }
  return out;
}

/// Byte offset where each character starts, and the end.
std::vector<size_t> characterOffsets(const Text &text) {
  std::vector<size_t> offsets;
  for (size_t pos = 0; pos < text.size(); pos += decodeAt(text.view(), pos).length)
    offsets.push_back(pos);
  offsets.push_back(text.size());
  return offsets;
}

std::optional<int64_t> normalIndex(int64_t index, int64_t count) {
  if (index < 0)
    index += count;
  return index >= 0 && index < count ? std::optional(index) : std::nullopt;
}

Result<std::optional<Value>> characterAt(Budget &budget, const Text &text, int64_t index) {
  FUSEC_RETURN_IF_ERROR(budget.step(1 + static_cast<int64_t>(text.size() / 64)));
  size_t pos = 0;
  auto at = normalIndex(index, static_cast<int64_t>(countCodePoints(text.view())));
  if (!at)
    return std::optional<Value>();
  for (int64_t i = 0; i < *at; ++i)
    pos += decodeAt(text.view(), pos).length;
  FUSEC_ASSIGN_OR_RETURN(Value c, makeText(budget, text.slice(pos, pos + decodeAt(text.view(), pos).length)));
  return std::optional<Value>(std::move(c));
}

/// Python's slice.indices(count).
struct SliceRange {
  int64_t start, stop, step;
};

Result<std::optional<int64_t>> sliceBound(const Value &v) {
  if (v.isNone())
    return std::optional<int64_t>();
  if (auto i = v.asInt())
    return i;
  return invalidArgument("slice indices must be integers or None or have an __index__ method");
}

int64_t clampBound(int64_t bound, int64_t count, bool backwards) {
  int64_t low = backwards ? -1 : 0, high = backwards ? count - 1 : count;
  if (bound < 0)
    bound = bound < -count ? low : bound + count;
  return std::clamp(bound, low, std::max(low, high));
}

Result<SliceRange> sliceRange(const Value &start, const Value &stop, const Value &step, int64_t count) {
  FUSEC_ASSIGN_OR_RETURN(auto stride, sliceBound(step));
  FUSEC_ASSIGN_OR_RETURN(auto first, sliceBound(start));
  FUSEC_ASSIGN_OR_RETURN(auto last, sliceBound(stop));
  int64_t by = std::clamp<int64_t>(stride.value_or(1), -INT64_MAX, INT64_MAX);
  if (by == 0)
    return invalidArgument("slice step cannot be zero");
  bool backwards = by < 0;
  return SliceRange{first       ? clampBound(*first, count, backwards)
                    : backwards ? count - 1
                                : 0,
                    last        ? clampBound(*last, count, backwards)
                    : backwards ? -1
                                : count,
                    by};
}

/// Positions a range visits, in order.
std::vector<size_t> positions(const SliceRange &r) {
  std::vector<size_t> out;
  for (int64_t i = r.start; r.step > 0 ? i < r.stop : i > r.stop;) {
    out.push_back(static_cast<size_t>(i));
    if (__builtin_add_overflow(i, r.step, &i))
      break;
  }
  return out;
}

Result<Value> sliceText(Budget &budget, const Text &text, const Value &start, const Value &stop, const Value &step) {
  FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>(text.size() * sizeof(size_t))));
  std::vector<size_t> offsets = characterOffsets(text);
  FUSEC_ASSIGN_OR_RETURN(SliceRange r, sliceRange(start, stop, step, static_cast<int64_t>(offsets.size()) - 1));
  if (r.step == 1) {
    auto begin = static_cast<size_t>(r.start), end = static_cast<size_t>(std::max(r.start, r.stop));
    return makeText(budget, text.slice(offsets[begin], offsets[end]));
  }
  Text out;
  out.markup = text.markup;
  for (size_t i : positions(r))
    out.append(text, offsets[i], offsets[i + 1]);
  return makeText(budget, std::move(out));
}

} // namespace

Result<bool> equals(Budget &budget, const Value &a, const Value &b) {
  FUSEC_RETURN_IF_ERROR(budget.step());
  if (a.isUndefined() || b.isUndefined())
    return a.isUndefined() && b.isUndefined();
  if (a.isIntegral() && b.isIntegral())
    return *a.asInt() == *b.asInt();
  if (a.isNumber() && b.isNumber())
    return *a.asDouble() == *b.asDouble();
  if (a.isText() && b.isText())
    return a.asText()->bytes() == b.asText()->bytes();
  if (a.identicalTo(b))
    return true;
  if (a.isDict() && b.isDict())
    return equalDicts(budget, *a.asDict(), *b.asDict());
  const Sequence *s = a.asSequence(), *t = b.asSequence();
  bool byItems = s && t && s->kind == t->kind && !s->oneShot() && s->kind != SequenceKind::DictValues;
  return byItems ? equalItems(budget, s->items, t->items) : false;
}

Result<bool> compare(Budget &budget, CompareOp op, const Value &a, const Value &b) {
  switch (op) {
  case CompareOp::Eq:
    return equals(budget, a, b);
  case CompareOp::Ne: {
    FUSEC_ASSIGN_OR_RETURN(bool same, equals(budget, a, b));
    return !same;
  }
  case CompareOp::In:
    return contains(budget, b, a);
  case CompareOp::NotIn: {
    FUSEC_ASSIGN_OR_RETURN(bool inside, contains(budget, b, a));
    return !inside;
  }
  default:
    return order(budget, op, a, b);
  }
}

Result<bool> contains(Budget &budget, const Value &container, const Value &item) {
  if (const Text *text = container.asText()) {
    FUSEC_RETURN_IF_ERROR(budget.step(1 + static_cast<int64_t>(text->size() / 64)));
    if (const Text *part = item.asText())
      return text->view().find(part->view()) != std::string_view::npos;
    return invalidArgument("'in <string>' requires string as left operand, not " + item.typeName());
  }
  if (const Dict *dict = container.asDict()) {
    FUSEC_RETURN_IF_ERROR(budget.step());
    if (!hashable(item))
      return invalidArgument("unhashable type: '" + item.typeName() + "'");
    return dict->find(item) != nullptr;
  }
  if (!iterable(container) || container.asObject())
    return invalidArgument("argument of type '" + container.typeName() + "' is not iterable");
  Sequence *s = container.asSequence();
  for (size_t i = s ? s->next : 0; s && i < s->items.size(); ++i) {
    if (s->oneShot())
      s->next = i + 1;
    FUSEC_ASSIGN_OR_RETURN(bool same, equals(budget, s->items[i], item));
    if (same || s->items[i].identicalTo(item))
      return true;
  }
  return false;
}

bool iterable(const Value &value) {
  if (Object *object = value.asObject())
    return object->items().has_value();
  return value.isUndefined() || value.isText() || value.isDict() || value.asSequence();
}

Result<std::vector<Value>> iterate(Budget &budget, const Value &value) {
  std::vector<Value> out;
  if (value.isUndefined())
    return out;
  if (const Text *text = value.asText())
    return characters(budget, *text);
  if (const Dict *dict = value.asDict()) {
    FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>(dict->size() * sizeof(Value))));
    for (const auto &entry : dict->entries())
      out.push_back(entry.first);
    return out;
  }
  if (Sequence *s = value.asSequence()) {
    FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>(s->items.size() * sizeof(Value))));
    out.assign(s->items.begin() + static_cast<std::ptrdiff_t>(s->next), s->items.end());
    if (s->oneShot())
      s->next = s->items.size();
    return out;
  }
  if (Object *object = value.asObject())
    if (auto items = object->items())
      return std::move(*items);
  return invalidArgument("'" + value.typeName() + "' object is not iterable");
}

Result<int64_t> length(const Value &value) {
  if (value.isUndefined())
    return int64_t{0};
  if (const Text *text = value.asText())
    return static_cast<int64_t>(countCodePoints(text->view()));
  if (const Dict *dict = value.asDict())
    return static_cast<int64_t>(dict->size());
  if (const Sequence *s = value.asSequence(); s && !s->oneShot())
    return static_cast<int64_t>(s->items.size());
  return invalidArgument("object of type '" + value.typeName() + "' has no len()");
}

Result<std::optional<Value>> subscript(Budget &budget, const Value &value, const Value &key) {
  FUSEC_RETURN_IF_ERROR(budget.step());
  if (value.isUndefined())
    return invalidArgument(value.undefinedMessage());
  if (const Dict *dict = value.asDict()) {
    const Value *found = hashable(key) ? dict->find(key) : nullptr;
    return found ? std::optional<Value>(*found) : std::nullopt;
  }
  if (!key.isIntegral())
    return std::optional<Value>();
  if (const Text *text = value.asText())
    return characterAt(budget, *text, *key.asInt());
  const Sequence *s = value.asSequence();
  if (!s || s->oneShot() || s->kind > SequenceKind::Range)
    return std::optional<Value>();
  auto at = normalIndex(*key.asInt(), static_cast<int64_t>(s->items.size()));
  return at ? std::optional<Value>(s->items[static_cast<size_t>(*at)]) : std::nullopt;
}

Result<Value> slice(Budget &budget, const Value &value, const Value &start, const Value &stop, const Value &step) {
  FUSEC_RETURN_IF_ERROR(budget.step());
  if (value.isUndefined())
    return invalidArgument(value.undefinedMessage());
  if (const Text *text = value.asText())
    return sliceText(budget, *text, start, stop, step);
  const Sequence *s = value.asSequence();
  if (value.isDict())
    return invalidArgument("unhashable type: 'slice'");
  if (!s || s->kind > SequenceKind::Range)
    return invalidArgument("'" + value.typeName() + "' object is not subscriptable");
  FUSEC_ASSIGN_OR_RETURN(SliceRange r, sliceRange(start, stop, step, static_cast<int64_t>(s->items.size())));
  FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>(s->items.size() * sizeof(size_t))));
  std::vector<Value> items;
  for (size_t i : positions(r))
    items.push_back(s->items[i]);
  return makeSequence(budget, s->kind, std::move(items));
}

} // namespace fusec::text::jinja
