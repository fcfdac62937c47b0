//===- Object.h - values with behaviour --------------------------------------===//
//
// Namespaces, macros, loops and functions. The Interpreter owns every Object
// until the rendering ends, so values may point at them in cycles.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/jinja/Value.h"

namespace fusec::text::jinja {

class Interpreter;
class Namespace;

/// Evaluated arguments of a call, filter or test.
struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

class Object {
public:
  virtual ~Object() = default;
  /// Python's name of the type, as error messages and tests show it.
  virtual std::string typeName() const = 0;
  /// str(object).
  virtual std::string display() const { return "<" + typeName() + " object>"; }
  virtual bool callable() const { return false; }
  virtual Result<Value> call(Interpreter &, Args) {
    return invalidArgument("'" + typeName() + "' object is not callable");
  }
  /// nullopt when there is no such attribute.
  virtual Result<std::optional<Value>> attribute(Interpreter &, std::string_view) { return std::optional<Value>(); }
  /// Items for a `for`; nullopt when the object cannot be iterated.
  virtual std::optional<std::vector<Value>> items() { return std::nullopt; }
  virtual Namespace *asNamespace() { return nullptr; }
};

/// Jinja's `namespace()`: the one object a template can change.
class Namespace final : public Object {
public:
  std::string typeName() const override { return "Namespace"; }
  Result<std::optional<Value>> attribute(Interpreter &, std::string_view name) override {
    const Value *found = content.find(name);
    return found ? std::optional<Value>(*found) : std::nullopt;
  }
  Namespace *asNamespace() override { return this; }
  Dict content;
};

} // namespace fusec::text::jinja
