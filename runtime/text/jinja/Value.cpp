//===- Value.cpp - what a template expression evaluates to -------------------===//
#include "runtime/text/jinja/Value.h"

#include "runtime/text/jinja/Object.h"

#include <algorithm>

namespace fusec::text::jinja {

namespace {

constexpr std::string_view kSequenceNames[] = {
    "list", "tuple", "range", "generator", "list_reverseiterator", "dict_keys", "dict_values", "dict_items"};
/// Dicts up to this size are searched linearly; larger ones keep a hash of their string keys.
constexpr size_t kLinearDict = 12;

bool equalKeys(const Value &a, const Value &b) {
  if (a.isText() || b.isText())
    return a.isText() && b.isText() && a.asText()->bytes() == b.asText()->bytes();
  if (a.isNumber() && b.isNumber())
    return a.isFloat() || b.isFloat() ? *a.asDouble() == *b.asDouble() : *a.asInt() == *b.asInt();
  if (a.isTuple() && b.isTuple())
    return std::equal(a.asSequence()->items.begin(), a.asSequence()->items.end(), b.asSequence()->items.begin(),
                      b.asSequence()->items.end(), equalKeys);
  return (a.isNone() && b.isNone()) || a.identicalTo(b);
}

} // namespace

bool Value::isSequence(SequenceKind kind) const {
  const Sequence *s = asSequence();
  return s && s->kind == kind;
}

std::optional<int64_t> Value::asInt() const {
  if (auto *b = std::get_if<bool>(&payload))
    return *b ? 1 : 0;
  if (auto *i = std::get_if<int64_t>(&payload))
    return *i;
  return std::nullopt;
}

std::optional<double> Value::asDouble() const {
  if (auto *d = std::get_if<double>(&payload))
    return *d;
  if (auto i = asInt())
    return static_cast<double>(*i);
  return std::nullopt;
}

const std::string &Value::undefinedMessage() const {
  static const std::string kNothing = "value is undefined";
  auto *u = std::get_if<Undefined>(&payload);
  return u && u->message ? *u->message : kNothing;
}

bool Value::truthy() const {
  if (isUndefined() || isNone())
    return false;
  if (auto number = asDouble())
    return *number != 0;
  if (const Text *t = asText())
    return !t->empty();
  if (const Dict *d = asDict())
    return d->size() != 0;
  // A generator is an object: true even when nothing is left in it.
  if (const Sequence *s = asSequence())
    return s->oneShot() || !s->items.empty();
  return true;
}

std::string Value::typeName() const {
  if (isUndefined())
    return "Undefined";
  if (isNone())
    return "NoneType";
  if (isBool())
    return "bool";
  if (isInt())
    return "int";
  if (isFloat())
    return "float";
  if (const Text *t = asText())
    return t->markup ? "Markup" : "str";
  if (isDict())
    return "dict";
  if (const Sequence *s = asSequence())
    return std::string(kSequenceNames[static_cast<int>(s->kind)]);
  return asObject()->typeName();
}

int Value::depth() const {
  if (const Sequence *s = asSequence())
    return s->depth;
  if (const Dict *d = asDict())
    return d->depth();
  return 0;
}

bool Value::identicalTo(const Value &other) const {
  if (payload.index() != other.payload.index())
    return false;
  if (isNone())
    return true;
  if (isBool() || isInt())
    return asInt() == other.asInt();
  if (asText())
    return asText() == other.asText();
  if (asDict())
    return asDict() == other.asDict();
  if (asSequence())
    return asSequence() == other.asSequence();
  return asObject() && asObject() == other.asObject();
}

std::optional<size_t> Dict::position(std::string_view key) const {
  if (list.size() > kLinearDict) {
    auto found = stringKeys.find(std::string(key));
    return found == stringKeys.end() ? std::nullopt : std::optional(found->second);
  }
  for (size_t i = 0; i < list.size(); ++i)
    if (const Text *t = list[i].first.asText(); t && t->bytes() == key)
      return i;
  return std::nullopt;
}

std::optional<size_t> Dict::position(const Value &key) const {
  if (const Text *t = key.asText())
    return position(t->view());
  for (size_t i = 0; i < list.size(); ++i)
    if (equalKeys(list[i].first, key))
      return i;
  return std::nullopt;
}

const Value *Dict::find(const Value &key) const {
  auto at = position(key);
  return at ? &list[*at].second : nullptr;
}

const Value *Dict::find(std::string_view key) const {
  auto at = position(key);
  return at ? &list[*at].second : nullptr;
}

void Dict::set(Value key, Value value) {
  deepest = std::max({deepest, key.depth() + 1, value.depth() + 1});
  if (auto at = position(key)) {
    list[*at].second = std::move(value);
    return;
  }
  list.emplace_back(std::move(key), std::move(value));
  if (list.size() == kLinearDict + 1) { // Crossing the border: index what is there.
    for (size_t i = 0; i < list.size(); ++i)
      if (const Text *t = list[i].first.asText())
        stringKeys.emplace(t->bytes(), i);
  } else if (list.size() > kLinearDict) {
    if (const Text *t = list.back().first.asText())
      stringKeys.emplace(t->bytes(), list.size() - 1);
  }
}

bool hashable(const Value &value) {
  if (value.isDict() || value.isList())
    return false;
  if (!value.isTuple())
    return true;
  const auto &items = value.asSequence()->items;
  return std::all_of(items.begin(), items.end(), hashable);
}

Result<Value> makeSequence(Budget &budget, SequenceKind kind, std::vector<Value> items) {
  FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>(sizeof(Sequence) + items.size() * sizeof(Value))));
  auto sequence = std::make_shared<Sequence>();
  sequence->kind = kind;
  for (const Value &item : items)
    sequence->depth = std::max(sequence->depth, item.depth() + 1);
  if (sequence->depth > kMaxValueDepth)
    return resourceExhausted("values nested deeper than " + std::to_string(kMaxValueDepth));
  sequence->items = std::move(items);
  return Value::sequence(std::move(sequence));
}

Result<Value> makeDict(Budget &budget, Dict dict) {
  FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>(sizeof(Dict) + dict.size() * sizeof(Dict::Entry))));
  if (dict.depth() > kMaxValueDepth)
    return resourceExhausted("values nested deeper than " + std::to_string(kMaxValueDepth));
  return Value::dict(std::make_shared<const Dict>(std::move(dict)));
}

Result<Value> makeText(Budget &budget, Text text) {
  FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>(sizeof(Text) + text.size())));
  return Value::text(std::move(text));
}

} // namespace fusec::text::jinja
