//===- Loop.h - the `loop` variable ------------------------------------------===//
//
// A running `for`: the items it still has to look at, those its `if` accepted,
// and everything `loop.` offers. Items are accepted one by one, so a loop's
// condition sees what earlier rounds changed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/jinja/Ast.h"
#include "runtime/text/jinja/Object.h"

namespace fusec::text::jinja {

struct Scope;

class Loop final : public Object {
public:
  Loop(const Stmt &s, Scope *o, std::vector<Value> items, int64_t d)
      : stmt(s), outer(o), source(std::move(items)), depth0(d) {}

  std::string typeName() const override { return "LoopContext"; }
  bool callable() const override { return true; }
  Result<Value> call(Interpreter &interpreter, Args args) override;
  Result<std::optional<Value>> attribute(Interpreter &interpreter, std::string_view name) override;

  /// Moves to the next round; false when there is none.
  Result<bool> advance(Interpreter &interpreter);
  const Value &current() const { return accepted[static_cast<size_t>(index0)]; }
  Scope *outerScope() const { return outer; }
  int64_t depth() const { return depth0; }

  // What the attributes and methods of `loop` compute; used by the tables in Loop.cpp.
  Result<int64_t> length(Interpreter &interpreter);
  Result<Value> neighbour(Interpreter &interpreter, int64_t offset, const char *missing);
  Result<Value> changed(Interpreter &interpreter, std::vector<Value> values);
  int64_t position() const { return index0; }

private:
  /// Looks at items until `count` are accepted; true when there are that many.
  Result<bool> fetch(Interpreter &interpreter, size_t count);

  const Stmt &stmt;
  Scope *outer;
  std::vector<Value> source, accepted;
  size_t looked = 0;
  int64_t index0 = -1, depth0;
  std::optional<Value> lastChanged;
};

} // namespace fusec::text::jinja
