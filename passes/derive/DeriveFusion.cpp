//===- DeriveFusion.cpp - dependent reductions in one loop ---------------------===//
//
// 1. Mean and variance become one reduction (Moments.h).
// 2. Row factors move behind the sums they scale (LinearMaps.h).
// 3. A reduction whose elements use the row value of another over the same
//    dimension joins its loop when a repair can be derived (Separation.h); each
//    obligation is discharged or named.
// 4. Reductions of one product that do not depend on each other join too.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/derive/LinearMaps.h"
#include "passes/derive/Moments.h"
#include "passes/derive/Normalise.h"
#include "passes/derive/Obligations.h"
#include "passes/fusion/Decision.h"
#include "passes/fusion/FusionControl.h"
#include "passes/fusion/Remark.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace fusec {
#define GEN_PASS_DEF_FUSEDERIVEPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;
using namespace fusec::fuse;

namespace {

class Deriver {
public:
  Deriver(func::FuncOp function, FusionControl &control) : function(function), control(control) {}

  void run() {
    normaliseUnitDims(function);
    control.enter(function.getBody().front());
    for (ReduceOp op : llvm::to_vector(function.getOps<ReduceOp>()))
      considerMoments(op);
    for (ContractOp op : llvm::to_vector(function.getOps<ContractOp>()))
      while (considerMove(op) || openOperand(op)) // one map at a time
        ;
    eraseDead();
    considerRepairs();
    for (ReduceOp op : function.getOps<ReduceOp>())
      considerCompany(op);
  }

private:
  void decide(Operation *producer, Operation *consumer, bool fused, const Twine &reason, DictionaryAttr proof = {}) {
    Decision decision{producer, consumer, "derive", fused, reason.str()};
    decision.proof = proof;
    if (!fused)
      decision.obligation = StringRef(decision.reason).split(':').first.str();
    control.record(decision);
    reportFusion(decision);
  }

  //===--------------------------------------------------------------------===//
  // Mean and variance
  //===--------------------------------------------------------------------===//

  void considerMoments(ReduceOp op) {
    std::string obstacle;
    std::optional<Moments> moments = findMoments(op, obstacle);
    if (!moments) {
      if (!obstacle.empty())
        decide(op, op, false, obstacle);
      return;
    }
    std::string figures = "one pass: shifted sums lose at most a factor of the row's length in precision";
    if (!control.take({"derive", moments->sum, op, figures}, true))
      return decide(moments->sum, op, false, "legal, but switched off by the fusion plan or limit");
    decide(moments->sum, op, true, figures);
    joinMoments(*moments, [&](Operation *dead) { control.forget(dead); });
  }

  //===--------------------------------------------------------------------===//
  // Row factors
  //===--------------------------------------------------------------------===//

  /// Whether a map's row factors moved.
  bool considerMove(ContractOp op) {
    std::string obstacle;
    std::optional<RowFactors> factors = findRowFactors(op, obstacle);
    if (!factors) {
      // A row value of the same loop gets its answer when repairs are derived.
      std::string ignored;
      std::optional<Reduction> r = memberReduction(op);
      bool sameLoop = r && !rowValuesOf(*r, ignored).empty();
      Operation *operand = op.getLhs().getDefiningOp() ? op.getLhs().getDefiningOp() : op;
      if (!obstacle.empty() && !sameLoop)
        decide(operand, op, false, "separable: " + obstacle);
      return false;
    }
    Gain gain = gainOfMoving(op, *factors);
    bool allowed = op.getNumerics().getOrder() == Order::Any;
    if (!allowed)
      decide(factors->reduction, op, false,
             "numerics: moving the row factor behind the sum reassociates it, which its order forbids");
    else if (!control.take({"derive", factors->reduction, op, gain.figures}, gain.profitable))
      decide(factors->reduction, op, allowed = false, "cost: " + gain.figures);
    if (!allowed) {
      keptFactors.insert(op);
      return false;
    }
    decide(factors->reduction, op, true, "the row factor moves behind the sum: " + gain.figures);
    moveBehindSum(op, *factors);
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Repair
  //===--------------------------------------------------------------------===//

  /// A reduction that can share the loop of another.
  struct Candidate {
    Operation *op = nullptr, *root = nullptr;
    Derivation derivation;
    Gain gain;
  };

  void considerRepairs() {
    llvm::MapVector<Operation *, std::vector<Candidate>> byRoot;
    for (Operation &op : function.getBody().front())
      if (isa<ReduceOp, ContractOp>(op))
        if (std::optional<Candidate> candidate = candidateFor(&op))
          byRoot[candidate->root].push_back(std::move(*candidate));
    for (auto &[root, candidates] : byRoot)
      decideLoop(root, candidates);
  }

  std::optional<Candidate> candidateFor(Operation *op) {
    std::optional<Reduction> reduction = memberReduction(op);
    if (!reduction)
      return std::nullopt;
    std::string obstacle;
    SmallVector<Value> rows = rowValuesOf(*reduction, obstacle);
    if (rows.empty())
      return std::nullopt;
    Operation *root = reductionBehind(rows.front());
    if (obstacle.empty() && rows.size() > 1)
      obstacle = "separable: the elements use " + std::to_string(rows.size()) + " row values, expected one";
    Derivation derivation;
    if (obstacle.empty()) {
      derivation = derive(*reduction, rows.front(), cast<ReduceOp>(root));
      obstacle = derivation.obstacle;
    }
    if (!obstacle.empty()) {
      // Where the row factor was left in place, the edge has its answer.
      if (!keptFactors.contains(op))
        decide(root, op, false, obstacle);
      return std::nullopt;
    }
    return Candidate{op, root, derivation, gainOfSharing(*reduction)};
  }

  /// Takes the reductions that join a root's loop, all that were allowed or none.
  void decideLoop(Operation *root, ArrayRef<Candidate> candidates) {
    SmallVector<const Candidate *> taken;
    SmallVector<Operation *> members = {root};
    for (const Candidate &c : candidates) {
      if (control.take({"derive", root, c.op, c.gain.figures}, c.gain.profitable)) {
        taken.push_back(&c);
        members.push_back(c.op);
      } else {
        decide(root, c.op, false, "cost: " + c.gain.figures);
      }
    }
    bool closed = isClosed(cascadeOf(0, members));
    for (const Candidate *c : taken) {
      if (!closed) {
        decide(root, c->op, false,
               "residency: elements between the reductions are also read outside the loop, or come from its end");
        continue;
      }
      decide(root, c->op, true, c->derivation.summary(), c->derivation.attribute(root->getContext()));
      c->derivation.attach(c->op);
      join(root, root);
      join(c->op, root);
    }
  }

  /// Whether all that lies between the members is computed for the loop alone (an element that uses a row
  /// value of the running loop means nothing to others), and nothing the loop needs waits for its end.
  static bool isClosed(const Cascade &cascade) {
    for (const CascadeMember &member : cascade.members) {
      SmallVector<Value> pending = {member.reduction.element};
      while (!pending.empty()) {
        auto map = pending.pop_back_val().getDefiningOp<MapOp>();
        if (!map || isRowValue(map, cascade) || !usesRowOf(map, cascade))
          continue;
        if (!cascade.isPrologue(map))
          return false;
        llvm::append_range(pending, map.getInputs());
      }
    }
    auto waits = [&](Operation *op) {
      return llvm::any_of(op->getOperands(), [&](Value v) { return waitsForEnd(v, cascade); });
    };
    return llvm::none_of(cascade.members, [&](const CascadeMember &m) { return waits(m.reduction.op); }) &&
           llvm::none_of(cascade.prologue, waits);
  }

  /// Whether a value that the loop reads comes from a finished member by way of another kernel.
  static bool waitsForEnd(Value value, const Cascade &cascade) {
    Operation *def = value.getDefiningOp();
    if (!def || cascade.isMember(def) || cascade.isPrologue(def))
      return false;
    auto map = dyn_cast<MapOp>(def);
    if (map && isRowValue(map, cascade))
      return llvm::any_of(map.getInputs(), [&](Value v) { return waitsForEnd(v, cascade); });
    return dependsOn(def, cascade);
  }

  static bool isRowValue(MapOp map, const Cascade &cascade) {
    return cast<GraphTensorType>(map.getType()).getDims() == ArrayRef<Dim>(cascade.rows);
  }

  static bool usesRowOf(MapOp map, const Cascade &cascade) {
    return llvm::any_of(map.getInputs(), [&](Value input) {
      Operation *behind = reductionBehind(input);
      return behind && cascade.isMember(behind);
    });
  }

  /// Ops that rewrites left without a reader would count as readers of what the loops compute.
  void eraseDead() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (isOpTriviallyDead(&op)) {
        control.forget(&op);
        op.erase();
      }
  }

  void join(Operation *op, Operation *root) {
    auto number = root->getAttrOfType<IntegerAttr>(cascadeAttr);
    if (!number)
      number = IntegerAttr::get(IntegerType::get(op->getContext(), 64), next++);
    op->setAttr(cascadeAttr, number);
  }

  //===--------------------------------------------------------------------===//
  // Reductions of one product
  //===--------------------------------------------------------------------===//

  /// A reduction over the result of a contraction that nothing else reads, alone or beside a cascade.
  void considerCompany(ReduceOp op) {
    std::optional<Reduction> reduction = asReduction(op);
    if (!reduction || op->hasAttr(cascadeAttr))
      return;
    Operation *product = productBehind(reduction->element);
    if (!product)
      return;
    Operation *company = companyOf(op, product, *reduction);
    SmallVector<Operation *> members = {op};
    if (company)
      for (const Cascade &cascade : cascadesOf(function))
        if (cascade.isMember(company))
          for (const CascadeMember &member : cascade.members)
            members.push_back(member.reduction.op);
    llvm::sort(members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    if (!cascadeOf(0, members).isPrologue(product))
      return decide(product, op, false, "aligned: the product is also read outside the loop");
    if (!control.take({"derive", product, op}, true))
      return decide(product, op, false, "legal, but switched off by the fusion plan or limit");
    decide(product, op, true, "the product's elements are folded where they are computed");
    join(op, company ? company : op);
  }

  /// A member of a cascade over the same loop that reads the same product and is independent of `op`.
  Operation *companyOf(ReduceOp op, Operation *product, const Reduction &reduction) {
    for (const Cascade &cascade : cascadesOf(function)) {
      if (cascade.rows != reduction.rows || cascade.folded != reduction.folded)
        continue;
      for (const CascadeMember &member : cascade.members)
        if (productBehind(member.reduction.element) == product && !dependsOn(op, cascade))
          return member.reduction.op;
    }
    return nullptr;
  }

  static bool dependsOn(Operation *op, const Cascade &cascade) {
    SmallVector<Operation *> pending = {op};
    llvm::DenseSet<Operation *> seen;
    Operation *first = cascade.members.front().reduction.op;
    while (!pending.empty())
      for (Value operand : pending.pop_back_val()->getOperands())
        // What stands before the first member does not depend on it.
        if (Operation *def = operand.getDefiningOp(); def && !def->isBeforeInBlock(first) && seen.insert(def).second) {
          if (cascade.isMember(def))
            return true;
          pending.push_back(def);
        }
    return false;
  }

  func::FuncOp function;
  FusionControl &control;
  llvm::SmallPtrSet<Operation *, 8> keptFactors; ///< Contractions whose row factors could move but did not.
  int64_t next = 0;
};

struct FuseDerive : fusec::impl::FuseDerivePassBase<FuseDerive> {
  using FuseDerivePassBase::FuseDerivePassBase;
  explicit FuseDerive(std::shared_ptr<FusionControl> control) : control(std::move(control)) {}

  void runOnOperation() override {
    if (!control)
      control = std::make_shared<FusionControl>(FusionOptions());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.getBody().empty())
        Deriver(function, *control).run();
  }

  std::shared_ptr<FusionControl> control;
};

} // namespace

std::unique_ptr<Pass> fusec::createFuseDerivePass(std::shared_ptr<FusionControl> control) {
  return std::make_unique<FuseDerive>(std::move(control));
}
