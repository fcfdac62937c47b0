//===- Ast.h - the parsed template -------------------------------------------===//
//
// Plain nodes, owned top-down. `depth` is the height of a node's tree; the
// parser refuses templates higher than kMaxTreeDepth, which bounds every
// recursion over the tree, its destruction included.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/jinja/Ops.h"
#include "runtime/text/jinja/Value.h"

#include <memory>
#include <string>
#include <vector>

namespace fusec::text::jinja {

inline constexpr int kMaxTreeDepth = 200;

enum class ExprKind {
  Constant,     ///< value
  Name,         ///< name
  NamespaceRef, ///< name.attribute as an assignment target; attribute
  List,         ///< items
  Tuple,        ///< items
  Dict,         ///< items: key, value, key, value, ...
  Attribute,    ///< items[0].attribute
  Item,         ///< items[0][items[1]]
  Slice,        ///< items[0][items[1]:items[2]:items[3]], null for a bound left out
  Call,         ///< items[0](arguments)
  Filter,       ///< items[0] | name(arguments)
  Test,         ///< items[0] is name(arguments)
  Negate,       ///< -items[0]
  Positive,     ///< +items[0]
  Not,          ///< not items[0]
  And,          ///< items[0] and items[1]
  Or,           ///< items[0] or items[1]
  Binary,       ///< items[0] op items[1]
  Concat,       ///< items joined by ~
  Compare,      ///< items[0] comparisons[0] items[1] comparisons[1] items[2] ...
  Conditional,  ///< items[0] if items[1] else items[2] (null without else)
  BlockContent, ///< what a `{% set %}` or `{% filter %}` block rendered
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Keyword {
  std::string name;
  ExprPtr value;
};

/// Arguments as written; the two spreads are `*x` and `**x`, null when absent.
struct Arguments {
  std::vector<ExprPtr> positional;
  std::vector<Keyword> named;
  ExprPtr spread, namedSpread;
};

struct Expr {
  ExprKind kind = ExprKind::Constant;
  int line = 1;
  int depth = 1;
  Value value;
  std::string name;
  std::string attribute;
  BinaryOp op = BinaryOp::Add;
  std::vector<CompareOp> comparisons;
  std::vector<ExprPtr> items;
  Arguments arguments;
};

enum class StmtKind {
  Data,
  Output,
  If,
  For,
  Set,
  SetBlock,
  Macro,
  CallBlock,
  FilterBlock,
  With,
  Scope,
  Break,
  Continue
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

struct Branch {
  ExprPtr condition; ///< Null for the else branch.
  Body body;
};

struct Parameter {
  std::string name;
  ExprPtr fallback; ///< Default value or null.
};

/// `{% macro %}` and the body of `{% call %}`.
struct MacroDef {
  std::string name; ///< Empty for a call block.
  std::vector<Parameter> parameters;
  Body body;
  bool usesVarargs = false, usesKwargs = false, usesCaller = false;
};

struct Stmt {
  StmtKind kind = StmtKind::Data;
  int line = 1;
  int depth = 1;
  Value data;     ///< Data: the text.
  ExprPtr target; ///< For, Set, SetBlock.
  ExprPtr value;  ///< Output, For (iterable), Set, CallBlock (call), SetBlock and FilterBlock (filters or null).
  ExprPtr filter; ///< For: the `if` of the loop.
  std::vector<Branch> branches;                      ///< If.
  std::vector<std::pair<ExprPtr, ExprPtr>> bindings; ///< With.
  Body body, otherwise;                              ///< otherwise: For's else.
  std::unique_ptr<MacroDef> macro;
  bool recursive = false, usesLoop = false;
};

} // namespace fusec::text::jinja
