//===- FusionHint.h - what a user's rules say about single fusions --------------------===//
//
// A hint is an attribute of the ops it speaks about, so that it is seen in
// dumps, survives a resumed compile and needs no table beside the graph:
//
//   fuse.hints = [#{kind = "keep_apart", pair = 3 : i64, rule = "no_gate"}]
//
// Two ops of one pair number belong to one hint. `HintedFusion` answers for
// the fusions that hints speak about and follows which ops end up together,
// so that two ops kept apart do not meet in a kernel through a third.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <map>
#include <optional>
#include <string>

namespace fusec {

struct FusionCandidate;

enum class HintKind {
  KeepApart,   ///< Two ops never share a kernel.
  ForceGroup,  ///< Two ops share a kernel wherever that is legal, whatever it costs.
  ForceInline, ///< The op is recomputed in its readers wherever that is legal.
  KeepStored,  ///< The op is never recomputed in its readers.
};

/// The name in the IR and in rules.
llvm::StringRef hintName(HintKind kind);

/// Marks `ops` (one or two, by `kind`) with a hint of the rule `rule`; `pair` is fresh per call.
void addHint(HintKind kind, llvm::ArrayRef<mlir::Operation *> ops, int64_t pair, llvm::StringRef rule);
/// Removes all hints at and below `root`.
void clearHints(mlir::Operation *root);

/// What the hints say about one fusion.
struct HintAnswer {
  bool fuse = false;
  std::string reason; ///< Names the rule.
};

class HintedFusion {
public:
  /// The hints' answer for a legal fusion; nothing when no hint speaks about it.
  std::optional<HintAnswer> answer(const FusionCandidate &candidate) const;
  /// Remembers that a fusion was taken.
  void taken(const FusionCandidate &candidate);

  /// An op is about to be erased.
  void forget(mlir::Operation *op);

private:
  using Pairs = std::map<int64_t, std::string>; ///< Pair number to rule.

  Pairs apartPairs(mlir::Operation *op) const;

  llvm::EquivalenceClasses<mlir::Operation *> kernels;       ///< Ops joined so far.
  llvm::DenseMap<mlir::Operation *, Pairs> recomputedInside; ///< Apart pairs of ops recomputed in the key.
};

} // namespace fusec
