//===- Interpreter.h - runs a parsed template --------------------------------===//
//
// One Interpreter renders one template once. It owns every object and every
// captured scope until it is destroyed, so values may refer to them freely.
//
//   Budget budget(limits);
//   Interpreter interpreter(budget, clock);
//   FUSEC_ASSIGN_OR_RETURN(Text text, interpreter.render(body, context));
//
// Threading: one thread; several Interpreters may share one parsed template.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/jinja/Ast.h"
#include "runtime/text/jinja/Object.h"

#include <ctime>

namespace fusec::text::jinja {

class Loop;

/// Variables of one frame. `parent` is where a name not found here is looked up.
struct Scope {
  Scope *parent = nullptr;
  std::vector<std::pair<std::string, Value>> variables;
  bool captured = false; ///< A macro refers to it: it must outlive its block.

  const Value *find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

class Interpreter {
public:
  Interpreter(Budget &budget, const std::tm &now);

  /// Renders `body` with the variables of `context`. Errors are "line N: what".
  Result<Text> render(const Body &body, const Dict &context);

  Budget &budget() { return spending; }
  const std::tm &now() const { return clock; }

  /// Keeps an object alive until the rendering ends.
  Object *own(std::unique_ptr<Object> object) {
    constexpr int64_t kObjectBytes = 192;
    spending.allocateLater(kObjectBytes);
    objects.push_back(std::move(object));
    return objects.back().get();
  }

  Result<Value> call(const Value &callee, Args args);
  /// value.name as Jinja looks it up: an attribute or method first, then an item.
  Result<Value> getAttribute(const Value &value, std::string_view name);
  /// value[key] as Jinja looks it up: an item first, then an attribute.
  Result<Value> getItem(const Value &value, const Value &key);
  Result<Value> applyFilter(const std::string &name, const Value &input, Args args);
  Result<bool> applyTest(const std::string &name, const Value &input, Args args);

  Result<Value> callMacro(const MacroDef &macro, Scope *closure, Args args);
  /// Renders a `recursive` loop over other items: what `loop(items)` does.
  Result<Value> callLoop(const Stmt &stmt, Scope *outer, const Value &items, int64_t depth);
  /// Whether the loop's own `if` lets `item` through.
  Result<bool> loopAccepts(const Stmt &stmt, Scope *outer, const Value &item);

private:
  friend class ScopeGuard;
  enum class Flow { Next, Break, Continue };

  Result<Flow> run(const Body &body);
  Result<Flow> execute(const Stmt &stmt);
  Result<Flow> executeIf(const Stmt &stmt);
  Result<Flow> executeFor(const Stmt &stmt, const Value &items, int64_t depth);
  Result<Flow> runRounds(const Stmt &stmt, Loop &loop);
  Status executeSet(const Stmt &stmt);
  Status executeSetBlock(const Stmt &stmt);
  Status executeMacro(const Stmt &stmt);
  Status executeCallBlock(const Stmt &stmt);
  Status executeFilterBlock(const Stmt &stmt);
  Result<Flow> executeWith(const Stmt &stmt);
  Result<Flow> executeScope(const Body &body);

  Status emit(const Value &value);
  /// Runs `body` in its own scope and returns what it printed.
  Result<Value> capture(const Body &body);
  Result<Value> filterContent(const Expr *filters, Value content);
  Status assign(const Expr &target, Value value);
  Status unpack(const Expr &target, const Value &value);
  Status bindMacro(const MacroDef &macro, Args args, Scope &scope);
  Value newMacro(const MacroDef &macro);

  Result<Value> evaluate(const Expr &expr);
  Result<Value> dispatch(const Expr &expr);
  Result<Value> evaluateName(const Expr &expr);
  Result<Value> evaluateItems(const Expr &expr, SequenceKind kind);
  Result<Value> evaluateDict(const Expr &expr);
  Result<Value> evaluateItem(const Expr &expr);
  Result<Value> evaluateSlice(const Expr &expr);
  Result<Value> evaluateCall(const Expr &expr);
  Result<Value> evaluateFilter(const Expr &expr);
  Result<Value> evaluateTest(const Expr &expr);
  Result<Value> evaluateLogical(const Expr &expr);
  Result<Value> evaluateUnary(const Expr &expr);
  Result<Value> evaluateBinary(const Expr &expr);
  Result<Value> evaluateConcat(const Expr &expr);
  Result<Value> evaluateCompare(const Expr &expr);
  Result<Value> evaluateConditional(const Expr &expr);
  Result<Value> evaluateOptional(const ExprPtr &expr);
  Result<Args> evaluateArguments(const Arguments &arguments);

  Result<std::optional<Value>> ownAttribute(const Value &value, std::string_view name);

  Scope *pushScope(Scope *parent);
  void popScope();

  Budget &spending;
  const std::tm clock;
  std::vector<std::unique_ptr<Object>> objects;
  std::vector<std::unique_ptr<Scope>> scopes; ///< Open frames, innermost last.
  std::vector<std::unique_ptr<Scope>> kept;   ///< Closed frames that macros still use.
  Scope *scope = nullptr;
  Text *output = nullptr;
  Value blockContent;
  int line = 1;
  int depth = 0;
};

/// Opens a scope and makes it current; restores the previous one when it ends.
class ScopeGuard {
public:
  ScopeGuard(Interpreter &i, Scope *parent) : interpreter(i), previous(i.scope) { i.scope = i.pushScope(parent); }
  ~ScopeGuard() {
    interpreter.popScope();
    interpreter.scope = previous;
  }
  ScopeGuard(const ScopeGuard &) = delete;
  ScopeGuard &operator=(const ScopeGuard &) = delete;

private:
  Interpreter &interpreter;
  Scope *previous;
};

/// "list object", "None", "jinja2.utils.Namespace object": how undefined messages name a value.
std::string objectTypeName(const Value &value);

} // namespace fusec::text::jinja
