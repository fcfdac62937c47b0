//===- Methods.h - methods of str, list, dict and the other values -----------===//
#pragma once

#include "runtime/text/jinja/Value.h"

#include <span>

namespace fusec::text::jinja {

struct NativeRow;

/// The method `name` of the value's type, or null.
const NativeRow *findMethod(const Value &value, std::string_view name);
/// True for methods that change a list or dict: the sandbox refuses them.
bool mutates(const Value &value, std::string_view method);

std::span<const NativeRow> textMethods();
std::span<const NativeRow> textSearchMethods();

} // namespace fusec::text::jinja
