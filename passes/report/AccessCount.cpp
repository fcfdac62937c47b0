//===- AccessCount.cpp -------------------------------------------------------------------===//
//
// Integers are evaluated as lists of lanes, everything else is unknown. An
// unknown operand makes a result unknown.
//
//===----------------------------------------------------------------------===//
#include "passes/report/AccessCount.h"

#include "passes/report/DecidingValues.h"
#include "passes/report/ElementSet.h"
#include "passes/report/IntegerOps.h"
#include "runtime/schema/PanelLayout.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fusec {

namespace {

/// Row-major lanes of an integer value; a scalar has one. Nothing: unknown.
using Lanes = std::optional<std::vector<int64_t>>;

double bytesPerElement(tile::BufferType type) {
  if (type.getLayout() != tile::Layout::Panel)
    return static_cast<double>(type.getElementBytes());
  int64_t width = type.getDims()[1].size;
  return static_cast<double>(packedBytes(*type.getStorage(), panelRows, width)) /
         static_cast<double>(panelRows * width);
}

int64_t lanesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

SmallVector<int64_t, 2> shapeOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? SmallVector<int64_t, 2>(vector.getShape()) : SmallVector<int64_t, 2>();
}

class ProgramWalk {
public:
  ProgramWalk(tile::KernelOp kernel, const StepSizes &sizes, const InputValue &inputs, std::vector<AccessCount> &counts)
      : kernel(kernel), sizes(sizes), inputs(inputs), counts(counts), deciding(decidingValues(kernel)),
        loaded(counts.size()), stored(counts.size()) {}

  /// One program; its accesses are added `weight` times.
  void run(ArrayRef<int64_t> programOrigins, double programWeight) {
    origins.assign(programOrigins.begin(), programOrigins.end());
    weight = programWeight;
    values.clear();
    for (std::vector<ElementSet> *sets : {&loaded, &stored})
      for (ElementSet &set : *sets)
        set.clear();
    runBlock(kernel.getBody().front());
  }

private:
  Lanes get(Value value) const {
    auto it = values.find(value);
    return it == values.end() ? Lanes() : it->second;
  }
  std::optional<int64_t> scalar(Value value) const {
    Lanes lanes = get(value);
    return lanes && lanes->size() == 1 ? std::optional(lanes->front()) : std::nullopt;
  }
  void set(Value value, Lanes lanes) {
    if (lanes)
      values[value] = std::move(lanes);
    else
      values.erase(value);
  }

  int64_t extentOf(const fuse::Dim &dim) const {
    return dim.isStatic() ? dim.size : sizes.lookup(dim.symbol.getValue());
  }

  void runBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      if (!isIdle(op))
        runOp(&op);
  }

  void runOp(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](tile::OriginOp o) { set(o.getResult(), {{origins[o.getAxis()]}}); })
        .Case([&](tile::ExtentOp o) { set(o.getResult(), {{sizes.lookup(o.getSymbol())}}); })
        .Case([&](tile::LoadOp o) { runLoad(o); })
        .Case([&](tile::StoreOp o) { runStore(o); })
        .Case([&](tile::IndexOp o) { runIndex(o); })
        .Case([&](tile::ReduceOp o) { runReduce(o); })
        .Case([&](scf::ForOp o) { runFor(o); })
        .Case([&](scf::IfOp o) { runIf(o); })
        .Case([&](arith::ConstantOp o) { runConstant(o); })
        .Case([&](arith::CmpIOp o) { runCompare(o); })
        .Case([&](arith::SelectOp o) { runSelect(o); })
        .Case([&](affine::AffineApplyOp o) { set(o.getResult(), apply(o.getAffineMap(), o.getOperands(), 0)); })
        .Case([&](affine::AffineMinOp o) { set(o.getResult(), apply(o.getMap(), o.getOperands(), -1)); })
        .Case([&](affine::AffineMaxOp o) { set(o.getResult(), apply(o.getMap(), o.getOperands(), 1)); })
        .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
              vector::ShapeCastOp>([&](Operation *o) { set(o->getResult(0), get(o->getOperand(0))); })
        .Case([&](vector::BroadcastOp o) { runBroadcast(o); })
        .Case([&](vector::ExtractOp o) { runExtract(o); })
        .Default([&](Operation *o) { runElementwise(o); });
  }

  /// Whether an op changes nothing about accesses: none of its results does, and it makes none itself.
  bool isIdle(Operation &op) const {
    return !isa<tile::LoadOp, tile::StoreOp, scf::ForOp, scf::IfOp>(op) &&
           llvm::none_of(op.getResults(), [&](Value result) { return deciding.contains(result); });
  }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  void runConstant(arith::ConstantOp op) {
    if (auto integer = dyn_cast<IntegerAttr>(op.getValue()))
      return set(op.getResult(), {{integer.getInt()}});
    auto dense = dyn_cast<DenseIntElementsAttr>(op.getValue());
    if (!dense)
      return;
    std::vector<int64_t> lanes;
    for (const APInt &value : dense.getValues<APInt>())
      lanes.push_back(value.getBitWidth() == 1 ? value.getZExtValue() : value.getSExtValue());
    set(op.getResult(), std::move(lanes));
  }

  void runElementwise(Operation *op) {
    const IntegerOp evaluate = findIntegerOp(op->getName().getStringRef());
    if (!evaluate || op->getNumOperands() != 2)
      return;
    Lanes a = get(op->getOperand(0)), b = get(op->getOperand(1));
    if (!a || !b || a->size() != b->size())
      return set(op->getResult(0), std::nullopt);
    std::vector<int64_t> lanes;
    for (auto [x, y] : llvm::zip(*a, *b)) {
      std::optional<int64_t> value = evaluate(x, y);
      if (!value)
        return set(op->getResult(0), std::nullopt);
      lanes.push_back(*value);
    }
    set(op->getResult(0), std::move(lanes));
  }

  void runCompare(arith::CmpIOp op) {
    Lanes a = get(op.getLhs()), b = get(op.getRhs());
    if (!a || !b || a->size() != b->size())
      return set(op.getResult(), std::nullopt);
    std::vector<int64_t> lanes;
    for (auto [x, y] : llvm::zip(*a, *b))
      lanes.push_back(compare(op.getPredicate(), x, y));
    set(op.getResult(), std::move(lanes));
  }

  void runSelect(arith::SelectOp op) {
    Lanes condition = get(op.getCondition()), a = get(op.getTrueValue()), b = get(op.getFalseValue());
    if (!condition || !a || !b)
      return set(op.getResult(), std::nullopt);
    std::vector<int64_t> lanes;
    for (size_t i = 0; i < a->size(); ++i)
      lanes.push_back((*condition)[condition->size() == 1 ? 0 : i] ? (*a)[i] : (*b)[i]);
    set(op.getResult(), std::move(lanes));
  }

  /// An affine map with one result, or the least (-1) or greatest (1) of several.
  Lanes apply(AffineMap map, ValueRange operands, int pick) {
    SmallVector<Attribute> constants;
    Builder b(kernel.getContext());
    for (Value operand : operands) {
      std::optional<int64_t> value = scalar(operand);
      if (!value)
        return std::nullopt;
      constants.push_back(b.getIndexAttr(*value));
    }
    SmallVector<Attribute> folded;
    if (failed(map.constantFold(constants, folded)))
      return std::nullopt;
    int64_t best = cast<IntegerAttr>(folded.front()).getInt();
    for (Attribute attr : folded) {
      int64_t value = cast<IntegerAttr>(attr).getInt();
      best = pick < 0 ? std::min(best, value) : std::max(best, value);
    }
    return {{best}};
  }

  void runIndex(tile::IndexOp op) {
    std::optional<int64_t> base = scalar(op.getBase());
    auto shape = shapeOf(op.getType());
    if (!base)
      return set(op.getResult(), std::nullopt);
    std::vector<int64_t> lanes;
    for (int64_t i = 0; i < lanesOf(op.getType()); ++i) {
      int64_t column = i % shape.back(), row = i / shape.back();
      bool alongColumns = static_cast<size_t>(op.getDim()) + 1 == shape.size();
      lanes.push_back(*base + (alongColumns ? column : row));
    }
    set(op.getResult(), std::move(lanes));
  }

  void runBroadcast(vector::BroadcastOp op) {
    Lanes source = get(op.getSource());
    int64_t wanted = lanesOf(op.getType());
    if (!source || wanted % static_cast<int64_t>(source->size()) != 0)
      return set(op.getResult(), std::nullopt);
    // [n] -> [m, n] repeats the list; [m, 1] -> [m, n] each element.
    auto from = shapeOf(op.getSourceType());
    bool eachElement = !from.empty() && from.back() == 1;
    std::vector<int64_t> lanes;
    int64_t size = static_cast<int64_t>(source->size()), repeats = wanted / size;
    for (int64_t i = 0; i < wanted; ++i)
      lanes.push_back((*source)[eachElement ? i / repeats : i % size]);
    set(op.getResult(), std::move(lanes));
  }

  void runExtract(vector::ExtractOp op) {
    Lanes source = get(op.getSource());
    if (!source || op.hasDynamicPosition())
      return set(op.getResult(), std::nullopt);
    auto shape = shapeOf(op.getSourceVectorType());
    int64_t offset = 0, stride = static_cast<int64_t>(source->size());
    for (auto [position, extent] : llvm::zip(op.getStaticPosition(), shape)) {
      stride /= extent;
      offset += position * stride;
    }
    set(op.getResult(), std::vector<int64_t>(source->begin() + offset, source->begin() + offset + stride));
  }

  /// Folds integers in order; the tree's order does not matter for them.
  void runReduce(tile::ReduceOp op) {
    Lanes source = op.getInputs().size() == 1 ? get(op.getInputs().front()) : std::nullopt;
    auto shape = shapeOf(op.getInputs().front().getType());
    if (!source)
      return set(op.getResult(0), std::nullopt);
    std::vector<int64_t> results;
    for (size_t row = 0; row < source->size(); row += static_cast<size_t>(shape.back())) {
      Lanes folded = {{(*source)[row]}};
      for (size_t i = 1; folded && i < static_cast<size_t>(shape.back()); ++i)
        folded = combine(op, folded->front(), (*source)[row + i]);
      if (!folded)
        return set(op.getResult(0), std::nullopt);
      results.push_back(folded->front());
    }
    set(op.getResult(0), std::move(results));
  }

  Lanes combine(tile::ReduceOp op, int64_t a, int64_t b) {
    Block &block = op.getCombine().front();
    set(block.getArgument(0), {{a}});
    set(block.getArgument(1), {{b}});
    runBlock(block);
    return get(block.getTerminator()->getOperand(0));
  }

  //===--------------------------------------------------------------------===//
  // Control
  //===--------------------------------------------------------------------===//

  void runFor(scf::ForOp op) {
    std::optional<int64_t> low = scalar(op.getLowerBound()), high = scalar(op.getUpperBound()),
                           step = scalar(op.getStep());
    int64_t largest = 0;
    for (const auto &entry : sizes)
      largest = std::max(largest, entry.second);
    Block &body = *op.getBody();
    for (auto [arg, init] : llvm::zip(op.getRegionIterArgs(), op.getInitArgs()))
      set(arg, get(init));
    for (int64_t i = low.value_or(0); i < high.value_or(largest); i += std::max<int64_t>(1, step.value_or(1))) {
      set(op.getInductionVar(), {{i}});
      runBlock(body);
      SmallVector<Lanes> next;
      for (Value value : body.getTerminator()->getOperands())
        next.push_back(get(value));
      for (auto [arg, lanes] : llvm::zip(op.getRegionIterArgs(), next))
        set(arg, lanes);
    }
    for (auto [result, arg] : llvm::zip(op.getResults(), op.getRegionIterArgs()))
      set(result, get(arg));
  }

  void runIf(scf::IfOp op) {
    std::optional<int64_t> condition = scalar(op.getCondition());
    Region &taken = condition.value_or(1) ? op.getThenRegion() : op.getElseRegion();
    if (taken.empty())
      return;
    runBlock(taken.front());
    for (auto [result, value] : llvm::zip(op.getResults(), taken.front().getTerminator()->getOperands()))
      set(result, get(value));
  }

  //===--------------------------------------------------------------------===//
  // Accesses
  //===--------------------------------------------------------------------===//

  struct Access {
    tile::BufferType type;
    AffineMap map;
    SmallVector<int64_t> point; ///< Unknown indices count as 0.
    SmallVector<int64_t, 2> lanes;
    SmallVector<int64_t> extents; ///< Of the buffer, in this step.
  };

  Access accessOf(Value buffer, ValueRange indices, AffineMap map, Type value) {
    Access access{cast<tile::BufferType>(buffer.getType()), map, {}, shapeOf(value), {}};
    for (const fuse::Dim &dim : access.type.getDims())
      access.extents.push_back(extentOf(dim));
    for (Value index : indices)
      access.point.push_back(scalar(index).value_or(0));
    return access;
  }

  static SmallVector<int64_t> at(const Access &access, ArrayRef<int64_t> point) { return evaluate(access.map, point); }

  bool inRange(const Access &access, ArrayRef<int64_t> point) const {
    for (auto [index, extent] : llvm::zip(at(access, point), access.extents))
      if (index < 0 || index >= extent)
        return false;
    return true;
  }

  int64_t elementAt(const Access &access, ArrayRef<int64_t> point) const {
    int64_t element = 0;
    for (auto [index, extent] : llvm::zip(at(access, point), access.extents))
      element = element * extent + index;
    return element;
  }

  /// How far the in-range elements along one lane dimension lie from its first; one 0 when the map ignores it.
  std::vector<int64_t> elementsAlong(const Access &access, size_t lane) const {
    size_t dim = access.point.size() - access.lanes.size() + lane;
    if (!access.map.isFunctionOfDim(dim))
      return {0};
    std::vector<int64_t> elements;
    const int64_t first = elementAt(access, access.point);
    SmallVector<int64_t> point = access.point;
    for (int64_t i = 0; i < access.lanes[lane]; ++i, ++point[dim])
      if (inRange(access, point))
        elements.push_back(elementAt(access, point) - first);
    return elements;
  }

  /// The elements that an access reaches, each once; those along one lane dimension do not depend on the other's lane.
  std::vector<int64_t> elements(const Access &access) const {
    if (access.lanes.empty() && !inRange(access, access.point))
      return {};
    std::vector<int64_t> reached{elementAt(access, access.point)};
    for (size_t lane = 0; lane < access.lanes.size(); ++lane) {
      std::vector<int64_t> next;
      const std::vector<int64_t> along = elementsAlong(access, lane);
      for (int64_t element : reached)
        for (int64_t apart : along)
          next.push_back(element + apart);
      reached = std::move(next);
    }
    return reached;
  }

  /// Adds to `all` what the access reaches, and to `touched` what it is the program's first to reach.
  void count(const Access &access, ElementSet &known, double &all, double &touched) {
    const std::vector<int64_t> reached = elements(access);
    int64_t isNew = 0;
    for (int64_t element : reached)
      isNew += known.insert(element);
    const double each = weight * bytesPerElement(access.type);
    all += each * static_cast<double>(reached.size());
    touched += each * static_cast<double>(isNew);
  }

  /// The kernel's argument; nullopt for memory of a program's own.
  std::optional<unsigned> argumentOf(Value buffer) {
    auto argument = dyn_cast<BlockArgument>(buffer);
    bool isKernels = argument && argument.getOwner()->getParentOp() == kernel.getOperation();
    return isKernels ? std::optional(argument.getArgNumber()) : std::nullopt;
  }

  void runLoad(tile::LoadOp op) {
    std::optional<unsigned> argument = argumentOf(op.getBuffer());
    if (!argument)
      return;
    Access access = accessOf(op.getBuffer(), op.getIndices(), op.getMap(), op.getType());
    count(access, loaded[*argument], counts[*argument].loadedBytes, counts[*argument].touchedBytes);
    if (deciding.contains(op.getResult()) && getElementTypeOrSelf(op.getType()).isInteger())
      set(op.getResult(), inputLanes(op, access));
  }

  Lanes inputLanes(tile::LoadOp op, const Access &access) {
    unsigned argument = cast<BlockArgument>(op.getBuffer()).getArgNumber();
    std::vector<int64_t> lanes;
    for (int64_t i = 0; i < lanesOf(op.getType()); ++i) {
      SmallVector<int64_t> point = access.point;
      if (!access.lanes.empty())
        point.back() += i % access.lanes.back();
      if (access.lanes.size() == 2)
        point[point.size() - 2] += i / access.lanes.back();
      std::optional<int64_t> value = inputs(argument, at(access, point));
      if (!value)
        return std::nullopt;
      lanes.push_back(*value);
    }
    return lanes;
  }

  void runStore(tile::StoreOp op) {
    if (std::optional<unsigned> argument = argumentOf(op.getBuffer()))
      count(accessOf(op.getBuffer(), op.getIndices(), op.getMap(), op.getValue().getType()), stored[*argument],
            counts[*argument].storedBytes, counts[*argument].touchedBytes);
  }

  tile::KernelOp kernel;
  const StepSizes &sizes;
  const InputValue &inputs;
  std::vector<AccessCount> &counts;
  const llvm::DenseSet<Value> deciding;
  std::vector<ElementSet> loaded, stored; ///< By argument: what this program has reached.
  llvm::DenseMap<Value, Lanes> values;
  std::vector<int64_t> origins;
  double weight = 1;
};

/// The programs to walk along one axis: all, or evenly spaced ones with the first and the last.
std::vector<int64_t> selection(int64_t programs, int64_t most) {
  std::vector<int64_t> chosen;
  int64_t count = std::min(programs, std::max<int64_t>(1, most));
  for (int64_t i = 0; i < count; ++i)
    chosen.push_back(count == 1 ? 0 : i * (programs - 1) / (count - 1));
  return chosen;
}

/// Counts up like an odometer; false after the last combination.
bool advance(std::vector<size_t> &at, const std::vector<std::vector<int64_t>> &chosen) {
  for (size_t i = at.size(); i-- > 0;) {
    if (++at[i] < chosen[i].size())
      return true;
    at[i] = 0;
  }
  return false;
}

} // namespace

std::vector<AccessCount> countAccesses(tile::KernelOp kernel, const StepSizes &sizes, const InputValue &inputs,
                                       int64_t maxPrograms) {
  std::vector<AccessCount> counts(kernel.getBody().getNumArguments());
  std::vector<std::vector<int64_t>> chosen;
  std::vector<int64_t> tiles;
  double weight = 1;
  int64_t budget = maxPrograms;
  for (auto axis : kernel.getGrid().getAsRange<tile::AxisAttr>()) {
    fuse::Dim extent = axis.getExtent();
    int64_t size = extent.isStatic() ? extent.size : sizes.lookup(extent.symbol.getValue());
    int64_t programs = (size + axis.getTile() - 1) / axis.getTile();
    if (programs == 0)
      return counts;
    chosen.push_back(selection(programs, budget));
    budget = std::max<int64_t>(2, budget / static_cast<int64_t>(chosen.back().size()));
    weight *= static_cast<double>(programs) / static_cast<double>(chosen.back().size());
    tiles.push_back(axis.getTile());
  }
  ProgramWalk walk(kernel, sizes, inputs, counts);
  std::vector<size_t> at(chosen.size(), 0);
  do {
    std::vector<int64_t> origins;
    for (size_t i = 0; i < at.size(); ++i)
      origins.push_back(chosen[i][at[i]] * tiles[i]);
    walk.run(origins, weight);
  } while (advance(at, chosen));
  return counts;
}

} // namespace fusec
