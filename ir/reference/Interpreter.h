//===- Interpreter.h - runs fuse graphs, slowly and readably ------------------===//
//
// The oracle: one free function per op (Ops/), found in a table by name. Sugar
// ops are evaluated from their definition, not through their decomposition.
//
//   Environment env;
//   env.symbols["T"] = 3;
//   env.weight = ...;
//   FUSEC_ASSIGN_OR_RETURN(auto outputs, interpretGraph(func, inputs, env, Precision::F64));
//
// Symbols that `env` lacks take the extents of the inputs. `fuse.kv_append`
// writes into the storage of the cache tensor that was passed in, so the caller
// sees it. Errors name the op and its location. Threading: one call at a time
// per Environment.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/Precision.h"
#include "ir/reference/Tensor.h"

#include "ir/fuse/FuseDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <memory>

namespace fusec::reference {

struct Environment {
  /// Values of the size symbols (T, S, B, R, C, ...).
  llvm::StringMap<int64_t> symbols;
  /// A stored tensor of the model by name, decoded.
  std::function<Result<Tensor>(llvm::StringRef name)> weight;
  /// Positions per cache page (tile and plan level).
  int64_t page = 0;
  /// Decoded and stacked weights, by their joined names; copies of an Environment share it.
  std::shared_ptr<llvm::StringMap<Tensor>> decoded = std::make_shared<llvm::StringMap<Tensor>>();

  /// Decoded tensors stacked along dimension 0, kept for later calls. NotFound without `weight`.
  Result<Tensor> stackedWeight(mlir::ArrayAttr names);
  /// The extents of dimensions; NotFound for a symbol without value.
  Result<Shape> extents(llvm::ArrayRef<fuse::Dim> dims) const;
  /// Gives symbols without value the extents of `shape`; InvalidArgument when it does not fit
  /// `dims`.
  Status bind(llvm::ArrayRef<fuse::Dim> dims, llvm::ArrayRef<int64_t> shape, const std::string &what);
};

/// Runs a function of fuse ops on one tensor per argument; gives one per returned value.
Result<std::vector<Tensor>> interpretGraph(mlir::func::FuncOp func, llvm::ArrayRef<Tensor> inputs,
                                           const Environment &environment, Precision precision);

/// The values of one run, for the op functions.
class GraphFrame {
public:
  GraphFrame(Environment environment, Precision precision)
      : environment(std::move(environment)), precision(precision) {}

  const Tensor &get(mlir::Value value) const { return values.find(value)->second; }
  /// Element and shape must be those of the value's type.
  void set(mlir::Value value, Tensor tensor) { values[value] = std::move(tensor); }
  /// A zeroed tensor of the value's type under the current symbols.
  Result<Tensor> make(mlir::Value value) const;
  Result<Shape> extents(mlir::Value value) const;

  Environment environment;
  const Precision precision;

private:
  llvm::DenseMap<mlir::Value, Tensor> values;
};

} // namespace fusec::reference
