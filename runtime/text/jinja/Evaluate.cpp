//===- Evaluate.cpp - expressions --------------------------------------------===//
#include "runtime/text/jinja/Callables.h"
#include "runtime/text/jinja/Filters.h"
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Methods.h"
#include "runtime/text/jinja/Tests.h"

namespace fusec::text::jinja {

Result<Value> Interpreter::evaluate(const Expr &expr) {
  line = expr.line;
  FUSEC_RETURN_IF_ERROR(spending.step());
  if (++depth > spending.limits.depth)
    return resourceExhausted("the template recurses deeper than " + std::to_string(spending.limits.depth));
  Result<Value> result = dispatch(expr);
  --depth;
  return result;
}

Result<Value> Interpreter::dispatch(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Constant:
    return expr.value;
  case ExprKind::BlockContent:
    return blockContent;
  case ExprKind::Name:
  case ExprKind::NamespaceRef:
    return evaluateName(expr);
  case ExprKind::List:
    return evaluateItems(expr, SequenceKind::List);
  case ExprKind::Tuple:
    return evaluateItems(expr, SequenceKind::Tuple);
  case ExprKind::Dict:
    return evaluateDict(expr);
  case ExprKind::Attribute:
  case ExprKind::Item:
    return evaluateItem(expr);
  case ExprKind::Slice:
    return evaluateSlice(expr);
  case ExprKind::Call:
    return evaluateCall(expr);
  case ExprKind::Filter:
    return evaluateFilter(expr);
  case ExprKind::Test:
    return evaluateTest(expr);
  case ExprKind::Negate:
  case ExprKind::Positive:
  case ExprKind::Not:
    return evaluateUnary(expr);
  case ExprKind::And:
  case ExprKind::Or:
    return evaluateLogical(expr);
  case ExprKind::Binary:
    return evaluateBinary(expr);
  case ExprKind::Concat:
    return evaluateConcat(expr);
  case ExprKind::Compare:
    return evaluateCompare(expr);
  case ExprKind::Conditional:
    return evaluateConditional(expr);
  }
  return internalError("an expression kind without evaluation");
}

Result<Value> Interpreter::evaluateName(const Expr &expr) {
  for (const Scope *s = scope; s; s = s->parent)
    if (const Value *found = s->find(expr.name))
      return *found;
  return Value::undefined(quotePython(expr.name) + " is undefined");
}

Result<Value> Interpreter::evaluateItems(const Expr &expr, SequenceKind kind) {
  std::vector<Value> items;
  for (const ExprPtr &item : expr.items) {
    FUSEC_ASSIGN_OR_RETURN(Value value, evaluate(*item));
    items.push_back(std::move(value));
  }
  return makeSequence(spending, kind, std::move(items));
}

Result<Value> Interpreter::evaluateDict(const Expr &expr) {
  Dict dict;
  for (size_t i = 0; i < expr.items.size(); i += 2) {
    FUSEC_ASSIGN_OR_RETURN(Value key, evaluate(*expr.items[i]));
    FUSEC_ASSIGN_OR_RETURN(Value value, evaluate(*expr.items[i + 1]));
    if (!hashable(key))
      return invalidArgument("unhashable type: '" + key.typeName() + "'");
    dict.set(std::move(key), std::move(value));
  }
  return makeDict(spending, std::move(dict));
}

Result<Value> Interpreter::evaluateItem(const Expr &expr) {
  FUSEC_ASSIGN_OR_RETURN(Value object, evaluate(*expr.items[0]));
  if (expr.kind == ExprKind::Attribute)
    return getAttribute(object, expr.attribute);
  FUSEC_ASSIGN_OR_RETURN(Value key, evaluate(*expr.items[1]));
  return getItem(object, key);
}

Result<Value> Interpreter::evaluateOptional(const ExprPtr &expr) { return expr ? evaluate(*expr) : Value::none(); }

Result<Value> Interpreter::evaluateSlice(const Expr &expr) {
  FUSEC_ASSIGN_OR_RETURN(Value object, evaluate(*expr.items[0]));
  FUSEC_ASSIGN_OR_RETURN(Value start, evaluateOptional(expr.items[1]));
  FUSEC_ASSIGN_OR_RETURN(Value stop, evaluateOptional(expr.items[2]));
  FUSEC_ASSIGN_OR_RETURN(Value step, evaluateOptional(expr.items[3]));
  return slice(spending, object, start, stop, step);
}

Result<Args> Interpreter::evaluateArguments(const Arguments &arguments) {
  Args args;
  for (const ExprPtr &e : arguments.positional) {
    FUSEC_ASSIGN_OR_RETURN(Value value, evaluate(*e));
    args.positional.push_back(std::move(value));
  }
  if (arguments.spread) {
    FUSEC_ASSIGN_OR_RETURN(Value more, evaluate(*arguments.spread));
    FUSEC_ASSIGN_OR_RETURN(std::vector<Value> items, iterate(spending, more));
    args.positional.insert(args.positional.end(), items.begin(), items.end());
  }
  for (const Keyword &keyword : arguments.named) {
    FUSEC_ASSIGN_OR_RETURN(Value value, evaluate(*keyword.value));
    args.named.emplace_back(keyword.name, std::move(value));
  }
  if (!arguments.namedSpread)
    return args;
  FUSEC_ASSIGN_OR_RETURN(Value more, evaluate(*arguments.namedSpread));
  const Dict *dict = more.asDict();
  if (!dict)
    return invalidArgument("argument after ** must be a mapping, not " + more.typeName());
  for (const auto &[key, value] : dict->entries()) {
    if (!key.isText())
      return invalidArgument("keywords must be strings");
    args.named.emplace_back(key.asText()->bytes(), value);
  }
  return args;
}

Result<Value> Interpreter::evaluateCall(const Expr &expr) {
  const Expr &target = *expr.items[0];
  if (target.kind == ExprKind::Attribute) {
    FUSEC_ASSIGN_OR_RETURN(Value object, evaluate(*target.items[0]));
    const NativeRow *method = findMethod(object, target.attribute);
    if (method && !mutates(object, target.attribute)) { // No bound method object for the common case.
      FUSEC_ASSIGN_OR_RETURN(Args args, evaluateArguments(expr.arguments));
      return callNative(*method, *this, object, std::move(args));
    }
    FUSEC_ASSIGN_OR_RETURN(Value callee, getAttribute(object, target.attribute));
    FUSEC_ASSIGN_OR_RETURN(Args args, evaluateArguments(expr.arguments));
    return call(callee, std::move(args));
  }
  FUSEC_ASSIGN_OR_RETURN(Value callee, evaluate(target));
  FUSEC_ASSIGN_OR_RETURN(Args args, evaluateArguments(expr.arguments));
  return call(callee, std::move(args));
}

Result<Value> Interpreter::call(const Value &callee, Args args) {
  if (callee.isUndefined())
    return invalidArgument(callee.undefinedMessage());
  Object *object = callee.asObject();
  if (!object || !object->callable())
    return invalidArgument("'" + callee.typeName() + "' object is not callable");
  return object->call(*this, std::move(args));
}

Result<Value> Interpreter::applyFilter(const std::string &name, const Value &input, Args args) {
  const NativeRow *row = findFilter(name);
  if (!row)
    return invalidArgument("No filter named " + quotePython(name) + " found.");
  return callNative(*row, *this, input, std::move(args));
}

Result<bool> Interpreter::applyTest(const std::string &name, const Value &input, Args args) {
  const NativeRow *row = findTest(name);
  if (!row)
    return invalidArgument("No test named " + quotePython(name) + " found.");
  FUSEC_ASSIGN_OR_RETURN(Value result, callNative(*row, *this, input, std::move(args)));
  return result.truthy();
}

Result<Value> Interpreter::evaluateFilter(const Expr &expr) {
  FUSEC_ASSIGN_OR_RETURN(Value input, evaluate(*expr.items[0]));
  FUSEC_ASSIGN_OR_RETURN(Args args, evaluateArguments(expr.arguments));
  return applyFilter(expr.name, input, std::move(args));
}

Result<Value> Interpreter::evaluateTest(const Expr &expr) {
  FUSEC_ASSIGN_OR_RETURN(Value input, evaluate(*expr.items[0]));
  FUSEC_ASSIGN_OR_RETURN(Args args, evaluateArguments(expr.arguments));
  FUSEC_ASSIGN_OR_RETURN(bool result, applyTest(expr.name, input, std::move(args)));
  return Value::boolean(result);
}

Result<Value> Interpreter::evaluateLogical(const Expr &expr) {
  FUSEC_ASSIGN_OR_RETURN(Value left, evaluate(*expr.items[0]));
  bool decided = left.truthy() == (expr.kind == ExprKind::Or);
  return decided ? left : evaluate(*expr.items[1]);
}

Result<Value> Interpreter::evaluateUnary(const Expr &expr) {
  FUSEC_ASSIGN_OR_RETURN(Value operand, evaluate(*expr.items[0]));
  if (expr.kind == ExprKind::Not)
    return Value::boolean(!operand.truthy());
  return expr.kind == ExprKind::Negate ? negate(operand) : positive(operand);
}

Result<Value> Interpreter::evaluateBinary(const Expr &expr) {
  FUSEC_ASSIGN_OR_RETURN(Value left, evaluate(*expr.items[0]));
  FUSEC_ASSIGN_OR_RETURN(Value right, evaluate(*expr.items[1]));
  return binary(spending, expr.op, left, right);
}

Result<Value> Interpreter::evaluateConcat(const Expr &expr) {
  Text out;
  for (const ExprPtr &item : expr.items) {
    FUSEC_ASSIGN_OR_RETURN(Value value, evaluate(*item));
    FUSEC_ASSIGN_OR_RETURN(Text text, toText(spending, value));
    out.append(text);
  }
  return makeText(spending, std::move(out));
}

Result<Value> Interpreter::evaluateCompare(const Expr &expr) {
  FUSEC_ASSIGN_OR_RETURN(Value left, evaluate(*expr.items[0]));
  for (size_t i = 0; i < expr.comparisons.size(); ++i) {
    FUSEC_ASSIGN_OR_RETURN(Value right, evaluate(*expr.items[i + 1]));
    FUSEC_ASSIGN_OR_RETURN(bool holds, compare(spending, expr.comparisons[i], left, right));
    if (!holds)
      return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::evaluateConditional(const Expr &expr) {
  FUSEC_ASSIGN_OR_RETURN(Value condition, evaluate(*expr.items[1]));
  if (condition.truthy())
    return evaluate(*expr.items[0]);
  if (expr.items[2])
    return evaluate(*expr.items[2]);
  return Value::undefined("the inline if-expression on line " + std::to_string(expr.line) +
                          " evaluated to false and no else section was defined.");
}

} // namespace fusec::text::jinja
