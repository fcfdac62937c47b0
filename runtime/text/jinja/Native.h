//===- Native.h - functions of the template language written in C++ ----------===//
//
// Filters, tests, methods and global functions are rows of constexpr tables.
// A row names its parameters the way Python's signature does; binding arguments
// to them, by position or by name, happens in one place.
//
//   {"replace", "old,new,count", 2, replaceText}
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/jinja/Interpreter.h"

#include <span>

namespace fusec::text::jinja {

/// One call with its arguments bound to the row's parameters.
class NativeCall {
public:
  Interpreter &interpreter;
  const Value &self;                       ///< The filtered or tested value, the method's object.
  std::vector<std::optional<Value>> bound; ///< In parameter order; nullopt when not given.
  Args rest;                               ///< What a "*" row takes beyond its parameters.

  Budget &budget() const { return interpreter.budget(); }
  const Value *get(size_t i) const { return bound[i] ? &*bound[i] : nullptr; }
  /// The argument, or None when it was left out.
  Value orNone(size_t i) const { return bound[i] ? *bound[i] : Value::none(); }
  bool flag(size_t i, bool fallback) const { return bound[i] ? bound[i]->truthy() : fallback; }
  /// An int argument; None counts as left out.
  Result<int64_t> integer(size_t i, int64_t fallback) const;
  /// A str argument; an error names what Python expected.
  Result<const Text *> text(size_t i) const;
};

using NativeFn = Result<Value> (*)(NativeCall &);

struct NativeRow {
  std::string_view name;
  std::string_view parameters; ///< Comma-separated; "*" keeps further arguments in `rest`, "/" forbids names.
  int required = 0;
  NativeFn function = nullptr; ///< Null: Python has it, templates may not use it or fusec lacks it.
};

/// Binds `args` and calls the row.
Result<Value> callNative(const NativeRow &row, Interpreter &interpreter, const Value &self, Args args);

const NativeRow *findRow(std::span<const NativeRow> table, std::string_view name);

} // namespace fusec::text::jinja
