//===- Interpreter.cpp - statements ------------------------------------------===//
#include "runtime/text/jinja/Interpreter.h"

#include "runtime/text/jinja/Callables.h"
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Globals.h"
#include "runtime/text/jinja/Loop.h"

#include <algorithm>

namespace fusec::text::jinja {

const Value *Scope::find(std::string_view name) const {
  for (const auto &[key, value] : variables)
    if (key == name)
      return &value;
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  for (auto &[key, slot] : variables)
    if (key == name) {
      slot = std::move(value);
      return;
    }
  variables.emplace_back(name, std::move(value));
}

Interpreter::Interpreter(Budget &budget, const std::tm &now) : spending(budget), clock(now) {}

Scope *Interpreter::pushScope(Scope *parent) {
  scopes.push_back(std::make_unique<Scope>());
  scopes.back()->parent = parent;
  return scopes.back().get();
}

void Interpreter::popScope() {
  if (scopes.back()->captured) {
    spending.allocateLater(static_cast<int64_t>(sizeof(Scope) + scopes.back()->variables.size() * 64));
    kept.push_back(std::move(scopes.back()));
  }
  scopes.pop_back();
}

Result<Text> Interpreter::render(const Body &body, const Dict &context) {
  ScopeGuard globals(*this, nullptr);
  for (const NativeRow &row : globalFunctions())
    scope->set(row.name, bindMethod(*this, Value::none(), row));
  ScopeGuard variables(*this, scope);
  for (const auto &[key, value] : context.entries())
    if (const Text *name = key.asText())
      scope->set(name->view(), value);
  ScopeGuard top(*this, scope);
  Text text;
  output = &text;
  Result<Flow> flow = run(body);
  if (!flow)
    return flow.status().withContext("line " + std::to_string(line));
  return text;
}

Result<Interpreter::Flow> Interpreter::run(const Body &body) {
  for (const auto &stmt : body) {
    FUSEC_ASSIGN_OR_RETURN(Flow flow, execute(*stmt));
    if (flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

Result<Interpreter::Flow> Interpreter::execute(const Stmt &stmt) {
  line = stmt.line;
  FUSEC_RETURN_IF_ERROR(spending.step());
  Status status;
  switch (stmt.kind) {
  case StmtKind::Data:
    status = emit(stmt.data);
    break;
  case StmtKind::Output: {
    FUSEC_ASSIGN_OR_RETURN(Value value, evaluate(*stmt.value));
    status = emit(value);
    break;
  }
  case StmtKind::If:
    return executeIf(stmt);
  case StmtKind::For: {
    FUSEC_ASSIGN_OR_RETURN(Value items, evaluate(*stmt.value));
    return executeFor(stmt, items, 0);
  }
  case StmtKind::Set:
    status = executeSet(stmt);
    break;
  case StmtKind::SetBlock:
    status = executeSetBlock(stmt);
    break;
  case StmtKind::Macro:
    status = executeMacro(stmt);
    break;
  case StmtKind::CallBlock:
    status = executeCallBlock(stmt);
    break;
  case StmtKind::FilterBlock:
    status = executeFilterBlock(stmt);
    break;
  case StmtKind::With:
    return executeWith(stmt);
  case StmtKind::Scope:
    return executeScope(stmt.body);
  case StmtKind::Break:
    return Flow::Break;
  case StmtKind::Continue:
    return Flow::Continue;
  }
  if (!status.ok())
    return status;
  return Flow::Next;
}

Status Interpreter::emit(const Value &value) {
  if (const Text *text = value.asText()) {
    output->append(*text);
  } else {
    FUSEC_ASSIGN_OR_RETURN(Text printed, toText(spending, value));
    output->append(printed);
  }
  if (static_cast<int64_t>(output->size()) > spending.limits.outputBytes)
    return resourceExhausted("the rendered text is longer than " + std::to_string(spending.limits.outputBytes) +
                             " bytes");
  return {};
}

Result<Interpreter::Flow> Interpreter::executeIf(const Stmt &stmt) {
  for (const Branch &branch : stmt.branches) {
    bool taken = true;
    if (branch.condition) {
      FUSEC_ASSIGN_OR_RETURN(Value condition, evaluate(*branch.condition));
      taken = condition.truthy();
    }
    if (taken)
      return run(branch.body);
  }
  return Flow::Next;
}

Result<Interpreter::Flow> Interpreter::executeFor(const Stmt &stmt, const Value &items, int64_t loopDepth) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> source, iterate(spending, items));
  auto loop = std::make_unique<Loop>(stmt, scope, std::move(source), loopDepth);
  Loop &running = *loop;
  // Only a body that mentions `loop` can keep the object beyond this statement.
  if (stmt.usesLoop)
    own(std::move(loop));
  return runRounds(stmt, running);
}

Result<Interpreter::Flow> Interpreter::runRounds(const Stmt &stmt, Loop &loop) {
  bool any = false;
  while (true) {
    FUSEC_ASSIGN_OR_RETURN(bool more, loop.advance(*this));
    if (!more)
      break;
    any = true;
    ScopeGuard round(*this, loop.outerScope());
    if (stmt.usesLoop)
      scope->set("loop", Value::object(&loop));
    FUSEC_RETURN_IF_ERROR(assign(*stmt.target, loop.current()));
    FUSEC_ASSIGN_OR_RETURN(Flow flow, run(stmt.body));
    if (flow == Flow::Break)
      break;
  }
  if (any)
    return Flow::Next;
  ScopeGuard guard(*this, loop.outerScope());
  return run(stmt.otherwise);
}

Result<bool> Interpreter::loopAccepts(const Stmt &stmt, Scope *outer, const Value &item) {
  if (!stmt.filter)
    return true;
  ScopeGuard guard(*this, outer);
  FUSEC_RETURN_IF_ERROR(assign(*stmt.target, item));
  FUSEC_ASSIGN_OR_RETURN(Value passes, evaluate(*stmt.filter));
  return passes.truthy();
}

Result<Value> Interpreter::callLoop(const Stmt &stmt, Scope *outer, const Value &items, int64_t loopDepth) {
  if (++depth > spending.limits.depth)
    return resourceExhausted("the template recurses deeper than " + std::to_string(spending.limits.depth));
  Text text;
  Text *previousOutput = std::exchange(output, &text);
  Scope *previousScope = std::exchange(scope, outer);
  Result<Flow> flow = executeFor(stmt, items, loopDepth);
  output = previousOutput;
  scope = previousScope;
  --depth;
  if (!flow)
    return flow.status();
  return makeText(spending, std::move(text));
}

Status Interpreter::executeSet(const Stmt &stmt) {
  FUSEC_ASSIGN_OR_RETURN(Value value, evaluate(*stmt.value));
  return assign(*stmt.target, std::move(value));
}

Status Interpreter::assign(const Expr &target, Value value) {
  if (target.kind == ExprKind::Tuple)
    return unpack(target, value);
  if (target.kind == ExprKind::Name) {
    scope->set(target.name, std::move(value));
    return {};
  }
  FUSEC_ASSIGN_OR_RETURN(Value holder, evaluateName(target));
  Namespace *space = holder.asObject() ? holder.asObject()->asNamespace() : nullptr;
  if (!space)
    return invalidArgument("cannot assign attribute on non-namespace object");
  space->content.set(Value::trusted(target.attribute), std::move(value));
  return {};
}

Status Interpreter::unpack(const Expr &target, const Value &value) {
  if (!iterable(value))
    return invalidArgument("cannot unpack non-iterable " + value.typeName() + " object");
  FUSEC_ASSIGN_OR_RETURN(std::vector<Value> items, iterate(spending, value));
  size_t wanted = target.items.size();
  if (items.size() > wanted)
    return invalidArgument("too many values to unpack (expected " + std::to_string(wanted) + ")");
  if (items.size() < wanted)
    return invalidArgument("not enough values to unpack (expected " + std::to_string(wanted) + ", got " +
                           std::to_string(items.size()) + ")");
  for (size_t i = 0; i < wanted; ++i)
    FUSEC_RETURN_IF_ERROR(assign(*target.items[i], std::move(items[i])));
  return {};
}

Result<Value> Interpreter::capture(const Body &body) {
  Text text;
  Text *previous = std::exchange(output, &text);
  Result<Flow> flow = executeScope(body);
  output = previous;
  if (!flow)
    return flow.status();
  return makeText(spending, std::move(text));
}

Result<Interpreter::Flow> Interpreter::executeScope(const Body &body) {
  ScopeGuard guard(*this, scope);
  return run(body);
}

Result<Value> Interpreter::filterContent(const Expr *filters, Value content) {
  Value previous = std::exchange(blockContent, std::move(content));
  Result<Value> result = evaluate(*filters);
  blockContent = std::move(previous);
  return result;
}

Status Interpreter::executeSetBlock(const Stmt &stmt) {
  FUSEC_ASSIGN_OR_RETURN(Value content, capture(stmt.body));
  FUSEC_ASSIGN_OR_RETURN(Value filtered, filterContent(stmt.value.get(), std::move(content)));
  return assign(*stmt.target, std::move(filtered));
}

Status Interpreter::executeFilterBlock(const Stmt &stmt) {
  FUSEC_ASSIGN_OR_RETURN(Value content, capture(stmt.body));
  FUSEC_ASSIGN_OR_RETURN(Value filtered, filterContent(stmt.value.get(), std::move(content)));
  return emit(filtered);
}

Result<Interpreter::Flow> Interpreter::executeWith(const Stmt &stmt) {
  std::vector<Value> values; // Evaluated outside the new scope.
  for (const auto &[target, value] : stmt.bindings) {
    FUSEC_ASSIGN_OR_RETURN(Value bound, evaluate(*value));
    values.push_back(std::move(bound));
  }
  ScopeGuard guard(*this, scope);
  for (size_t i = 0; i < values.size(); ++i)
    FUSEC_RETURN_IF_ERROR(assign(*stmt.bindings[i].first, std::move(values[i])));
  return run(stmt.body);
}

Value Interpreter::newMacro(const MacroDef &macro) {
  for (Scope *s = scope; s; s = s->parent)
    s->captured = true;
  return Value::object(own(std::make_unique<Macro>(macro, scope)));
}

Status Interpreter::executeMacro(const Stmt &stmt) {
  scope->set(stmt.macro->name, newMacro(*stmt.macro));
  return {};
}

Status Interpreter::executeCallBlock(const Stmt &stmt) {
  const Expr &callee = *stmt.value;
  FUSEC_ASSIGN_OR_RETURN(Value function, evaluate(*callee.items[0]));
  FUSEC_ASSIGN_OR_RETURN(Args args, evaluateArguments(callee.arguments));
  args.named.emplace_back("caller", newMacro(*stmt.macro));
  FUSEC_ASSIGN_OR_RETURN(Value text, call(function, std::move(args)));
  return emit(text);
}

Result<Value> Interpreter::callMacro(const MacroDef &macro, Scope *closure, Args args) {
  constexpr int kFrameWeight = 4; // A call uses more of the machine's stack than one expression.
  if ((depth += kFrameWeight) > spending.limits.depth)
    return resourceExhausted("the template recurses deeper than " + std::to_string(spending.limits.depth));
  Text text;
  Text *previous = std::exchange(output, &text);
  Status status;
  {
    ScopeGuard guard(*this, closure);
    status = bindMacro(macro, std::move(args), *scope);
    if (status.ok())
      status = run(macro.body).status();
  }
  output = previous;
  depth -= kFrameWeight;
  if (!status.ok())
    return status;
  return makeText(spending, std::move(text));
}

namespace {

/// Takes the named argument out of the list.
std::optional<Value> takeNamed(Args &args, std::string_view name) {
  for (size_t i = 0; i < args.named.size(); ++i) {
    if (args.named[i].first != name)
      continue;
    Value value = std::move(args.named[i].second);
    args.named.erase(args.named.begin() + static_cast<std::ptrdiff_t>(i));
    return value;
  }
  return std::nullopt;
}

} // namespace

Status Interpreter::bindMacro(const MacroDef &macro, Args args, Scope &frame) {
  const std::string shown = macro.name.empty() ? "None" : quotePython(macro.name);
  bool explicitCaller = false;
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const Parameter &parameter = macro.parameters[i];
    explicitCaller = explicitCaller || parameter.name == "caller";
    std::optional<Value> given =
        i < args.positional.size() ? std::optional(args.positional[i]) : takeNamed(args, parameter.name);
    if (!given && parameter.fallback) {
      FUSEC_ASSIGN_OR_RETURN(given, evaluate(*parameter.fallback));
    }
    frame.set(parameter.name, given
                                  ? std::move(*given)
                                  : Value::undefined("parameter " + quotePython(parameter.name) + " was not provided"));
  }
  if (macro.usesCaller && !explicitCaller) {
    std::optional<Value> caller = takeNamed(args, "caller");
    frame.set("caller", caller ? std::move(*caller) : Value::undefined("No caller defined"));
  }
  if (macro.usesKwargs) {
    Dict named;
    for (auto &[name, value] : args.named)
      named.set(Value::trusted(name), value);
    FUSEC_ASSIGN_OR_RETURN(Value kwargs, makeDict(spending, std::move(named)));
    frame.set("kwargs", std::move(kwargs));
  } else if (std::any_of(args.named.begin(), args.named.end(), [](const auto &n) { return n.first == "caller"; })) {
    return invalidArgument("macro " + shown +
                           " was invoked with two values for the special caller argument. This is most likely a bug.");
  } else if (!args.named.empty()) {
    return invalidArgument("macro " + shown + " takes no keyword argument " + quotePython(args.named[0].first));
  }
  size_t used = std::min(args.positional.size(), macro.parameters.size());
  if (macro.usesVarargs) {
    std::vector<Value> more(args.positional.begin() + static_cast<std::ptrdiff_t>(used), args.positional.end());
    FUSEC_ASSIGN_OR_RETURN(Value varargs, makeSequence(spending, SequenceKind::Tuple, std::move(more)));
    frame.set("varargs", std::move(varargs));
  } else if (args.positional.size() > used) {
    return invalidArgument("macro " + shown + " takes not more than " + std::to_string(macro.parameters.size()) +
                           " argument(s)");
  }
  return {};
}

} // namespace fusec::text::jinja
