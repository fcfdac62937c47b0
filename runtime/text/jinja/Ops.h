//===- Ops.h - Python's operators on template values -------------------------===//
//
// Arithmetic, comparison, iteration, subscripts and slices with Python's
// results and Python's error messages. Integers are 64-bit: a result that does
// not fit is an error.
//
// Threading: pure functions, except that iterating consumes a generator.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/jinja/Value.h"

namespace fusec::text::jinja {

enum class BinaryOp { Add, Sub, Mul, Div, FloorDiv, Mod, Pow };
enum class CompareOp { Eq, Ne, Lt, Le, Gt, Ge, In, NotIn };

Result<Value> binary(Budget &budget, BinaryOp op, const Value &a, const Value &b);
Result<Value> negate(const Value &v);
Result<Value> positive(const Value &v);

Result<bool> equals(Budget &budget, const Value &a, const Value &b);
Result<bool> compare(Budget &budget, CompareOp op, const Value &a, const Value &b);
/// `item in container`.
Result<bool> contains(Budget &budget, const Value &container, const Value &item);

/// list(value): the items of any iterable; empties a generator.
Result<std::vector<Value>> iterate(Budget &budget, const Value &value);
bool iterable(const Value &value);
/// len(value).
Result<int64_t> length(const Value &value);

/// value[key]; nullopt where Python raises a TypeError or LookupError.
Result<std::optional<Value>> subscript(Budget &budget, const Value &value, const Value &key);
/// value[start:stop:step]; None for a bound that is left out.
Result<Value> slice(Budget &budget, const Value &value, const Value &start, const Value &stop, const Value &step);

/// markupsafe.escape: `& < > ' "` as entities; text that is Markup already stays.
Text escapeHtml(const Text &text);

/// "'a' and 'b'": the type names of two operands, for messages.
std::string typePair(const Value &a, const Value &b);

} // namespace fusec::text::jinja
