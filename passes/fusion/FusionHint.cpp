//===- FusionHint.cpp -----------------------------------------------------------------===//
#include "passes/fusion/FusionHint.h"

#include "passes/fusion/DataFlow.h"
#include "passes/fusion/FusionControl.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace fusec {

namespace {

constexpr StringLiteral hintsAttr = "fuse.hints";
/// By HintKind.
constexpr StringLiteral names[] = {"keep_apart", "force_group", "force_inline", "keep_stored"};

/// The hints of one kind at an op: pair number and rule.
template <typename Visit> void forEachHint(Operation *op, HintKind kind, Visit visit) {
  auto hints = op->getAttrOfType<ArrayAttr>(hintsAttr);
  if (!hints)
    return;
  for (auto hint : hints.getAsRange<DictionaryAttr>()) {
    auto name = hint.getAs<StringAttr>("kind");
    auto pair = hint.getAs<IntegerAttr>("pair");
    auto rule = hint.getAs<StringAttr>("rule");
    if (name && pair && rule && name.getValue() == hintName(kind))
      visit(pair.getInt(), rule.getValue());
  }
}

/// The first rule with a hint of this kind at the op.
std::optional<std::string> ruleOf(Operation *op, HintKind kind) {
  std::optional<std::string> found;
  forEachHint(op, kind, [&](int64_t, StringRef rule) { found = found.value_or(rule.str()); });
  return found;
}

/// The first rule with a hint of this kind at both ops.
std::optional<std::string> ruleOfBoth(Operation *a, Operation *b, HintKind kind) {
  std::optional<std::string> found;
  forEachHint(a, kind, [&](int64_t pairA, StringRef rule) {
    forEachHint(b, kind, [&](int64_t pairB, StringRef) {
      if (pairA == pairB && !found)
        found = rule.str();
    });
  });
  return found;
}

bool recomputes(StringRef kind) { return kind == "inline" || kind == "prologue"; }

HintAnswer answerOf(bool fuse, StringRef what, StringRef rule) {
  return {fuse, (what + " by rule '" + rule + "'").str()};
}

} // namespace

StringRef hintName(HintKind kind) { return names[static_cast<int>(kind)]; }

void addHint(HintKind kind, ArrayRef<Operation *> ops, int64_t pair, StringRef rule) {
  for (Operation *op : ops) {
    Builder b(op->getContext());
    Attribute hint = b.getDictionaryAttr({b.getNamedAttr("kind", b.getStringAttr(hintName(kind))),
                                          b.getNamedAttr("pair", b.getI64IntegerAttr(pair)),
                                          b.getNamedAttr("rule", b.getStringAttr(rule))});
    SmallVector<Attribute> all;
    if (auto old = op->getAttrOfType<ArrayAttr>(hintsAttr))
      all.append(old.begin(), old.end());
    all.push_back(hint);
    op->setAttr(hintsAttr, b.getArrayAttr(all));
  }
}

void clearHints(Operation *root) {
  root->walk([](Operation *op) { op->removeAttr(hintsAttr); });
}

HintedFusion::Pairs HintedFusion::apartPairs(Operation *op) const {
  Pairs pairs;
  auto addOf = [&](Operation *member) {
    forEachHint(member, HintKind::KeepApart, [&](int64_t pair, StringRef rule) { pairs.insert({pair, rule.str()}); });
    if (auto inside = recomputedInside.find(member); inside != recomputedInside.end())
      pairs.insert(inside->second.begin(), inside->second.end());
  };
  addOf(op);
  // A derived loop is one kernel before anything is asked.
  if (auto cascade = op->getAttrOfType<IntegerAttr>("cascade"))
    for (Operation &other : *op->getBlock())
      if (other.getAttrOfType<IntegerAttr>("cascade") == cascade)
        addOf(&other);
  for (auto it = kernels.findLeader(op); it != kernels.member_end(); ++it)
    addOf(*it);
  return pairs;
}

std::optional<HintAnswer> HintedFusion::answer(const FusionCandidate &candidate) const {
  Operation *producer = candidate.producer, *consumer = candidate.consumer;
  if (!producer || !consumer)
    return std::nullopt;
  // Recomputing puts the op into the kernels of all its readers.
  SmallVector<Operation *> readers = {consumer};
  if (recomputes(candidate.kind)) {
    if (auto rule = ruleOf(producer, HintKind::KeepStored))
      return answerOf(false, "kept in memory", *rule);
    readers = computingUsers(producer);
  }
  Pairs mine = apartPairs(producer);
  for (Operation *reader : readers)
    for (const auto &[pair, rule] : apartPairs(reader))
      if (mine.count(pair))
        return answerOf(false, "kept apart", rule);
  if (auto rule = recomputes(candidate.kind) ? ruleOf(producer, HintKind::ForceInline) : std::nullopt)
    return answerOf(true, "recomputed in its readers", *rule);
  for (Operation *reader : readers)
    if (auto rule = ruleOfBoth(producer, reader, HintKind::ForceGroup))
      return answerOf(true, "put together", *rule);
  return std::nullopt;
}

void HintedFusion::taken(const FusionCandidate &candidate) {
  if (!candidate.producer || !candidate.consumer)
    return;
  // A derivation may replace its ops; those that stay are found by their cascade.
  if (candidate.kind == "derive")
    return;
  if (!recomputes(candidate.kind)) {
    kernels.unionSets(candidate.producer, candidate.consumer);
    return;
  }
  Pairs pairs = apartPairs(candidate.producer);
  if (pairs.empty())
    return;
  for (Operation *reader : computingUsers(candidate.producer))
    recomputedInside[reader].insert(pairs.begin(), pairs.end());
}

void HintedFusion::forget(Operation *op) {
  kernels.erase(op);
  recomputedInside.erase(op);
}

} // namespace fusec
