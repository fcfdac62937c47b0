//===- Value.h - what a template expression evaluates to ---------------------===//
//
// The Python values a template can meet: undefined, None, bool, int, float,
// str, the sequences (list, tuple, range, generators, dict views), dict, and
// objects with behaviour (namespace, macro, loop, function). Lists and dicts are
// never changed after they are built (the sandbox forbids it), so values share
// them freely and no cycle can form; objects belong to the Interpreter.
//
// Threading: values; shared parts are read-only except a generator's position.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/jinja/Budget.h"
#include "runtime/text/jinja/Text.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace fusec::text::jinja {

class Object;
class Dict;
struct Sequence;

enum class SequenceKind { List, Tuple, Range, Generator, ReverseIterator, DictKeys, DictValues, DictItems };

class Value {
public:
  /// Undefined with the message that using it raises.
  Value() : Value(Undefined{}) {}
  static Value undefined(std::string message) {
    return Value(Undefined{std::make_shared<const std::string>(std::move(message))});
  }
  static Value none() { return Value(None{}); }
  static Value boolean(bool b) { return Value(b); }
  static Value integer(int64_t i) { return Value(i); }
  static Value number(double d) { return Value(d); }
  static Value text(Text t) { return Value(std::make_shared<const Text>(std::move(t))); }
  /// Text the program itself writes (names, numbers as text).
  static Value trusted(std::string s) { return text(Text(std::move(s), true)); }
  static Value sequence(std::shared_ptr<Sequence> s) { return Value(std::move(s)); }
  static Value dict(std::shared_ptr<const Dict> d) { return Value(std::move(d)); }
  static Value object(Object *o) { return Value(o); }

  bool isUndefined() const { return std::holds_alternative<Undefined>(payload); }
  bool isNone() const { return std::holds_alternative<None>(payload); }
  bool isBool() const { return std::holds_alternative<bool>(payload); }
  bool isInt() const { return std::holds_alternative<int64_t>(payload); }
  bool isFloat() const { return std::holds_alternative<double>(payload); }
  bool isNumber() const { return isBool() || isInt() || isFloat(); }
  bool isIntegral() const { return isBool() || isInt(); }
  bool isText() const { return std::holds_alternative<TextRef>(payload); }
  bool isDict() const { return std::holds_alternative<DictRef>(payload); }

  /// Null (or nullopt) when the value has another type.
  const Text *asText() const { return pointee(std::get_if<TextRef>(&payload)); }
  const Dict *asDict() const { return pointee(std::get_if<DictRef>(&payload)); }
  Sequence *asSequence() const { return pointee(std::get_if<SequenceRef>(&payload)); }
  Object *asObject() const {
    auto *o = std::get_if<Object *>(&payload);
    return o ? *o : nullptr;
  }
  bool isSequence(SequenceKind kind) const;
  bool isList() const { return isSequence(SequenceKind::List); }
  bool isTuple() const { return isSequence(SequenceKind::Tuple); }
  /// bool (0 or 1) and int.
  std::optional<int64_t> asInt() const;
  /// bool, int and float.
  std::optional<double> asDouble() const;
  const std::string &undefinedMessage() const;

  /// Python's `bool(value)`.
  bool truthy() const;
  /// Python's `type(value).__name__`.
  std::string typeName() const;
  /// Nesting of the containers inside: 0 for a plain value.
  int depth() const;
  /// Same object in Python's sense of `is`, for shared payloads.
  bool identicalTo(const Value &other) const;

private:
  struct Undefined {
    std::shared_ptr<const std::string> message;
  };
  struct None {};
  using TextRef = std::shared_ptr<const Text>;
  using DictRef = std::shared_ptr<const Dict>;
  using SequenceRef = std::shared_ptr<Sequence>;
  using Payload = std::variant<Undefined, None, bool, int64_t, double, TextRef, SequenceRef, DictRef, Object *>;

  template <typename T> explicit Value(T v) : payload(std::move(v)) {}
  template <typename T> static T *pointee(const std::shared_ptr<T> *p) { return p ? p->get() : nullptr; }

  Payload payload;
};

/// Items in order; a generator or iterator hands out each item once, from `next` on.
struct Sequence {
  SequenceKind kind = SequenceKind::List;
  std::vector<Value> items;
  int depth = 1;
  size_t next = 0;

  bool oneShot() const { return kind == SequenceKind::Generator || kind == SequenceKind::ReverseIterator; }
};

/// Insertion-ordered mapping. Keys: str, int, float, bool, None and tuples of these.
class Dict {
public:
  using Entry = std::pair<Value, Value>;
  const std::vector<Entry> &entries() const { return list; }
  size_t size() const { return list.size(); }
  /// Null when absent. `key` must be hashable.
  const Value *find(const Value &key) const;
  const Value *find(std::string_view key) const;
  /// Replaces the value of an equal key or appends.
  void set(Value key, Value value);
  int depth() const { return deepest; }

private:
  std::optional<size_t> position(const Value &key) const;
  std::optional<size_t> position(std::string_view key) const;
  std::vector<Entry> list;
  std::unordered_map<std::string, size_t> stringKeys;
  int deepest = 1;
};

/// False for lists, dicts and what contains them: Python cannot hash those.
bool hashable(const Value &value);

/// Builds a sequence, charging its memory; refuses nesting beyond kMaxValueDepth.
Result<Value> makeSequence(Budget &budget, SequenceKind kind, std::vector<Value> items);
/// The same for a finished dict.
Result<Value> makeDict(Budget &budget, Dict dict);
/// Builds a string value, charging its memory.
Result<Value> makeText(Budget &budget, Text text);

} // namespace fusec::text::jinja
