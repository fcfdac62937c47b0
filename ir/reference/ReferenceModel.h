//===- ReferenceModel.h - a graph driven token by token -----------------------===//
//
// Holds a model's graph, its weights and the caches of some sequences, and
// builds the inputs of each step as the runtime would:
//
//   ReferenceModel model = *ReferenceModel::create(func, env, Precision::F64);
//   Tensor all = *model.logits({1, 15, 3});     // [3, vocab]
//   Tensor next = *model.logits({7});           // [1, vocab], after the three above
//
// The graph's arguments carry `fuse.name`: tokens, positions, sequences and
// output_rows; every argument with a paged dimension is a cache. It returns
// logits [R, vocab]. The module must outlive the model. Threading: one at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/Interpreter.h"
#include "ir/reference/SequenceHistory.h"

namespace fusec::reference {

class ReferenceModel {
public:
  /// `environment.page` > 0 rounds the context C of each step up to whole pages.
  /// InvalidArgument when an argument has no known name or an unexpected type.
  static Result<ReferenceModel> create(mlir::func::FuncOp graph, Environment environment, Precision precision,
                                       int64_t sequences = 1);

  /// Appends the chunks to their sequences; logits [R, vocab] in the order of the tokens.
  Result<Tensor> step(llvm::ArrayRef<Chunk> chunks, LogitRows rows = LogitRows::All);
  /// The same for sequence 0.
  Result<Tensor> logits(llvm::ArrayRef<int32_t> tokens, LogitRows rows = LogitRows::All);

  /// Tokens that a sequence holds.
  int64_t length(int64_t sequence) const { return history.length(sequence); }
  /// Cuts a sequence back to its first `length` tokens.
  void truncate(int64_t sequence, int64_t length) { history.truncate(sequence, length); }

private:
  enum class Role : uint8_t { Tokens, Positions, Sequences, OutputRows, Cache };
  struct Argument {
    Role role;
    Tensor cache; ///< [S, capacity, H, D]
  };

  ReferenceModel(mlir::func::FuncOp graph, Environment environment, Precision precision, int64_t sequences)
      : graph(graph), environment(std::move(environment)), precision(precision), history(sequences) {}
  static Result<Role> roleOf(mlir::func::FuncOp graph, unsigned argument);
  Status growCache(mlir::Type type, Tensor &cache, int64_t context);

  mlir::func::FuncOp graph;
  Environment environment;
  Precision precision;
  SequenceHistory history;
  std::vector<Argument> arguments;
};

} // namespace fusec::reference
