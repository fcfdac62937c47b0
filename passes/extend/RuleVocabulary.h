//===- RuleVocabulary.h - what rules may ask and do beyond PDL ----------------------------===//
//
// PDL matches ops, operands, types and attributes. Bodies of maps, names from
// the model file and the grouping are out of its reach; the functions listed
// here reach them. One table row per function: a rule file is checked against
// the rows before anything runs, and docs/extending/rules.md is tested
// against them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace fusec {

class FusionControl;

/// What a native function sees of the rule that calls it, and where it says what went wrong.
struct RuleContext {
  mlir::ModuleOp file;              ///< Owns the functions that rules name.
  std::string rule;                 ///< The rule that is being applied.
  std::string error;                ///< Set by a rewrite that cannot do what it is asked.
  int64_t nextPair = 0;             ///< Numbers the hints.
  FusionControl *control = nullptr; ///< Counts rewrites and limits them (bisection); null: all are made.
};

/// A kind of argument, as written in `NativeFunction::arguments`.
enum class ArgumentKind : char {
  Operation = 'o', ///< `!pdl.operation`
  Value = 'v',     ///< `!pdl.value`
  Values = '*',    ///< Any number of `!pdl.value` and `!pdl.range<value>`.
  String = 's',    ///< A constant string attribute.
  Function = 'f',  ///< A constant symbol: a function of the rule file.
};

struct NativeFunction {
  enum class Use { Constraint, Rewrite, Hint } use;
  llvm::StringLiteral name;
  llvm::StringLiteral arguments; ///< One ArgumentKind each.
  bool givesOperation;           ///< Whether it returns the op it made.
  mlir::LogicalResult (*call)(RuleContext &, mlir::PatternRewriter &, mlir::PDLResultList &,
                              llvm::ArrayRef<mlir::PDLValue>);
};

/// All functions, constraints first.
llvm::ArrayRef<NativeFunction> ruleVocabulary();
/// The function of this name and use (hints are found as rewrites); null when there is none.
const NativeFunction *findNative(llvm::StringRef name, bool constraint);
/// "named(operation, string)", for messages.
std::string signatureOf(const NativeFunction &function);

} // namespace fusec
