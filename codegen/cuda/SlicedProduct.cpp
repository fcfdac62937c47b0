//===- SlicedProduct.cpp ---------------------------------------------------===//
#include "codegen/cuda/SlicedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen::cuda {

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  return matchPattern(value, m_ConstantInt(&constant)) ? std::optional(constant.getSExtValue()) : std::nullopt;
}

static bool isZero(Value value) { return matchPattern(value, m_AnyZeroFloat()); }

/// The loop over the steps of a slice; null unless it runs over [from, min(from + slice, end)) and adds to zeros.
static scf::ForOp stepsOf(scf::ForOp slices) {
  auto loops = slices.getBody()->getOps<scf::ForOp>();
  if (loops.empty() || std::next(loops.begin()) != loops.end())
    return {};
  scf::ForOp steps = *loops.begin();
  auto end = steps.getUpperBound().getDefiningOp<arith::MinSIOp>();
  auto next = end ? end.getLhs().getDefiningOp<arith::AddIOp>() : arith::AddIOp();
  bool isWhole = next && next.getLhs() == slices.getInductionVar() &&
                 constantOf(next.getRhs()) == constantOf(slices.getStep()) && constantOf(end.getRhs()) &&
                 constantOf(end.getRhs()) == constantOf(slices.getUpperBound());
  bool startsHere = steps.getLowerBound() == slices.getInductionVar() && constantOf(steps.getStep());
  return isWhole && startsHere && llvm::all_of(steps.getInitArgs(), isZero) ? steps : scf::ForOp();
}

/// True if the i-th total is the one before plus the i-th part.
static bool addsPart(scf::ForOp slices, scf::ForOp steps, unsigned i) {
  auto add = slices.getBody()->getTerminator()->getOperand(i).getDefiningOp<arith::AddFOp>();
  return add && add.getLhs() == slices.getRegionIterArgs()[i] && add.getRhs() == steps.getResult(i);
}

/// The dot that makes the i-th part of a step; null where something else is yielded.
static DotOp dotOf(scf::ForOp steps, unsigned i) {
  auto dot = steps.getBody()->getTerminator()->getOperand(i).getDefiningOp<DotOp>();
  bool chains = dot && dot.getAcc() == steps.getRegionIterArgs()[i] && dot.getAcc().hasOneUse();
  return chains ? dot : DotOp();
}

std::optional<SlicedProduct> matchSlicedProduct(scf::ForOp loop) {
  auto end = constantOf(loop.getUpperBound()), slice = constantOf(loop.getStep());
  scf::ForOp steps = stepsOf(loop);
  if (!steps || !end || !slice || constantOf(loop.getLowerBound()) != 0 || !llvm::all_of(loop.getInitArgs(), isZero) ||
      loop.getNumResults() == 0 || steps.getNumResults() != loop.getNumResults())
    return std::nullopt;
  SlicedProduct product{loop,
                        steps,
                        {},
                        *end,
                        *slice,
                        *constantOf(steps.getStep()),
                        loop->hasAttr(spreadAttr),
                        loop->hasAttr(streamAttr),
                        Type()};
  for (unsigned i = 0; i < loop.getNumResults(); ++i) {
    DotOp dot = dotOf(steps, i);
    if (!dot || !addsPart(loop, steps, i))
      return std::nullopt;
    product.dots.push_back(dot);
  }
  product.operand = product.dots.front().getOperandType().value_or(Type());
  for (DotOp dot : product.dots)
    if (dot.getOperandType().value_or(Type()) != product.operand || dot.getType() != product.sumType())
      return std::nullopt;
  return product;
}

} // namespace fusec::codegen::cuda
