//===- Callables.h - macros and native functions as values -------------------===//
#pragma once

#include "runtime/text/jinja/Native.h"

namespace fusec::text::jinja {

/// A `{% macro %}` or the body of a `{% call %}` with the scope it was defined in.
class Macro final : public Object {
public:
  Macro(const MacroDef &d, Scope *c) : definition(d), closure(c) {}
  std::string typeName() const override { return "Macro"; }
  std::string display() const override;
  bool callable() const override { return true; }
  Result<Value> call(Interpreter &interpreter, Args args) override {
    return interpreter.callMacro(definition, closure, std::move(args));
  }
  Result<std::optional<Value>> attribute(Interpreter &interpreter, std::string_view name) override;

private:
  const MacroDef &definition;
  Scope *closure;
};

/// A table row with the object it works on (none for a global function).
class NativeFunction final : public Object {
public:
  NativeFunction(const NativeRow &r, Value s) : row(r), self(std::move(s)) {}
  std::string typeName() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  Result<Value> call(Interpreter &interpreter, Args args) override {
    return callNative(row, interpreter, self, std::move(args));
  }

private:
  const NativeRow &row;
  Value self;
};

/// `value.method` as a value of its own.
inline Value bindMethod(Interpreter &interpreter, const Value &self, const NativeRow &row) {
  return Value::object(interpreter.own(std::make_unique<NativeFunction>(row, self)));
}

} // namespace fusec::text::jinja
