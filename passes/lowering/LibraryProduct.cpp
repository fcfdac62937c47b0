//===- LibraryProduct.cpp ----------------------------------------------------------===//
#include "passes/lowering/LibraryProduct.h"

#include "passes/report/OpName.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

/// The operands of a product of tokens by a stored matrix.
struct Operands {
  Value rows;    ///< [T, K]
  Value weights; ///< [N, K]
};

/// Whether a value is in memory as itself, so that a call can take its address.
bool isInMemory(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && !isa<WeightOp>(op) && (isIndexOnly(op) || op->hasAttr("inline")))
    return false;
  return storedForm(value) == value;
}

/// [t, n] = [t, k] * [n, k], with the operands in any order; every matrix starts at 16 bytes, as libraries want it.
std::optional<Operands> operandsOf(ContractOp op) {
  GraphTensorType result = typeOf(op.getResult());
  const NumericsAttr numerics = op.getNumerics();
  const bool isFree = numerics.getOperands() && numerics.getAccumulate().isF32() && numerics.getOrder() == Order::Any;
  if (!isFree || op.getNumIterationDims() != 3 || result.getRank() != 2 || result.getDim(0).kind != DimKind::Ragged)
    return std::nullopt;
  const bool swapped = op.getLhs().getDefiningOp<WeightOp>() != nullptr;
  Operands found{swapped ? op.getRhs() : op.getLhs(), swapped ? op.getLhs() : op.getRhs()};
  AffineMap rows = op.getMap(swapped ? 1 : 0), weights = op.getMap(swapped ? 0 : 1), sums = op.getMap(2);
  if (!found.weights.getDefiningOp<WeightOp>() || rows.getNumResults() != 2 || weights.getNumResults() != 2)
    return std::nullopt;
  AffineExpr t = sums.getResult(0), n = sums.getResult(1), k = rows.getResult(1);
  const bool isPlain = rows.getResult(0) == t && weights.getResult(0) == n && weights.getResult(1) == k && k != t &&
                       k != n && t != n && isa<AffineDimExpr>(t) && isa<AffineDimExpr>(n) && isa<AffineDimExpr>(k);
  constexpr int64_t aligned = 8;
  GraphTensorType matrix = typeOf(found.weights);
  if (!isPlain || matrix.getDim(0).size % aligned != 0 || matrix.getDim(1).size % aligned != 0)
    return std::nullopt;
  return found;
}

/// What a row kernel computes (RowKernel.cpp).
bool hasRowForm(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce)
    return isa<MapOp>(op);
  NumericsAttr numerics = reduce.getNumerics();
  return numerics.getOrder() != Order::Sequential && numerics.getEmpty() == EmptyPolicy::Identity &&
         reduce.getDims().size() == 1 && reduce.getDims().front() == typeOf(reduce.getInputs().front()).getRank() - 1 &&
         llvm::all_of(reduce.getInputs(),
                      [&](Value input) { return typeOf(input).getElementType() == numerics.getAccumulate(); });
}

class PathWriter {
public:
  PathWriter(ModuleOp module, const KernelGroup &group, const TileTarget &target, const ProductRates &rates)
      : module(module), group(group), target(target), rates(rates), builder(module.getContext()) {
    for (Operation *op : group.ops)
      if (auto contract = dyn_cast<ContractOp>(op))
        contracts.push_back(contract);
  }

  FailureOr<std::optional<LibraryPath>> write() {
    if (contracts.empty() || !rates.hasLibrary() || !canCall())
      return std::optional<LibraryPath>();
    findEpilogue();
    GraphTensorType matrix = typeOf(operands.front().weights);
    path.from = libraryFrom(rates, {static_cast<int64_t>(contracts.size()), matrix.getDim(0).size,
                                    matrix.getDim(1).size, !epilogue.ops.empty()});
    if (path.from == 0)
      return std::optional<LibraryPath>();
    for (auto [contract, sources] : llvm::zip(contracts, operands))
      if (failed(writeProduct(contract, sources)))
        return failure();
    if (!epilogue.ops.empty() && failed(writeKernels("epilogue", epilogue)))
      return failure();
    return std::optional<LibraryPath>(std::move(path));
  }

private:
  bool canCall() {
    for (Operation *op : group.ops)
      if (!isa<ContractOp>(op) && !hasRowForm(op))
        return false;
    for (ContractOp contract : contracts) {
      std::optional<Operands> found = operandsOf(contract);
      if (!found || storedForm(contract.getResult()) != contract.getResult())
        return false;
      operands.push_back(*found);
    }
    return llvm::all_of(group.stored, [](Value value) {
      return storedForm(value) == value && typeOf(value).getRank() == 2 && typeOf(value).getElementType().isF32();
    });
  }

  /// The group's ops that `wanted` need, up to its contractions, in graph order. What is computed in every kernel that
  /// reads it is looked through.
  SmallVector<Operation *> neededFor(ArrayRef<Operation *> wanted) {
    llvm::SetVector<Operation *> needed(wanted.begin(), wanted.end());
    for (size_t i = 0; i < needed.size(); ++i)
      for (Operation *producer : computingProducers(needed[i]))
        if (group.computes(producer) && !isa<ContractOp>(producer))
          needed.insert(producer);
    SmallVector<Operation *> ordered;
    for (Operation *op : group.ops)
      if (needed.contains(op))
        ordered.push_back(op);
    return ordered;
  }

  /// What follows the products: an addition that the call does itself, or a kernel's work.
  void findEpilogue() {
    SmallVector<Operation *> wanted;
    for (Value value : group.stored)
      if (!value.getDefiningOp<ContractOp>())
        wanted.push_back(value.getDefiningOp());
    const bool isOne = contracts.size() == 1 && group.stored.size() == 1 && wanted.size() == 1;
    if (isOne && findAddition(wanted.front()))
      return;
    epilogue.ops = neededFor(wanted);
    for (Value value : group.stored)
      if (!value.getDefiningOp<ContractOp>())
        epilogue.stored.push_back(value);
  }

  /// Whether `op` adds a matrix like the product's result, or one row, to the result of the only contraction.
  bool findAddition(Operation *op) {
    auto map = dyn_cast<MapOp>(op);
    if (!map || map.getInputs().size() != 2)
      return false;
    Operation *yield = map.getBody().front().getTerminator(), *sum = yield->getOperand(0).getDefiningOp();
    if (!isa_and_nonnull<arith::AddFOp>(sum) || sum->getOperand(0) == sum->getOperand(1) ||
        !llvm::all_of(sum->getOperands(), [](Value v) { return isa<BlockArgument>(v); }))
      return false;
    const unsigned ofProduct = map.getInputs()[0] == contracts.front().getResult() ? 0 : 1;
    Value other = map.getInputs()[1 - ofProduct];
    if (map.getInputs()[ofProduct] != contracts.front().getResult() || !map.getMap(ofProduct).isIdentity() ||
        !isInMemory(other) || group.contains(other.getDefiningOp()) || !typeOf(other).getElementType().isF32())
      return false;
    AffineMap row = AffineMap::get(2, 0, builder.getAffineDimExpr(1));
    if (map.getMap(1 - ofProduct).isIdentity() && typeOf(other).getDims() == typeOf(map.getResult()).getDims())
      addend = other;
    else if (map.getMap(1 - ofProduct) == row && typeOf(other).getRank() == 1)
      bias = other;
    else
      return false;
    result = map.getResult();
    return true;
  }

  LogicalResult writeProduct(ContractOp contract, const Operands &sources) {
    Type operand = contract.getNumerics().getOperands();
    Value &rows = roundedRows[sources.rows];
    if (!rows) {
      MapOp rounded = storedIn(operand, sources.rows, contract);
      rows = rounded.getResult();
      KernelGroup before{group.number, neededFor(computingProducers(rounded)), {rows}};
      before.ops.push_back(rounded);
      if (failed(writeKernels("round", before)))
        return failure();
    }
    MapOp unpacked = storedIn(operand, sources.weights, contract);
    LibraryStep unpack{
        modelName(unpacked.getLoc()) + ":unpack", {group.number, {unpacked}, {unpacked.getResult()}}, {}, std::nullopt};
    if (failed(writeUnpack(unpacked, unpack.kernels)))
      return failure();
    path.steps.push_back(std::move(unpack));
    LibraryStep call{modelName(contract.getLoc()), {group.number, {contract}, {}}, {}, std::nullopt};
    call.call = ProductCall{rows, unpacked.getResult(), addend, bias, result ? result : Value(contract.getResult())};
    path.steps.push_back(std::move(call));
    return success();
  }

  /// `value` as a map whose result is stored in the operands' type.
  MapOp storedIn(Type operand, Value value, ContractOp contract) {
    builder.setInsertionPoint(contract);
    GraphTensorType from = typeOf(value);
    const StorageType storage = operand.isF16() ? StorageType::F16 : StorageType::BF16;
    auto type = GraphTensorType::get(builder.getContext(), from.getDims(), from.getElementType(), storage);
    const Location loc = value.getDefiningOp<WeightOp>() ? value.getLoc() : contract.getLoc();
    auto map = MapOp::create(builder, loc, type, ValueRange{value},
                             builder.getAffineMapArrayAttr({builder.getMultiDimIdentityMap(from.getRank())}));
    Block &body = map.getBody().emplaceBlock();
    body.addArgument(from.getElementType(), loc);
    OpBuilder inside = OpBuilder::atBlockEnd(&body);
    YieldOp::create(inside, loc, body.getArguments());
    return map;
  }

  LogicalResult writeKernels(StringRef role, const KernelGroup &part) {
    LibraryStep step{modelName(part.ops.back()->getLoc()) + ":" + role.str(), part, {}, std::nullopt};
    step.kernels = writeRowKernel(module, step.group, target);
    if (step.kernels.empty())
      return failure();
    path.steps.push_back(std::move(step));
    return success();
  }

  /// Programs take a panel's rows at once: a row alone would fetch the whole panel's memory.
  LogicalResult writeUnpack(MapOp unpacked, LaunchKernels &kernels) {
    constexpr int64_t rows = 16, mostLanes = 256;
    GraphTensorType type = typeOf(unpacked.getResult());
    Location loc = unpacked.getLoc();
    int64_t lanes = mostLanes;
    while (lanes / 2 >= type.getDim(1).size)
      lanes /= 2;
    builder.setInsertionPointToEnd(module.getBody());
    auto schedule = builder.getDictionaryAttr({builder.getNamedAttr("form", builder.getStringAttr("unpack"))});
    tile::KernelOp kernel = createKernel(builder, loc, "k" + std::to_string(group.number) + "_unpack",
                                         {{type.getDim(0), rows}, {type.getDim(1), lanes}}, schedule);
    KernelArguments arguments(kernel.getBody().front());
    TileEvaluator evaluator(builder, arguments, [&](Operation *op) { return op == unpacked; });
    Frame frame;
    for (int64_t axis = 0; axis < 2; ++axis)
      frame.indices.push_back(tile::OriginOp::create(builder, loc, builder.getIndexType(), axis));
    frame.lanes = {rows, lanes};
    AffineMap identity = builder.getMultiDimIdentityMap(2);
    Value decoded = evaluator.evaluate(unpacked.getResult(), identity, frame);
    if (!decoded)
      return kernel.erase(), failure();
    evaluator.store(decoded, unpacked.getResult(), identity, frame, loc);
    kernels.push_back({kernel, SmallVector<Value>(arguments.graphValues()), "", 0});
    return success();
  }

  ModuleOp module;
  const KernelGroup &group;
  const TileTarget &target;
  const ProductRates &rates;
  OpBuilder builder;
  SmallVector<ContractOp> contracts;
  SmallVector<Operands> operands; ///< Of each contraction.
  Value addend, bias, result;     ///< Of the addition that the call does.
  KernelGroup epilogue{};         ///< Without ops: there is none.
  llvm::DenseMap<Value, Value> roundedRows;
  LibraryPath path;
};

} // namespace

FailureOr<std::optional<LibraryPath>> writeLibraryPath(ModuleOp module, const KernelGroup &group,
                                                       const TileTarget &target, const ProductRates &rates) {
  return PathWriter(module, group, target, rates).write();
}

} // namespace fusec
