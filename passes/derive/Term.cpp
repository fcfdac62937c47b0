//===- Term.cpp ----------------------------------------------------------------------===//
#include "passes/derive/Term.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

const Term *TermArena::make(Term term) {
  if (nodes.size() >= limit)
    return nullptr;
  nodes.push_back(std::move(term));
  return &nodes.back();
}

const Term *TermArena::element(Value value, unsigned reduced) {
  unsigned rank = cast<GraphTensorType>(value.getType()).getRank();
  return expand(value, AffineMap::getMultiDimIdentityMap(rank, value.getContext()), reduced);
}

const Term *TermArena::expand(Value value, AffineMap map, unsigned reduced) {
  map = simplifyAffineMap(map);
  auto [it, isNew] = known.try_emplace({value, map}, nullptr);
  if (!isNew)
    return it->second;
  const Term *term = nullptr;
  bool rowConstant = !map.isFunctionOfDim(reduced);
  if (auto view = value.getDefiningOp<ViewOp>(); view && !rowConstant)
    term = expand(view.getSource(), view.getMap().compose(map), reduced);
  else if (auto op = value.getDefiningOp<MapOp>(); op && !rowConstant)
    term = expandBody(op, map, reduced);
  else
    term = make({Term::Kind::Leaf, value, map, nullptr, {}});
  return known[{value, map}] = term;
}

const Term *TermArena::expandBody(MapOp op, AffineMap map, unsigned reduced) {
  llvm::DenseMap<Value, const Term *> terms;
  Block &body = op.getBody().front();
  for (auto [i, argument] : llvm::enumerate(body.getArguments()))
    if (!(terms[argument] = expand(op.getInputs()[i], op.getMap(i).compose(map), reduced)))
      return nullptr;
  for (Operation &inner : body.without_terminator()) {
    Term term{Term::Kind::Apply, {}, {}, &inner, {}};
    if (isa<arith::ConstantOp>(inner))
      term.kind = Term::Kind::Constant;
    if (auto index = dyn_cast<IndexOp>(inner))
      term = {Term::Kind::Index, {}, AffineMap::get(map.getNumDims(), 0, map.getResult(index.getDim())), &inner, {}};
    else
      for (Value operand : inner.getOperands())
        term.operands.push_back(terms.lookup(operand));
    if (!(terms[inner.getResult(0)] = make(std::move(term))))
      return nullptr;
  }
  return terms.lookup(body.getTerminator()->getOperand(0));
}

} // namespace fusec
