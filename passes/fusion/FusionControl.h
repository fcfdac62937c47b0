//===- FusionControl.h - what the user says about single fusions ----------------------===//
//
// Every fusion that is legal is asked for here, in an order that depends on
// the graph alone. The answer is the cost model's unless a replayed plan says
// otherwise, and is no once the limit is used up (bisection). All that was
// asked and decided is kept by name, for reports and plans.
//
//   FusionControl control(options);
//   control.enter(block);                                     // once per graph
//   if (control.take({"epilogue", producer, consumer}, profitable)) ...
//   control.record(decision);                                 // every edge looked at
//   FUSEC_RETURN_IF_ERROR(control.finish());                  // the plan fitted the graph
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/fusion/Decision.h"
#include "passes/fusion/FusionHint.h"
#include "passes/fusion/FusionPlan.h"

#include "mlir/IR/Operation.h"

#include <map>
#include <string>
#include <vector>

namespace fusec {

/// What the user may say about fusion as a whole.
struct FusionOptions {
  bool enabled = true;       ///< False: one op, one kernel, nothing derived.
  bool derivation = true;    ///< False: nothing derived, grouping as usual.
  int64_t limit = -1;        ///< Take only the first so many fusions; negative: all.
  std::string plan = {};     ///< Text of a fusion plan to replay; empty: none. See docs/fusion-plan.md.
  std::string planName = {}; ///< The plan's file, for messages.
};

/// One fusion asked for: `kind` is derive, epilogue, prologue, inline, row, horizontal or side-by-side.
struct FusionCandidate {
  llvm::StringRef kind;
  mlir::Operation *producer = nullptr;
  mlir::Operation *consumer = nullptr;
  std::string reason = {}; ///< Why it is legal and worth it, for whoever looks at what was taken.
};

/// Who had the last word on a candidate.
enum class DecidedBy { Cost, Rule, Plan, Limit, Switch };

/// One fusion that was legal and asked for.
struct AskedFusion {
  FusionEdge edge;
  std::string reason;
  bool profitable = false, taken = false;
  DecidedBy by = DecidedBy::Cost;
};

/// A Decision by name: its ops may be gone when it is read.
struct DecisionRecord {
  FusionEdge edge;
  bool fused = false;
  std::string reason, obligation;
  std::optional<double> secondsSaved;
  mlir::DictionaryAttr proof;
  mlir::Type value; ///< What the producer hands over; null when it has no result.
};

class FusionControl {
public:
  /// A plan that cannot be read is reported by finish().
  explicit FusionControl(FusionOptions options);

  /// Makes the ops of a graph known, so that plan lines about them are not taken for typos.
  void enter(mlir::Block &block);
  /// Whether to take a legal fusion; `profitable` is what the cost model says.
  bool take(const FusionCandidate &candidate, bool profitable);
  /// Whether a user's rule may rewrite an op that it matches. Counts towards the limit; plans do not speak of it.
  bool takeRewrite(llvm::StringRef rule, mlir::Operation *op);
  /// How the last question ended, for reports: `reason`, or who overruled the cost model.
  std::string verdict(const std::string &reason) const;
  /// Call it before an op that was part of a question is erased.
  void forget(mlir::Operation *op) { hints.forget(op); }
  /// Keeps a decision for reports. Call it while the ops are alive.
  void record(const Decision &decision);

  /// After the last question: an error for a plan that cannot be read, for a line about ops that
  /// are not there, and for a `fuse` that is not legal.
  Status finish() const;

  /// Fusions taken so far.
  int64_t taken() const { return static_cast<int64_t>(takenOnes.size()); }
  /// One that was taken, by the model's names.
  struct Taken {
    std::string kind, producer, consumer, reason;
  };
  llvm::ArrayRef<Taken> log() const { return takenOnes; }
  llvm::ArrayRef<AskedFusion> asked() const { return questions; }
  llvm::ArrayRef<DecisionRecord> decisions() const { return records; }
  /// Lines of the plan that are in order but decided nothing, because of what other lines did.
  std::vector<std::string> idleLines() const;

private:
  bool fallsTo(bool wanted, DecidedBy &by, llvm::StringRef kind) const;
  Status checkLine(const PlanLine &line) const;
  bool wasAsked(const PlanLine &line) const;
  bool isKnown(llvm::StringRef pattern) const;
  Status unknownName(const PlanLine &line, llvm::StringRef pattern) const;
  std::vector<FusionEdge> knownEdges() const;
  bool connects(const PlanLine &line) const;
  Status lineError(const PlanLine &line, const std::string &what) const;

  FusionOptions options;
  HintedFusion hints; ///< What rules say about single fusions.
  FusionPlan plan;
  Status planError;
  std::vector<AskedFusion> questions;
  std::vector<DecisionRecord> records;
  std::vector<Taken> takenOnes;
  /// An op of an entered graph: whom it reads, and whether a value stays the same fusion through it.
  struct GraphOp {
    std::vector<std::string> producers;
    bool transparent = false; ///< Index-only or elementwise.
  };
  std::map<std::string, GraphOp, std::less<>> graph; ///< By unique name.
};

} // namespace fusec
