//===- EmitProduct.cpp - whole loops over k as one call ---------------------===//
//
// A loop over slices of k (SlicedProduct.h) becomes a call:
//
//   rounded operands  weightProductSpread or weightProductTiled, on tensor cores
//   f32, spread       spreadDots: each warp adds up its slices in registers
//
// The call says where an element of x is (EmitElement.cpp) and which packed
// matrix it is multiplied by. The sums lie in a layout of their own, `Sums`, and
// so does all that is computed with them. Row values that were folded before pass
// through shared memory: their layout is another one.
//
// f32 without `spread` stays a loop of dots.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/MapCluster.h"
#include "codegen/cuda/SlicedProduct.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen::cuda {

static constexpr int64_t blockRows = 16, tokenRows = 8, warpThreads = 32;

//===----------------------------------------------------------------------===//
// What can be one call
//===----------------------------------------------------------------------===//

/// The matrix a dot multiplies by, read at [first + lane, k + step]; null for anything else.
static LoadOp weightOf(DotOp dot) {
  auto load = dot.getRhs().getDefiningOp<LoadOp>();
  auto type = load ? cast<BufferType>(load.getBuffer().getType()) : BufferType();
  bool isPanel = load && type.getLayout() == Layout::Panel && load.getIndices().size() == 2;
  auto swapped = AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0}, dot.getContext());
  return isPanel && load.getMap() == swapped ? load : LoadOp();
}

/// True if `value` exists before `loop` is run.
static bool isBefore(Value value, scf::ForOp loop) {
  Operation *owner = value.getParentBlock()->getParentOp();
  if (owner == loop || loop->isAncestor(owner))
    return false;
  Operation *op = value.getDefiningOp();
  return !op || op->getBlock() != loop->getBlock() || op->isBeforeInBlock(loop);
}

/// Tiles computed before the product that `value` reads, through ops that are written out wherever they are read.
static void collectOuter(Value value, scf::ForOp loop, llvm::SetVector<Value> &outer) {
  Operation *op = value.getDefiningOp();
  if (!isa<VectorType>(value.getType()) || (op && isa<arith::ConstantOp>(op)) || !isBefore(value, loop))
    return;
  if (!op || !isFree(op))
    outer.insert(value);
  else
    for (Value operand : op->getOperands())
      collectOuter(operand, loop, outer);
}

/// All such tiles that the product and what follows it read.
static llvm::SetVector<Value> outerTiles(scf::ForOp loop) {
  llvm::SetVector<Value> outer;
  auto visit = [&](Operation *op) {
    for (Value operand : op->getOperands())
      collectOuter(operand, loop, outer);
  };
  loop.getBody()->walk(visit);
  for (Operation *next = loop->getNextNode(); next; next = next->getNextNode())
    next->walk(visit);
  return outer;
}

/// True if `op`, after a product with sums of this shape, works on elements one by one.
static bool isEpilogue(Operation &op, TileShape sums) {
  if (auto store = dyn_cast<StoreOp>(op))
    return !isa<VectorType>(store.getValue().getType()) || shapeOf(store.getValue().getType()) == sums;
  return op.getNumRegions() == 0 &&
         (isa<LoadOp>(op) || isElementwise(&op) || llvm::none_of(op.getResultTypes(), llvm::IsaPred<VectorType>));
}

/// True if a tile of x is loads and elementwise ops only.
static bool isElementTree(Value value, scf::ForOp steps) {
  Operation *op = value.getDefiningOp();
  if (!op || !steps->isAncestor(op))
    return true; // outerTiles() says more
  return isa<LoadOp>(op) || (isElementwise(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
                               return !isa<VectorType>(operand.getType()) || isElementTree(operand, steps);
                             }));
}

bool KernelPrinter::isProduct(SlicedProduct &product) {
  scf::ForOp loop = product.slices, steps = product.steps;
  if (!product.operand && !product.isSpread)
    return false;
  TileShape sums = shapeOf(product.sumType());
  for (DotOp dot : product.dots) {
    LoadOp weight = weightOf(dot);
    if (!weight || weight.getIndices()[0] != steps.getInductionVar() ||
        index(weight.getIndices()[1]).alignment(blockRows) != blockRows || !isElementTree(dot.getLhs(), steps))
      return false;
  }
  for (Operation *next = loop->getNextNode(); next; next = next->getNextNode())
    if (!isEpilogue(*next, sums))
      return false;
  return llvm::all_of(outerTiles(loop), [](Value value) {
    return shapeOf(value.getType()).lanes == 1 && getElementTypeOrSelf(value.getType()).isF32();
  });
}

//===----------------------------------------------------------------------===//
// Row values
//===----------------------------------------------------------------------===//

/// Puts the row values that the product or its epilogue reads where all threads see them.
void KernelPrinter::publishRows(SlicedProduct &product) {
  bool isAny = false;
  for (Value value : outerTiles(product.slices)) {
    std::string tile = tileName(value), name = fresh(tile + "Rows");
    int64_t rows = shapeOf(value.getType()).rows;
    auto type = BufferType::get(value.getContext(), {fuse::Dim::fixed(rows)}, getElementTypeOrSelf(value.getType()));
    buffers.insert({value, {name, type, true}});
    scratchBytes += llvm::alignTo(rows * 4, 16);
    LambdaText put{{"int row", "int col", "float value"}, {name + "[row] = value;"}, ""};
    out->call("store(" + tile + ", ", {put}, ");");
    sharedRows[value] = name;
    isAny = true;
  }
  if (isAny)
    out->line("barrier<L>();");
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Declares the matrix of a dot as the library's weight, once; its name.
std::string KernelPrinter::declareWeight(DotOp dot, SlicedProduct &product) {
  Value value = weightOf(dot).getBuffer();
  const KernelBuffer &buffer = buffers[value];
  weightMatrices[value] = "PanelWeight<" + formatName(*buffer.type.getStorage()) + ", " + cType(product.operand) +
                          ", " + std::to_string(product.columns) + "> " + buffer.name + "{" + buffer.name + "Packed, " +
                          std::to_string(buffer.type.getDims()[0].size) + "};";
  return buffer.name;
}

void KernelPrinter::bindSums(SlicedProduct &product, ArrayRef<std::string> names) {
  for (auto [result, name] : llvm::zip_equal(product.slices.getResults(), names))
    bind(result, {name});
}

/// Dots that one call can do: with the same x and weights of one format.
static SmallVector<SmallVector<unsigned>> callsOf(SlicedProduct &product) {
  auto alike = [](DotOp a, DotOp b) {
    LoadOp first = weightOf(a), second = weightOf(b);
    auto dims = [](LoadOp load) { return cast<BufferType>(load.getBuffer().getType()); };
    return a.getLhs() == b.getLhs() && dims(first) == dims(second) && first.getIndices() == second.getIndices();
  };
  SmallVector<SmallVector<unsigned>> calls;
  for (unsigned i = 0; i < product.dots.size(); ++i) {
    auto call = llvm::find_if(calls, [&](auto &call) { return alike(product.dots[call.front()], product.dots[i]); });
    if (call == calls.end())
      calls.push_back({i});
    else
      call->push_back(i);
  }
  return calls;
}

void KernelPrinter::emitTensorCoreProduct(SlicedProduct &product, TileShape padded) {
  int64_t warps = threads / warpThreads;
  std::vector<std::string> names(product.dots.size());
  bool isFirst = true;
  for (ArrayRef<unsigned> call : callsOf(product)) {
    std::vector<std::string> weights;
    for (unsigned i : call) {
      weights.push_back(declareWeight(product.dots[i], product));
      names[i] = fresh(weights.back() + "Sum");
    }
    DotOp dot = product.dots[call.front()];
    int64_t count = call.size();
    constexpr int64_t partPitch = 4, stageBytes = 2 * 2 * 512; // weight_product.cuh
    productBytes =
        std::max<int64_t>(productBytes, product.isSpread ? count * warps * padded.rows * (padded.lanes + partPitch) * 4
                                                         : padded.rows / tokenRows * stageBytes);
    if (!isFirst)
      out->line("barrier<L>();"); // the last product's scratch is free
    isFirst = false;
    std::string result = count == 1 ? names[call.front()] : fresh("sums");
    std::string function = product.isSpread ? "weightProductSpread" : "weightProductTiled";
    std::string which = count == 1 ? weights.front() : "together(" + llvm::join(weights, ", ") + ")";
    std::string first = index(weightOf(dot).getIndices()[1]).text();
    out->call("const auto " + result + " = " + function + "<" + std::to_string(padded.rows) + ", " +
                  std::to_string(padded.lanes) + ", " + std::to_string(product.slice) + ", " + std::to_string(warps) +
                  ">(" + which + ", " + first + ", ",
              {operandsText(dot.getLhs(), product, padded)}, ", products);");
    for (auto [place, i] : llvm::enumerate(call))
      if (count > 1)
        out->line("const auto &" + names[i] + " = " + result + ".tile[" + std::to_string(place) + "];");
  }
  bindSums(product, names);
}

void KernelPrinter::emitSpreadDots(SlicedProduct &product, TileShape padded) {
  int64_t warps = threads / warpThreads;
  std::vector<std::string> names;
  for (DotOp dot : product.dots) {
    productBytes = std::max<int64_t>(productBytes, warps * padded.rows * padded.lanes * 4);
    if (!names.empty())
      out->line("barrier<L>();"); // the last product's scratch is free
    names.push_back(fresh("sum"));
    LambdaText x = elementText(dot.getLhs(), product);
    IndexExpr k = laneIndex("k", product.columns);
    k.divisor = product.step;
    scf::ForOp steps = product.steps;
    indexValues[steps.getInductionVar()] = k;
    LambdaText weight = loadText(access(weightOf(dot)), "step", "col", {product.step, padded.lanes});
    weight.parameters.insert(weight.parameters.begin(), "int k");
    std::string sizes;
    for (int64_t size : {padded.rows, padded.lanes, product.columns, product.slice, product.step, warps})
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    out->call("const auto " + names.back() + " = spreadDots<" + sizes + ">(", {x, weight}, ", products);");
  }
  bindSums(product, names);
}

/// Prints the loop as a call; false leaves it to be a loop.
bool KernelPrinter::emitProduct(scf::ForOp op) {
  std::optional<SlicedProduct> product = matchSlicedProduct(op);
  if (!product || !isProduct(*product))
    return false;
  emitLocation(*op);
  TileShape sums = shapeOf(product->sumType());
  int64_t warps = threads / warpThreads;
  TileLayout layout{.name = "Sums", .type = "", .hasSlots = false, .padsOneRow = true, .padsOneLane = true};
  bool isSpread = product->isSpread;
  layout.type = isSpread ? "Flat<" + std::to_string(threads) + ">" : "MmaLanes<" + std::to_string(warps) + ">";
  layout.rowUnit = isSpread ? 1 : tokenRows;
  layout.laneUnit = !product->operand ? 1 : isSpread ? blockRows : blockRows * warps;
  const TileLayout *kept = layouts.add(layout);
  layouts.assignAfter(op, kept);
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    for (Value result : next->getResults())
      if (isTile(result) && !(shapeOf(result.getType()) == sums))
        writtenOut.insert(result);
  bool waits = false;
  op.getBody()->walk([&](Operation *inner) { waits |= barriers.contains(inner); });
  if (waits)
    out->line("barrier<L>();");
  publishRows(*product);
  if (product->operand)
    emitTensorCoreProduct(*product, kept->padded(sums));
  else
    emitSpreadDots(*product, kept->padded(sums));
  return true;
}

} // namespace fusec::codegen::cuda
