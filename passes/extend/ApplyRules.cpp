//===- ApplyRules.cpp ---------------------------------------------------------------------===//
//
// 1. All ops wait in a list, in graph order.
// 2. The first op is taken; the first rule that matches it, by benefit, is
//    applied. What it made, changed or left dead goes through the verifier,
//    back into the list, or away.
// 3. Until the list is empty, or a rule has been applied more often than any
//    rule that ends can be.
//
//===----------------------------------------------------------------------===//
#include "passes/extend/ApplyRules.h"

#include "passes/fusion/FusionControl.h"
#include "passes/fusion/FusionHint.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace fusec {

namespace {

/// Ops in the order they came in, each once; removal is cheap.
class WaitingOps {
public:
  void add(Operation *op) {
    if (places.try_emplace(op, ops.size()).second)
      ops.push_back(op);
  }
  void remove(Operation *op) {
    if (auto place = places.find(op); place != places.end()) {
      ops[place->second] = nullptr;
      places.erase(place);
    }
  }
  /// The next op, or null.
  Operation *next() {
    while (front < ops.size()) {
      Operation *op = ops[front++];
      if (op) {
        places.erase(op);
        return op;
      }
    }
    return nullptr;
  }

private:
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> places;
  size_t front = 0;
};

/// Declines what PDL lets a rule ask for and MLIR only asserts, and keeps the reason. A rewrite that
/// fails ends the compilation, so nothing needs to be undone.
class RuleRewriter : public PatternRewriter {
public:
  RuleRewriter(MLIRContext *context, std::string &error) : PatternRewriter(context), error(error) {}

  bool canRecoverFromRewriteFailure() const override { return true; }

  void eraseOp(Operation *op) override {
    if (op->hasTrait<OpTrait::IsTerminator>() || isa<FunctionOpInterface>(op))
      return decline(op, "cannot be erased");
    if (!op->use_empty())
      return decline(op, "cannot be erased while its result is used; replace it");
    PatternRewriter::eraseOp(op);
  }
  void replaceOp(Operation *op, ValueRange values) override {
    if (op->getNumResults() != values.size())
      return decline(op, "has " + std::to_string(op->getNumResults()) + " results, found " +
                             std::to_string(values.size()) + " values to replace it");
    PatternRewriter::replaceOp(op, values);
  }
  void replaceOp(Operation *op, Operation *by) override { replaceOp(op, by->getResults()); }

private:
  void decline(Operation *op, const std::string &why) { error = "'" + op->getName().getStringRef().str() + "' " + why; }

  std::string &error;
};

class RuleRun : public RewriterBase::Listener {
public:
  RuleRun(ModuleOp module, RuleFile &file)
      : module(module), file(file), rewriter(module.getContext(), file.state().error) {
    rewriter.setListener(this);
    int64_t ops = 0;
    module.walk([&](Operation *op) {
      ++ops;
      if (op != module.getOperation())
        waiting.add(op);
    });
    // A rule that shrinks or simplifies is applied to an op a few times at most.
    limit = std::max<int64_t>(1000, 4 * ops);
    for (Rule &rule : file.rules())
      applicators.push_back(std::make_unique<PatternApplicator>(rule.pattern)),
          applicators.back()->applyDefaultCostModel();
    counts.resize(file.rules().size());
  }

  LogicalResult rewriteToEnd() {
    while (Operation *op = waiting.next())
      for (auto [i, rule] : llvm::enumerate(file.rules())) {
        if (rule.hints)
          continue;
        FailureOr<bool> applied = apply(i, op);
        if (failed(applied))
          return failure();
        if (!*applied)
          continue;
        if (++counts[i] > limit)
          return error(rule) << "was applied " << counts[i] << " times and still matches; it would never end";
        break;
      }
    return success();
  }

  LogicalResult placeHints() {
    while (Operation *op = waiting.next())
      for (auto [i, rule] : llvm::enumerate(file.rules()))
        if (rule.hints && failed(apply(i, op)))
          return failure();
    // Hints are placed several times over; the graph with the most matches counts.
    for (auto [rule, count] : llvm::zip(file.rules(), counts))
      if (rule.hints)
        rule.matches = std::max(rule.matches, count);
    return success();
  }

private:
  InFlightDiagnostic error(const Rule &rule) { return emitError(rule.location) << "rule '" << rule.name << "' "; }

  /// Tries one rule at one op: whether it matched, or failure with an error emitted.
  FailureOr<bool> apply(size_t index, Operation *op) {
    Rule &rule = file.rules()[index];
    file.state().rule = rule.name;
    file.state().error.clear();
    touched.clear();
    rewriter.setInsertionPoint(op);
    // Asked once the pattern of a rule has matched, and before it rewrites.
    auto allowed = [&](const Pattern &) {
      FusionControl *control = rule.hints ? nullptr : file.state().control;
      return !control || control->takeRewrite(rule.name, op);
    };
    bool matched = succeeded(applicators[index]->matchAndRewrite(op, rewriter, allowed));
    if (!file.state().error.empty()) {
      error(rule) << "failed: " << file.state().error;
      return failure();
    }
    if (!matched)
      return false;
    if (rule.hints)
      ++counts[index];
    else
      ++rule.matches;
    if (failed(settle(rule)))
      return failure();
    return true;
  }

  /// Checks what a rule touched, and puts its surroundings back into the list.
  LogicalResult settle(Rule &rule) {
    eraseDead();
    for (Operation *op : touched) {
      if (failed(check(rule, op)))
        return failure();
      waiting.add(op);
      for (Operation *user : op->getUsers())
        waiting.add(user);
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp())
          waiting.add(def);
    }
    return success();
  }

  LogicalResult check(Rule &rule, Operation *op) {
    std::string reason = orderObstacle(op);
    if (reason.empty()) {
      ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &d) {
        if (reason.empty())
          reason = d.str();
        return success();
      });
      // The op, and the map whose body it is in.
      if (succeeded(verify(op)) &&
          (isa<ModuleOp, FunctionOpInterface>(op->getParentOp()) || succeeded(verify(op->getParentOp()))))
        return success();
    }
    return error(rule) << "wrote IR that does not verify: " << reason;
  }

  /// PDL lets a rewrite use any value it matched, wherever that is.
  static std::string orderObstacle(Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && def->getBlock() == op->getBlock() && !def->isBeforeInBlock(op))
        return "'" + op->getName().getStringRef().str() + "' uses a value that is computed after it";
    return "";
  }

  void eraseDead() {
    while (!perhapsDead.empty()) {
      Operation *op = perhapsDead.pop_back_val();
      if (isOpTriviallyDead(op))
        rewriter.eraseOp(op);
    }
  }

  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { touched.insert(op); }
  void notifyOperationModified(Operation *op) override { touched.insert(op); }
  void notifyOperationErased(Operation *op) override {
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        perhapsDead.insert(def);
    touched.remove(op);
    waiting.remove(op);
    perhapsDead.remove(op);
  }

  ModuleOp module;
  RuleFile &file;
  RuleRewriter rewriter;
  WaitingOps waiting;
  llvm::SetVector<Operation *> touched, perhapsDead;
  std::vector<std::unique_ptr<PatternApplicator>> applicators; ///< By rule.
  std::vector<int64_t> counts;                                 ///< Matches of this run, by rule.
  int64_t limit = 0;
};

} // namespace

LogicalResult applyRewritingRules(ModuleOp module, ArrayRef<RuleFile *> files) {
  for (RuleFile *file : files)
    if (failed(RuleRun(module, *file).rewriteToEnd()))
      return failure();
  return success();
}

LogicalResult placeHints(ModuleOp module, ArrayRef<RuleFile *> files) {
  clearHints(module);
  int64_t pair = 0;
  for (RuleFile *file : files) {
    file->state().nextPair = pair;
    if (failed(RuleRun(module, *file).placeHints()))
      return failure();
    pair = file->state().nextPair;
  }
  return success();
}

} // namespace fusec
