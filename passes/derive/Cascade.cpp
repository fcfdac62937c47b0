//===- Cascade.cpp -----------------------------------------------------------------------===//
#include "passes/derive/Cascade.h"

#include "passes/derive/Term.h"
#include "passes/fusion/DataFlow.h"

#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

void collectLeaves(const Term *term, llvm::SetVector<const Term *> &leaves, llvm::DenseSet<const Term *> &seen) {
  if (!seen.insert(term).second)
    return;
  if (term->kind == Term::Kind::Leaf)
    leaves.insert(term);
  for (const Term *operand : term->operands)
    collectLeaves(operand, leaves, seen);
}

bool foldsLike(Operation *reduction, const Reduction &r) {
  auto reduce = dyn_cast_or_null<ReduceOp>(reduction);
  std::optional<Reduction> other = reduce ? asReduction(reduce) : std::nullopt;
  return other && other->rows == r.rows && other->folded == r.folded;
}

/// Per-element ops over rows and folded dimension that only members (or other such ops) read.
SmallVector<Operation *> prologueOf(const Cascade &cascade) {
  SmallVector<Dim> dims(cascade.rows);
  dims.push_back(cascade.folded);
  llvm::SetVector<Operation *> inside;
  for (const CascadeMember &member : cascade.members)
    inside.insert(member.reduction.op);
  // A producer qualifies once all of its readers do; walking against the graph order sees readers first.
  for (Operation *op = cascade.members.back().reduction.op; op; op = op->getPrevNode()) {
    if (!isa<MapOp, ContractOp>(op) || inside.contains(op) || op->use_empty())
      continue;
    if (typeOf(op->getResult(0)).getDims() != ArrayRef<Dim>(dims))
      continue;
    if (auto contract = dyn_cast<ContractOp>(op); contract && !canNest(contract, cascade))
      continue;
    if (llvm::all_of(op->getUsers(), [&](Operation *user) { return inside.contains(user); }))
      inside.insert(op);
  }
  SmallVector<Operation *> prologue;
  for (Operation *op : inside)
    if (!cascade.isMember(op))
      prologue.push_back(op);
  llvm::sort(prologue, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return prologue;
}

} // namespace

bool Cascade::isMember(Operation *op) const {
  return llvm::any_of(members, [&](const CascadeMember &m) { return m.reduction.op == op; });
}

SmallVector<Value> rowValuesOf(const Reduction &r, std::string &obstacle) {
  TermArena arena;
  unsigned rank = r.rows.size();
  const Term *element = arena.element(r.element, rank);
  if (!element) {
    obstacle = "aligned: the expression between the reductions is too large";
    return {};
  }
  llvm::SetVector<const Term *> leaves;
  llvm::DenseSet<const Term *> seen;
  collectLeaves(element, leaves, seen);
  llvm::SetVector<Value> values;
  for (const Term *leaf : leaves) {
    if (leaf->map.isFunctionOfDim(rank) || !foldsLike(reductionBehind(leaf->leaf), r))
      continue;
    AffineMap rows = AffineMap::getMultiDimIdentityMap(rank + 1, r.op->getContext()).dropResult(rank);
    if (leaf->map != rows)
      obstacle = "aligned: a row reads the result of another row";
    values.insert(leaf->leaf);
  }
  return values.takeVector();
}

bool canNest(ContractOp op, const Cascade &cascade) {
  AffineMap out = op.getMap(2);
  if (op.getSummedDims().size() != 1 || !op.getNumerics().getAccumulate().isF32() ||
      out.getNumResults() != cascade.rows.size() + 1)
    return false;
  unsigned folded = cast<AffineDimExpr>(out.getResults().back()).getPosition();
  return op.getMap(0).isFunctionOfDim(folded) != op.getMap(1).isFunctionOfDim(folded);
}

std::optional<Reduction> memberReduction(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return asReduction(reduce);
  auto contract = cast<ContractOp>(op);
  std::optional<Reduction> lhs = asReduction(contract, 0), rhs = asReduction(contract, 1);
  std::string ignored;
  if (rhs && (!lhs || (rowValuesOf(*lhs, ignored).empty() && !rowValuesOf(*rhs, ignored).empty())))
    return rhs;
  return lhs;
}

Cascade cascadeOf(int64_t number, ArrayRef<Operation *> ops) {
  Cascade cascade;
  cascade.number = number;
  for (Operation *op : ops) {
    std::optional<Reduction> r = memberReduction(op);
    std::string ignored;
    SmallVector<Value> rows = rowValuesOf(*r, ignored);
    cascade.members.push_back({*r, rows.empty() ? Value() : rows.front()});
    cascade.rows = r->rows;
    cascade.folded = r->folded;
  }
  cascade.prologue = prologueOf(cascade);
  return cascade;
}

std::vector<Cascade> cascadesOf(func::FuncOp function) {
  std::map<int64_t, SmallVector<Operation *>> byNumber;
  for (Operation &op : function.getBody().front())
    if (auto number = op.getAttrOfType<IntegerAttr>(cascadeAttr))
      byNumber[number.getInt()].push_back(&op);
  std::vector<Cascade> cascades;
  for (auto &[number, ops] : byNumber)
    cascades.push_back(cascadeOf(number, ops));
  return cascades;
}

} // namespace fusec
