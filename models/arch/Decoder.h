//===- Decoder.h - a model as a fuse graph ------------------------------------===//
//
// Builds the graph of one step of a llama-like decoder from an opened model.
// The function `@step` takes, by the argument attribute `fuse.name`:
//
//   tokens, positions, sequences  i32 [ragged(T)]   this step's tokens, packed
//   output_rows                   i32 [sym(R)]      rows that are wanted
//   k.<layer>, v.<layer>          f32 [sym(S), paged(C), kvHeads, headDim], stored as asked
//
// and returns what it was built for, named by the result attribute `fuse.name`:
//
//   logits                        f32 [sym(R), vocab]
//   hidden                        f32 [sym(R), hidden], behind the last norm: the head is not computed
//
//
//===----------------------------------------------------------------------===//
#pragma once

#include "models/import/Model.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace fusec::models {

/// What a graph returns.
enum class GraphResult { Logits, Hidden };

/// The module with `@step`. The weights are named, not copied: `model` is
/// needed again when the artifact is written. Locations carry the file's own
/// tensor names. `cacheType` says how keys and values are stored: F32, F16 or BF16.
mlir::OwningOpRef<mlir::ModuleOp> buildGraph(mlir::MLIRContext &context, const Model &model,
                                             StorageType cacheType = StorageType::F32,
                                             GraphResult result = GraphResult::Logits);

} // namespace fusec::models
