//===- EmitProduct.cpp - whole loops over k as one call ---------------------===//
//
// A loop over slices of k (SlicedProduct.h) becomes a call:
//
//   rounded operands  weightProductSpread (weightProductStreamed where the loop
//                     says so), weightProductTiled or, on sm_90a,
//                     weightProductWarpgroup, on tensor cores
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
#include "codegen/cuda/device/product_scratch.cuh"
#include "runtime/schema/PanelLayout.h"

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

/// True if nothing but the product reads the matrix: the text declares it for the call.
static bool isReadHereOnly(Value matrix, scf::ForOp loop) {
  return llvm::all_of(matrix.getUsers(), [&](Operation *user) {
    return loop->isAncestor(user) && llvm::all_of(user->getUsers(), llvm::IsaPred<DotOp>);
  });
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
    if (!weight || weight.getIndices()[0] != steps.getInductionVar() || !isReadHereOnly(weight.getBuffer(), loop) ||
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

/// True if the kernel is one product with the shapes of weight_product_warpgroup.cuh.
bool KernelPrinter::isForWarpgroups() {
  constexpr int64_t lanes = 128, rows[] = {32, 64, 128};
  if (!options.hasWarpgroupProducts)
    return false;
  for (auto loop : kernel.getBody().front().getOps<scf::ForOp>())
    if (std::optional<SlicedProduct> product = matchSlicedProduct(loop)) {
      TileShape sums = shapeOf(product->sumType());
      return product->operand && !product->isSpread && sums.lanes == lanes && llvm::is_contained(rows, sums.rows) &&
             llvm::all_of(product->dots, weightOf) && callsOf(*product).size() == 1;
    }
  return false;
}

/// Bytes of a super-block of the matrix that a dot multiplies by; 0 for plain types.
static int superBytesOf(DotOp dot) {
  const PanelFormat &format = panelFormat(*cast<BufferType>(weightOf(dot).getBuffer().getType()).getStorage());
  return format.bits == 0 ? 0 : static_cast<int>(panelOffsets(format).superBytes);
}

/// True if the product's matrices can come through a ring: one call, slices of whole super-blocks.
static bool canStream(SlicedProduct &product) {
  if (!product.operand || !product.isSpread || callsOf(product).size() != 1)
    return false;
  auto type = cast<BufferType>(weightOf(product.dots.front()).getBuffer().getType());
  const PanelFormat &format = panelFormat(*type.getStorage());
  return format.bits != 0 && product.slice % format.superElements == 0;
}

/// Shared memory that the call needs.
static int64_t scratchOf(ProductForm form, TileShape padded, int64_t warps, int64_t count, int superBytes) {
  const int tokens = static_cast<int>(padded.rows), rows = static_cast<int>(padded.lanes);
  const int blockWarps = static_cast<int>(warps), products = static_cast<int>(count);
  switch (form) {
  case ProductForm::Spread:
    return spreadScratch(tokens, rows, blockWarps, products);
  case ProductForm::Streamed:
    return streamScratch(tokens, rows, blockWarps, products, superBytes);
  case ProductForm::Tiled:
    return tiledScratch(tokens);
  case ProductForm::Warpgroup:
    return warpgroupScratch(tokens);
  }
  return 0;
}

/// "weightProductTiled<64, 128, 96, 8>"
static std::string functionOf(ProductForm form, const SlicedProduct &product, TileShape padded, int64_t warps) {
  std::string tokens = std::to_string(padded.rows), slice = std::to_string(product.slice);
  if (form == ProductForm::Warpgroup)
    return "weightProductWarpgroup<" + tokens + ", " + slice + ">";
  StringRef name = form == ProductForm::Spread     ? "weightProductSpread"
                   : form == ProductForm::Streamed ? "weightProductStreamed"
                                                   : "weightProductTiled";
  return name.str() + "<" + tokens + ", " + std::to_string(padded.lanes) + ", " + slice + ", " + std::to_string(warps) +
         ">";
}

/// One call for dots with the same x. The warpgroup form leaves its epilogue's lambda open.
void KernelPrinter::emitProductCall(SlicedProduct &product, ArrayRef<unsigned> call, ProductForm form,
                                    TileShape padded) {
  std::vector<std::string> weights, names;
  for (unsigned i : call) {
    weights.push_back(declareWeight(product.dots[i], product));
    names.push_back(fresh(weights.back() + "Sum"));
    bind(product.slices.getResult(i), {names.back()});
  }
  DotOp dot = product.dots[call.front()];
  int64_t warps = threads / warpThreads;
  bool isSingle = call.size() == 1, isOpen = form == ProductForm::Warpgroup;
  productBytes = std::max<int64_t>(productBytes, scratchOf(form, padded, warps, call.size(), superBytesOf(dot)));
  std::string result = isSingle ? names.front() : fresh("sums");
  std::string type = "WarpgroupTile<" + std::to_string(padded.rows) + ">";
  if (!isSingle)
    type = "Products<" + std::to_string(call.size()) + ", " + type + ">";
  std::string which = isSingle ? weights.front() : "together(" + llvm::join(weights, ", ") + ")";
  std::string first = index(weightOf(dot).getIndices()[1]).text();
  out->call((isOpen ? "" : "const auto " + result + " = ") + functionOf(form, product, padded, warps) + "(" + which +
                ", " + first + ", ",
            {operandsText(dot.getLhs(), product, padded)},
            isOpen ? ", products, [&](const " + type + " &" + result + ") {" : ", products);");
  if (isOpen) {
    out->indent();
    openEpilogue = product.slices->getBlock();
  }
  for (auto [place, name] : llvm::enumerate(names))
    if (!isSingle)
      out->line("const auto &" + name + " = " + result + ".tile[" + std::to_string(place) + "];");
}

void KernelPrinter::emitSpreadDots(SlicedProduct &product, unsigned number, TileShape padded) {
  DotOp dot = product.dots[number];
  int64_t warps = threads / warpThreads;
  productBytes = std::max<int64_t>(productBytes, warps * padded.rows * padded.lanes * 4);
  LambdaText x = elementText(dot.getLhs(), product);
  IndexExpr k = laneIndex("k", product.columns);
  k.divisor = product.step;
  indexValues[product.steps.getInductionVar()] = k;
  LambdaText weight = loadText(access(weightOf(dot)), "step", "col", {product.step, padded.lanes});
  weight.parameters.insert(weight.parameters.begin(), "int k");
  std::string name = fresh("sum"), sizes;
  for (int64_t size : {padded.rows, padded.lanes, product.columns, product.slice, product.step, warps})
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  out->call("const auto " + name + " = spreadDots<" + sizes + ">(", {x, weight}, ", products);");
  bind(product.slices.getResult(number), {name});
}

/// The layout of the sums, and of all that is computed with them.
const TileLayout *KernelPrinter::layOutSums(SlicedProduct &product, ProductForm form) {
  int64_t warps = form == ProductForm::Warpgroup ? 8 : threads / warpThreads;
  bool isSpread = form == ProductForm::Spread || form == ProductForm::Streamed;
  TileLayout layout{.name = "Sums", .type = "", .hasSlots = false, .padsOneRow = true, .padsOneLane = true};
  layout.type = isSpread ? "Flat<" + std::to_string(threads) + ">" : "MmaLanes<" + std::to_string(warps) + ">";
  layout.rowUnit = isSpread ? 1 : tokenRows;
  layout.laneUnit = !product.operand ? 1 : isSpread ? blockRows : blockRows * warps;
  const TileLayout *kept = layouts.add(layout);
  layouts.assignAfter(product.slices, kept);
  TileShape sums = shapeOf(product.sumType());
  for (Operation *next = product.slices->getNextNode(); next; next = next->getNextNode())
    for (Value result : next->getResults())
      if (isTile(result) && !(shapeOf(result.getType()) == sums))
        writtenOut.insert(result);
  return kept;
}

/// Prints the loop as calls; false leaves it to be a loop.
bool KernelPrinter::emitProduct(scf::ForOp op) {
  std::optional<SlicedProduct> product = matchSlicedProduct(op);
  if (!product || !isProduct(*product))
    return false;
  emitLocation(*op);
  if (product->isStreamed && !canStream(*product))
    fail(op, "asks for streamed weights, which want rounded operands and slices of whole super-blocks of one format");
  streamsWeights |= product->isStreamed;
  ProductForm form = product->isStreamed ? ProductForm::Streamed
                     : product->isSpread ? ProductForm::Spread
                     : forWarpgroups     ? ProductForm::Warpgroup
                                         : ProductForm::Tiled;
  TileShape padded = layOutSums(*product, form)->padded(shapeOf(product->sumType()));
  bool waits = false;
  op.getBody()->walk([&](Operation *inner) { waits |= barriers.contains(inner); });
  if (waits)
    out->line("barrier<L>();");
  publishRows(*product);
  bool isFirst = true;
  for (ArrayRef<unsigned> call : callsOf(*product)) {
    if (!isFirst)
      out->line("barrier<L>();"); // the last call's scratch is free
    isFirst = false;
    if (product->operand)
      emitProductCall(*product, call, form, padded);
    else
      for (unsigned number : call) {
        if (number != call.front())
          out->line("barrier<L>();");
        emitSpreadDots(*product, number, padded);
      }
  }
  return true;
}

} // namespace fusec::codegen::cuda
