//===- Obligations.cpp -----------------------------------------------------------------===//
#include "passes/derive/Obligations.h"

#include "passes/fusion/Cost.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

constexpr int64_t residentAccumulators = 1024; ///< Per row, in f32: 4 KiB, a fraction of any first-level cache.

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

/// The combining op of a one-component reduction; null for anything but one op.
Operation *combiner(ReduceOp op) {
  if (op.getInputs().size() != 1)
    return nullptr;
  Block &block = op.getCombine().front();
  Operation *only = &block.front();
  bool single = only->getNextNode() == block.getTerminator() && only->getNumOperands() == 2 &&
                block.getTerminator()->getOperand(0) == only->getResult(0) &&
                only->getOperand(0) != only->getOperand(1);
  return single ? only : nullptr;
}

/// Which changes commute with a combiner.
struct CombinerRule {
  StringRef name;
  bool scales; ///< c * (a op b) = (c * a) op (c * b)
  bool shifts; ///< c + (a op b) = (c + a) op (c + b)
  int extreme; ///< +1: the result only grows as more is seen; -1: only falls; 0: neither.
};
constexpr CombinerRule combinerTable[] = {
    {"arith.addf", true, false, 0},      {"arith.maximumf", false, true, 1}, {"arith.maxnumf", false, true, 1},
    {"arith.minimumf", false, true, -1}, {"arith.minnumf", false, true, -1},
};
constexpr CombinerRule contraction = {"the sum of products", true, false, 0};

const CombinerRule *ruleOf(Operation *op) {
  if (isa<ContractOp>(op))
    return &contraction;
  Operation *combine = combiner(cast<ReduceOp>(op));
  for (const CombinerRule &rule : combinerTable)
    if (combine && combine->getName().getStringRef() == rule.name)
      return &rule;
  return nullptr;
}

NumericsAttr numericsOf(Operation *op) { return op->getAttrOfType<NumericsAttr>("numerics"); }

/// Discharges one obligation after the other.
class Prover {
public:
  Prover(const Reduction &r, Value rowValue, ReduceOp root) : r(r), rowValue(rowValue), root(root) {}

  Derivation prove() {
    for (auto obligation : {&Prover::aligned, &Prover::separable, &Prover::homomorphism, &Prover::repairable,
                            &Prover::identity, &Prover::numerics, &Prover::residency})
      if (!(this->*obligation)())
        break; // `obstacle` names it
    return std::move(result);
  }

private:
  bool holds(StringRef obligation, const Twine &how) {
    result.proof.push_back({obligation, how.str()});
    return true;
  }
  bool fails(StringRef obligation, const Twine &why) {
    result.obstacle = (obligation + ": " + why).str();
    return false;
  }

  bool aligned() {
    if (root.getInputs().size() != 1)
      return fails("aligned", "the first reduction carries " + Twine(root.getInputs().size()) + " values, expected 1");
    std::string loop = "one loop over " + toString(r.folded);
    auto contract = dyn_cast<ContractOp>(r.op);
    if (!contract)
      return holds("aligned", loop);
    // The result has the rows first, in order, and at most one dimension of its own.
    AffineMap element = contract.getMap(r.operand), out = contract.getMap(2);
    ArrayRef<AffineExpr> rows = element.getResults().drop_back();
    if (out.getNumResults() < rows.size() || out.getNumResults() > rows.size() + 1 ||
        out.getResults().take_front(rows.size()) != rows)
      return fails("aligned", "the product's result is not laid out as the rows and one dimension of its own");
    return holds("aligned", loop);
  }

  bool separable() {
    TermArena arena;
    const Term *element = arena.element(r.element, r.rows.size());
    TypedAttr rootIdentity = cast<TypedAttr>(root.getInit()[0]);
    result.separation = separate(element, {rowValue, rootIdentity});
    const Separation &s = result.separation;
    if (s.form == Separation::Form::Unknown)
      return fails("separable", s.obstacle);
    if (s.form == Separation::Form::Row)
      return fails("separable", "the element is a function of the row value alone");
    return holds("separable", llvm::join(s.rules, ", "));
  }

  bool homomorphism() {
    const CombinerRule *rule = ruleOf(r.op);
    if (!rule)
      return fails("homomorphism", "the combiner is not one known op");
    result.scales = result.separation.form != Separation::Form::Shifted;
    if (result.scales ? !rule->scales : !rule->shifts)
      return fails("homomorphism",
                   Twine(result.scales ? "scaling" : "a shift") + " does not commute with " + rule->name);
    return holds("homomorphism", Twine(result.scales ? "scaling" : "a shift") + " commutes with " + rule->name);
  }

  bool repairable() {
    if (result.separation.form == Separation::Form::Factored)
      return fails("repair", "a plain factor may be 0, so that a partial result cannot be divided by it; where the "
                             "order allows it moves behind the sum instead");
    if (!result.scales)
      return holds("repair", "acc + (f(new) - f(old)), unchanged while new = old");
    const CombinerRule *rootRule = ruleOf(root);
    // f(new) - f(old) <= 0 keeps the factor at most 1: no overflow, whatever the data.
    if (!rootRule || rootRule->extreme * result.separation.row.direction >= 0)
      return fails("repair", "the factor exp(f(new) - f(old)) is not known to stay at most 1");
    return holds("repair", "acc * exp(f(new) - f(old)), at most 1; 1 while new = old");
  }

  bool identity() {
    if (!result.scales)
      return holds("identity", "nothing seen: old = new leaves it");
    auto init = isa<ContractOp>(r.op) ? FloatAttr::get(Float32Type::get(r.op->getContext()), 0.0)
                                      : cast<TypedAttr>(cast<ReduceOp>(r.op).getInit()[0]);
    if (auto number = dyn_cast<FloatAttr>(init); !number || !number.getValue().isZero())
      return fails("identity", "the empty result is not 0, which scaling would change");
    return holds("identity", "0 stays 0 under scaling; -inf - (-inf) never occurs, since equal values give 1");
  }

  bool numerics() {
    for (Operation *op : {root.getOperation(), r.op}) {
      if (numericsOf(op).getOrder() == Order::Sequential)
        return fails("numerics", "order = sequential forbids repairing a partial result");
      if (numericsOf(op).getEmpty() != EmptyPolicy::Identity)
        return fails("numerics", "empty = zero is not what a repaired carrier gives");
    }
    if (r.op == root || numericsOf(r.op).getAccumulate() != typeOf(rowValue).getElementType())
      return fails("numerics", "the row value and the accumulator have different types");
    return holds("numerics", "order permits it, one accumulator type");
  }

  bool residency() {
    auto contract = dyn_cast<ContractOp>(r.op);
    int64_t perRow = 1;
    if (contract && contract.getMap(2).getNumResults() > r.rows.size()) {
      const Dim &own = typeOf(contract.getResult()).getDims().back();
      if (!own.isStatic() || own.size > residentAccumulators)
        return fails("residency",
                     "a row has " + toString(own) + " accumulators, expected at most " + Twine(residentAccumulators));
      perRow = own.size;
    }
    return holds("residency", Twine(perRow) + " accumulators per row");
  }

  const Reduction &r;
  Value rowValue;
  ReduceOp root;
  Derivation result;
};

/// (old, new, acc) -> acc
void writeRepair(Region &region, const Derivation &derivation, Type rowType, Type carrier, Location loc) {
  region.takeBody(*std::make_unique<Region>());
  Block &block = region.emplaceBlock();
  block.addArguments({rowType, rowType, carrier}, {loc, loc, loc});
  OpBuilder b = OpBuilder::atBlockEnd(&block);
  Value old = block.getArgument(0), now = block.getArgument(1), acc = block.getArgument(2);
  const RowFunction &f = derivation.separation.row;
  Value change = arith::SubFOp::create(b, loc, f.emit(b, loc, now), f.emit(b, loc, old));
  Value same = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, old, now);
  double neutral = derivation.scales ? 1.0 : 0.0;
  Value keep = arith::ConstantOp::create(b, loc, b.getFloatAttr(rowType, neutral));
  if (derivation.scales)
    change = math::ExpOp::create(b, loc, change);
  change = arith::SelectOp::create(b, loc, same, keep, change);
  Value repaired = derivation.scales ? arith::MulFOp::create(b, loc, acc, change).getResult()
                                     : arith::AddFOp::create(b, loc, acc, change).getResult();
  YieldOp::create(b, loc, repaired);
}

} // namespace

std::string Derivation::summary() const {
  std::string text = "one loop:";
  for (const auto &[obligation, how] : proof)
    text += (text.back() == ':' ? " " : "; ") + obligation.str() + " (" + how + ")";
  return text;
}

DictionaryAttr Derivation::attribute(MLIRContext *context) const {
  SmallVector<NamedAttribute> entries;
  for (const auto &[obligation, how] : proof)
    entries.push_back({StringAttr::get(context, obligation), StringAttr::get(context, how)});
  return DictionaryAttr::get(context, entries);
}

void Derivation::attach(Operation *op) const {
  op->setAttr("proof", attribute(op->getContext()));
  auto contract = dyn_cast<ContractOp>(op);
  Region &region = contract ? contract.getRepair() : cast<ReduceOp>(op).getRepair();
  Type carrier = typeOf(op->getResult(0)).getElementType();
  writeRepair(region, *this, carrier, carrier, op->getLoc());
}

Derivation derive(const Reduction &r, Value rowValue, ReduceOp root) { return Prover(r, rowValue, root).prove(); }

Operation *productBehind(Value element) {
  Operation *def = element.getDefiningOp();
  if (!def || isa<ContractOp>(def))
    return def;
  auto map = dyn_cast<MapOp>(def);
  if (!map)
    return nullptr;
  for (auto [i, input] : llvm::enumerate(map.getInputs()))
    if (map.getMap(i).isIdentity() && input.getType() == map.getType())
      if (Operation *found = productBehind(input))
        return found;
  return nullptr;
}

Gain gainOfMoving(ContractOp op, const RowFactors &factors) {
  GraphTensorType elements = typeOf(MapOp(factors.map).getResult()), result = typeOf(op.getResult());
  bool weights = (factors.operand == 0 ? op.getRhs() : op.getLhs()).getDefiningOp<WeightOp>() != nullptr;
  if (!weights)
    return {true, "the elements need not be scaled and stored"};
  // Every tile along the lanes folds the rows again; storing them costs a launch and two passes.
  CostModel cost(256, 512);
  double again = cost.secondsOfFoldingAgain(elements.getDims(), result.getDims().back());
  double stored = cost.secondsPerToken([&](const CostModel &m) { return Work{1, 2 * m.bytes(elements), 0}; });
  return {again < stored,
          llvm::formatv("folding the rows for every tile costs {0:f3} us per token, storing them {1:f3}", again * 1e6,
                        stored * 1e6)};
}

Gain gainOfSharing(const Reduction &r) {
  if (isa<ContractOp>(r.op) || productBehind(r.element))
    return {true, "saves storing the elements between the reductions"};
  constexpr double nearBytes = 1 << 20; // of a second-level cache
  double row = r.folded.isStatic() ? static_cast<double>(r.folded.size) * 4 : 0;
  return {row > nearBytes, llvm::formatv("a row of {0:f0} KiB {1} in the cache for a second pass", row / 1024,
                                         row > nearBytes ? "does not stay" : "stays")};
}

} // namespace fusec
