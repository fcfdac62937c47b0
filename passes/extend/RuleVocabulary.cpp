//===- RuleVocabulary.cpp -----------------------------------------------------------------===//
#include "passes/extend/RuleVocabulary.h"

#include "passes/extend/ScalarBody.h"
#include "passes/fusion/FusionHint.h"
#include "passes/report/OpName.h"

#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

using Arguments = ArrayRef<PDLValue>;

MapOp mapOf(PDLValue value) { return dyn_cast<MapOp>(value.cast<Operation *>()); }

StringRef stringOf(PDLValue value) { return cast<StringAttr>(value.cast<Attribute>()).getValue(); }

func::FuncOp functionOf(RuleContext &context, PDLValue value) {
  return context.file.lookupSymbol<func::FuncOp>(cast<SymbolRefAttr>(value.cast<Attribute>()).getLeafReference());
}

/// Values and ranges of values, in order.
SmallVector<Value> valuesOf(Arguments arguments) {
  SmallVector<Value> values;
  for (PDLValue argument : arguments)
    if (auto value = argument.dyn_cast<Value>())
      values.push_back(value);
    else if (auto range = argument.dyn_cast<ValueRange>())
      values.append(range->begin(), range->end());
  return values;
}

/// Ops of a body other than constants, coordinates and the yield.
SmallVector<Operation *> computationOf(MapOp map) {
  SmallVector<Operation *> ops;
  for (Operation &op : map.getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>() && !isa<IndexOp>(op))
      ops.push_back(&op);
  return ops;
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult isNamed(RuleContext &, PatternRewriter &, PDLResultList &, Arguments args) {
  auto pattern = llvm::GlobPattern::create(stringOf(args[1]));
  if (!pattern) {
    llvm::consumeError(pattern.takeError());
    return failure();
  }
  return success(pattern->match(modelName(args[0].cast<Operation *>()->getLoc())));
}

LogicalResult computesFunction(RuleContext &context, PatternRewriter &, PDLResultList &, Arguments args) {
  MapOp map = mapOf(args[0]);
  return success(map && computes(map, functionOf(context, args[1])));
}

LogicalResult isMapOf(RuleContext &, PatternRewriter &, PDLResultList &, Arguments args) {
  MapOp map = mapOf(args[0]);
  if (!map)
    return failure();
  SmallVector<Operation *> ops = computationOf(map);
  return success(ops.size() == 1 && ops.front()->getName().getStringRef() == stringOf(args[1]));
}

LogicalResult bodyHas(RuleContext &, PatternRewriter &, PDLResultList &, Arguments args) {
  WalkResult found = args[0].cast<Operation *>()->walk([&](Operation *op) {
    return op != args[0].cast<Operation *>() && op->getName().getStringRef() == stringOf(args[1])
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return success(found.wasInterrupted());
}

LogicalResult hasOneUse(RuleContext &, PatternRewriter &, PDLResultList &, Arguments args) {
  return success(args[0].cast<Operation *>()->hasOneUse());
}

LogicalResult readsElementwise(RuleContext &, PatternRewriter &, PDLResultList &, Arguments args) {
  MapOp map = mapOf(args[0]);
  auto value = args[1].cast<Value>();
  if (!map || !llvm::is_contained(map.getInputs(), value))
    return failure();
  for (auto [i, input] : llvm::enumerate(map.getInputs()))
    if (input == value &&
        (!map.getMap(i).isIdentity() || cast<GraphTensorType>(value.getType()).getDims() != map.getType().getDims()))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Rewrites
//===----------------------------------------------------------------------===//

LogicalResult give(PDLResultList &results, MapOp map) {
  if (!map)
    return failure();
  results.push_back(map.getOperation());
  return success();
}

LogicalResult makeMapLike(RuleContext &context, PatternRewriter &rewriter, PDLResultList &results, Arguments args) {
  func::FuncOp function = functionOf(context, args.back());
  return give(results, mapLike(rewriter, args[0].cast<Operation *>(), valuesOf(args.drop_front().drop_back()), function,
                               context.error));
}

LogicalResult makeInlined(RuleContext &context, PatternRewriter &rewriter, PDLResultList &results, Arguments args) {
  MapOp consumer = mapOf(args[0]), producer = mapOf(args[1]);
  if (!consumer || !producer) {
    context.error = "both ops must be fuse.map";
    return failure();
  }
  return give(results, inlineInto(rewriter, consumer, producer, context.error));
}

//===----------------------------------------------------------------------===//
// Hints
//===----------------------------------------------------------------------===//

template <HintKind kind> LogicalResult hint(RuleContext &context, PatternRewriter &, PDLResultList &, Arguments args) {
  SmallVector<Operation *> ops;
  for (PDLValue argument : args)
    ops.push_back(argument.cast<Operation *>());
  addHint(kind, ops, context.nextPair++, context.rule);
  return success();
}

using Use = NativeFunction::Use;

constexpr NativeFunction table[] = {
    {Use::Constraint, "named", "os", false, isNamed},
    {Use::Constraint, "computes", "of", false, computesFunction},
    {Use::Constraint, "is_map_of", "os", false, isMapOf},
    {Use::Constraint, "body_has", "os", false, bodyHas},
    {Use::Constraint, "has_one_use", "o", false, hasOneUse},
    {Use::Constraint, "reads_elementwise", "ov", false, readsElementwise},
    {Use::Rewrite, "map_like", "o*f", true, makeMapLike},
    {Use::Rewrite, "inline_into", "oo", true, makeInlined},
    {Use::Hint, "keep_apart", "oo", false, hint<HintKind::KeepApart>},
    {Use::Hint, "force_group", "oo", false, hint<HintKind::ForceGroup>},
    {Use::Hint, "force_inline", "o", false, hint<HintKind::ForceInline>},
    {Use::Hint, "keep_stored", "o", false, hint<HintKind::KeepStored>},
};

StringRef argumentName(ArgumentKind kind) {
  switch (kind) {
  case ArgumentKind::Operation:
    return "operation";
  case ArgumentKind::Value:
    return "value";
  case ArgumentKind::Values:
    return "value...";
  case ArgumentKind::String:
    return "string";
  case ArgumentKind::Function:
    return "@function";
  }
  llvm_unreachable("all kinds are listed");
}

} // namespace

ArrayRef<NativeFunction> ruleVocabulary() { return table; }

const NativeFunction *findNative(StringRef name, bool constraint) {
  for (const NativeFunction &row : table)
    if (row.name == name && (row.use == Use::Constraint) == constraint)
      return &row;
  return nullptr;
}

std::string signatureOf(const NativeFunction &function) {
  std::string text = function.name.str() + "(";
  for (auto [i, kind] : llvm::enumerate(function.arguments))
    text += (i ? ", " : "") + argumentName(static_cast<ArgumentKind>(kind)).str();
  return text + ")";
}

} // namespace fusec
