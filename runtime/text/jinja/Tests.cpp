//===- Tests.cpp - the `is` tests a template can use -------------------------===//
#include "runtime/text/jinja/Tests.h"

#include "runtime/text/jinja/Filters.h"
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Methods.h"
#include "runtime/text/jinja/Native.h"
#include "runtime/text/jinja/Ops.h"

namespace fusec::text::jinja {

namespace {

/// A test that only looks at the value.
template <bool (*holds)(const Value &)> Result<Value> check(NativeCall &call) {
  return Value::boolean(holds(call.self));
}

bool isDefined(const Value &v) { return !v.isUndefined(); }
bool isUndefinedValue(const Value &v) { return v.isUndefined(); }
bool isNoneValue(const Value &v) { return v.isNone(); }
bool isBoolean(const Value &v) { return v.isBool(); }
bool isTrue(const Value &v) { return v.isBool() && v.truthy(); }
bool isFalse(const Value &v) { return v.isBool() && !v.truthy(); }
bool isInteger(const Value &v) { return v.isInt(); }
bool isFloatValue(const Value &v) { return v.isFloat(); }
bool isNumberValue(const Value &v) { return v.isNumber(); }
bool isString(const Value &v) { return v.isText(); }
bool isMapping(const Value &v) { return v.isDict(); }
bool isEscaped(const Value &v) { return v.isText() && v.asText()->markup; }
bool isCallable(const Value &v) { return v.isUndefined() || (v.asObject() && v.asObject()->callable()); }
/// Python asks for len() and subscripts: text, lists, dicts and even undefined have both.
bool isSequenceValue(const Value &v) {
  const Sequence *s = v.asSequence();
  return v.isUndefined() || v.isText() || v.isDict() || (s && s->kind <= SequenceKind::Range);
}

template <CompareOp op> Result<Value> comparison(NativeCall &call) {
  FUSEC_ASSIGN_OR_RETURN(bool holds, compare(call.budget(), op, call.self, *call.get(0)));
  return Value::boolean(holds);
}

/// value % divisor == wanted.
Result<Value> remainderIs(NativeCall &call, const Value &divisor, int64_t wanted) {
  FUSEC_ASSIGN_OR_RETURN(Value rest, binary(call.budget(), BinaryOp::Mod, call.self, divisor));
  FUSEC_ASSIGN_OR_RETURN(bool same, equals(call.budget(), rest, Value::integer(wanted)));
  return Value::boolean(same);
}
Result<Value> odd(NativeCall &call) { return remainderIs(call, Value::integer(2), 1); }
Result<Value> even(NativeCall &call) { return remainderIs(call, Value::integer(2), 0); }
Result<Value> divisible(NativeCall &call) { return remainderIs(call, *call.get(0), 0); }

Result<Value> sameAs(NativeCall &call) { return Value::boolean(call.self.identicalTo(*call.get(0))); }

Result<Value> hasCase(NativeCall &call, std::string_view method) {
  FUSEC_ASSIGN_OR_RETURN(Text text, toText(call.budget(), call.self));
  Value self = Value::text(std::move(text));
  return callNative(*findMethod(self, method), call.interpreter, self, {});
}
Result<Value> lowerCase(NativeCall &call) { return hasCase(call, "islower"); }
Result<Value> upperCase(NativeCall &call) { return hasCase(call, "isupper"); }

Result<Value> namesFilter(NativeCall &call) {
  return Value::boolean(call.self.isText() && findFilter(call.self.asText()->view()));
}
Result<Value> namesTest(NativeCall &call) {
  return Value::boolean(call.self.isText() && findTest(call.self.asText()->view()));
}

constexpr NativeRow kTests[] = {
    {"!=", "other", 1, comparison<CompareOp::Ne>},
    {"<", "other", 1, comparison<CompareOp::Lt>},
    {"<=", "other", 1, comparison<CompareOp::Le>},
    {"==", "other", 1, comparison<CompareOp::Eq>},
    {">", "other", 1, comparison<CompareOp::Gt>},
    {">=", "other", 1, comparison<CompareOp::Ge>},
    {"boolean", "", 0, check<isBoolean>},
    {"callable", "", 0, check<isCallable>},
    {"defined", "", 0, check<isDefined>},
    {"divisibleby", "num", 1, divisible},
    {"eq", "other", 1, comparison<CompareOp::Eq>},
    {"equalto", "other", 1, comparison<CompareOp::Eq>},
    {"escaped", "", 0, check<isEscaped>},
    {"even", "", 0, even},
    {"false", "", 0, check<isFalse>},
    {"filter", "", 0, namesFilter},
    {"float", "", 0, check<isFloatValue>},
    {"ge", "other", 1, comparison<CompareOp::Ge>},
    {"greaterthan", "other", 1, comparison<CompareOp::Gt>},
    {"gt", "other", 1, comparison<CompareOp::Gt>},
    {"in", "seq", 1, comparison<CompareOp::In>},
    {"integer", "", 0, check<isInteger>},
    {"iterable", "", 0, check<iterable>},
    {"le", "other", 1, comparison<CompareOp::Le>},
    {"lessthan", "other", 1, comparison<CompareOp::Lt>},
    {"lower", "", 0, lowerCase},
    {"lt", "other", 1, comparison<CompareOp::Lt>},
    {"mapping", "", 0, check<isMapping>},
    {"ne", "other", 1, comparison<CompareOp::Ne>},
    {"none", "", 0, check<isNoneValue>},
    {"number", "", 0, check<isNumberValue>},
    {"odd", "", 0, odd},
    {"sameas", "other", 1, sameAs},
    {"sequence", "", 0, check<isSequenceValue>},
    {"string", "", 0, check<isString>},
    {"test", "", 0, namesTest},
    {"true", "", 0, check<isTrue>},
    {"undefined", "", 0, check<isUndefinedValue>},
    {"upper", "", 0, upperCase},
};

} // namespace

std::span<const NativeRow> testTable() { return kTests; }

const NativeRow *findTest(std::string_view name) { return findRow(kTests, name); }

} // namespace fusec::text::jinja
