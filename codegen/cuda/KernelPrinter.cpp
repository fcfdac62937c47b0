//===- KernelPrinter.cpp - frame, header, regions and loops ----------------===//
#include "codegen/cuda/KernelPrinter.h"

#include "codegen/cuda/Barriers.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec::tile;
using fusec::fuse::Dim;

namespace fusec::codegen::cuda {

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

KernelPrinter::KernelPrinter(KernelOp kernel, const CudaEmitOptions &options)
    : kernel(kernel), options(options), rowTiles(findRowTiles(kernel, options)), forWarpgroups(isForWarpgroups()),
      threads(rowTiles ? rowTiles->threads() : chooseThreads()), layouts(threads), barriers(findBarriers(kernel)) {
  if (rowTiles)
    layOutRows();
  kernel.walk([&](arith::ConstantOp op) {
    auto value = dyn_cast<IntegerAttr>(op.getValue());
    wideIndices |= value && op.getType().isIndex() && !llvm::isInt<31>(value.getInt());
  });
}

/// What the schedule says, else a thread per lane of the widest tile.
int KernelPrinter::chooseThreads() {
  constexpr int productThreads = 384; // two warpgroups multiply, one brings x
  if (forWarpgroups)
    return productThreads;
  if (DictionaryAttr schedule = kernel.getScheduleAttr())
    if (auto given = schedule.getAs<IntegerAttr>("threads"))
      return static_cast<int>(llvm::alignTo(std::clamp<int64_t>(given.getInt(), 32, 1024), 32));
  int64_t lanes = 1;
  kernel.walk([&](Operation *op) {
    for (Value result : op->getResults())
      lanes = std::max(lanes, shapeOf(result.getType()).lanes);
  });
  return static_cast<int>(std::clamp<int64_t>(llvm::PowerOf2Ceil(lanes), 32, 256));
}

Result<CudaKernelText> KernelPrinter::print() {
  for (StringRef word :
       {"row", "col",   "step",   "value", "L",     "sizes", "shared", "exchange", "program", "programs",
        "int", "float", "double", "load",  "store", "map",   "dot",    "reduce",   "page",    "Tile"})
    usedNames[word] = 1;
  for (const std::string &symbol : options.symbols)
    usedNames[symbol] = 1;
  if (rowTiles)
    for (StringRef word : {"query", "start", "stage", "fetch", "compute"})
      usedNames[word] = 1;
  nameBuffers();
  checkScores();
  findAxes();
  emitBlock(kernel.getBody().front());
  if (!status.ok())
    return status;
  CudaKernelText result;
  result.entry = entry();
  result.threads = threads;
  result.text = assemble();
  result.sharedBytes = sharedBytes();
  if (result.sharedBytes > options.sharedBytesPerBlock)
    return resourceExhausted("kernel '" + result.entry + "' needs " + std::to_string(result.sharedBytes) +
                             " bytes of shared memory, a block of the target has " +
                             std::to_string(options.sharedBytesPerBlock));
  result.family = family();
  return status.ok() ? Result<CudaKernelText>(result) : status;
}

/// The row of the table of budgets: what limits a kernel follows from the ops it has.
std::string KernelPrinter::family() {
  int64_t rows = 0;
  bool readsPanels = false, readsPages = false, hasDot = false, hasReduce = false, hasRoot = false, hasMath = false;
  bool hasAngles = false;
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      auto type = cast<BufferType>(load.getBuffer().getType());
      readsPanels |= type.getLayout() == Layout::Panel;
      readsPages |= type.isPaged();
    }
    if (isa<DotOp>(op))
      rows = std::max(rows, shapeOf(op->getResult(0).getType()).rows);
    hasDot |= isa<DotOp>(op);
    hasReduce |= isa<ReduceOp>(op);
    hasAngles |= isa<math::SinOp, math::CosOp>(op);
    hasRoot |= isa<math::SqrtOp, math::RsqrtOp>(op);
    hasMath |=
        isa<arith::AddFOp, arith::MulFOp, arith::SubFOp, arith::DivFOp>(op) || isa<math::MathDialect>(op->getDialect());
  });
  if (hasDot && readsPages)
    return "attention";
  if (hasDot)
    return rows <= 4 && readsPanels ? "gemv" : "gemm";
  if (hasReduce)
    return hasRoot ? "norm" : "reduce";
  if (hasAngles)
    return "angles";
  return hasMath ? "elementwise" : "copy";
}

std::string KernelPrinter::assemble() {
  SourceText text;
  printHeader(text);
  text.line(!productBytes    ? "#include \"tile.cuh\""
            : forWarpgroups  ? "#include \"weight_product_warpgroup.cuh\""
            : streamsWeights ? "#include \"weight_stream.cuh\""
                             : "#include \"weight_product.cuh\"");
  if (rowTiles)
    text.line(rowTiles->isWarpgroup ? "#include \"mma_rows_warpgroup.cuh\"" : "#include \"mma_rows.cuh\"");
  if (options.scores)
    text.line("#include \"best_ids.cuh\"");
  text.blank();
  text.line("using namespace fusec;");
  text.blank();
  printSignature(text);
  SourceText inner(1);
  printPrologue(inner);
  inner.blank();
  inner.append(body, 0);
  return text.text() + inner.text() + "}\n";
}

void KernelPrinter::fail(Operation *op, const llvm::Twine &what) {
  if (status.ok())
    status = unsupported("kernel '" + kernel.getSymName().str() + "', " + op->getName().getStringRef().str() + ": " +
                         what.str());
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void KernelPrinter::emitBlock(Block &block) {
  findClusters(block);
  size_t lookups = pageLookups.size();
  llvm::StringMap<int> outerNames = usedNames;
  for (Operation &op : block) {
    if (!status.ok())
      return;
    if (barriers.contains(&op))
      out->line("barrier<L>();");
    if (op.getNumResults() != 1 || !writtenOut.contains(op.getResult(0)))
      emitOp(op);
  }
  if (openEpilogue == &block)
    out->close("});");
  // Names and looked up pages end with their C++ block.
  pageLookups.resize(lookups);
  if (isa<scf::ForOp, scf::IfOp, ReduceOp>(block.getParentOp()))
    usedNames = std::move(outerNames);
}

void KernelPrinter::emitOp(Operation &op) {
  if (rowTiles && emitAsRows(op))
    return;
  llvm::TypeSwitch<Operation *>(&op)
      .Case<ReturnOp, scf::YieldOp, tile::YieldOp, PrefetchOp>([](auto) {}) // other warps hide what a prefetch would
      .Case<OriginOp>([&](OriginOp o) {
        axes[o.getAxis()].isUsed = true;
        indexValues[o] = axes[o.getAxis()].origin;
      })
      .Case<ExtentOp>([&](ExtentOp o) { indexValues[o] = extent({fuse::DimKind::Symbolic, 0, o.getSymbolAttr()}); })
      .Case<ScratchOp>([&](ScratchOp o) { emitScratch(o); })
      .Case<LoadOp>([&](LoadOp o) { emitLoad(o); })
      .Case<StoreOp>([&](StoreOp o) { emitStore(o); })
      .Case<DotOp>([&](DotOp o) { emitDot(o); })
      .Case<ReduceOp>([&](ReduceOp o) { emitReduce(o); })
      .Case<scf::ForOp>([&](scf::ForOp o) { emitFor(o); })
      .Case<scf::IfOp>([&](scf::IfOp o) { emitIf(o); })
      .Case<arith::ConstantOp>([&](arith::ConstantOp o) { emitConstant(o); })
      .Case<vector::ExtractOp>([&](vector::ExtractOp o) { emitExtract(o); })
      .Default([&](Operation *o) {
        if (auto root = clusterRoot.find(o); root != clusterRoot.end()) {
          if (root->second == o)
            emitMap(*o);
        } else if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(o) && o->getResult(0).getType().isIndex()) {
          emitIndexCast(*o);
        } else if (isa<arith::IndexCastOp>(o) && !wideIndices && o->getResult(0).getType().isInteger(32)) {
          bind(o->getResult(0), index(o->getOperand(0)).expr()); // both are int
        } else if (isIndexArith(*o)) {
          emitIndexArith(*o);
        } else {
          emitScalar(*o);
        }
      });
}

/// What the model calls an operation; empty if it does not.
static std::string modelName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(loc); fused && !fused.getLocations().empty())
    return modelName(fused.getLocations().front());
  return "";
}

/// True if `name` is that of the model: what no operation of it asked for has the plan's location.
static bool isWholeModel(KernelOp kernel, StringRef name) {
  Operation *module = kernel->getParentOp();
  auto hasName = [&](Operation &op) { return !isa<KernelOp>(op) && modelName(op.getLoc()) == name; };
  return module && llvm::any_of(module->getRegion(0).front(), hasName);
}

/// A comment with the model operation that the next statements belong to, when that changes.
void KernelPrinter::emitLocation(Operation &op) {
  std::string name = modelName(op.getLoc());
  if (name.empty() || name == location || name == modelName(kernel.getLoc()) || isWholeModel(kernel, name))
    return;
  location = name;
  out->line("// " + name);
}

void KernelPrinter::emitScratch(ScratchOp op) {
  auto type = cast<BufferType>(op.getType());
  int64_t elements = 1;
  for (const Dim &dim : type.getDims())
    elements *= dim.size;
  buffers.insert({op.getResult(), {fresh("scratch"), type, true}});
  scratchBytes += llvm::alignTo(elements * type.getElementBytes(), 16);
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

/// True if `value` is a variable whose only use is in `block`, where it was made: it may be overwritten there.
bool KernelPrinter::isOverwritable(Value value, Block *block) {
  auto known = values.find(value);
  return value.hasOneUse() && value.getParentBlock() == block && known != values.end() &&
         variables.count(known->second.text);
}

/// The variable that carries `init` on: its own where nothing else reads it, else a copy.
std::string KernelPrinter::carry(Value init, Value result, Block *block) {
  if (isTile(init) && isOverwritable(init, block))
    return values[init].text;
  std::string name = fresh(nameFor(result));
  if (rowTiles && isParked(result)) {
    std::string type = "Parked" + StringRef(tileType(result)).drop_front(StringRef("Tile").size()).str();
    out->line(type + " " + name + "(shared + " + std::to_string(stages * stageBytes() + queryBytes() + parkedAt) +
              ");");
    out->line(name + " = " + tileName(init, layouts.of(result)) + ";");
    TileShape shape = paddedShape(result);
    parkedAt += shape.rows * shape.lanes * getElementTypeOrSelf(result.getType()).getIntOrFloatBitWidth() / 8;
    variables.insert(name);
    return name;
  }
  std::string type = isTile(init) ? "auto" : init.getType().isIndex() ? indexType() : cType(init.getType());
  out->line(type + " " + name + " = " +
            (isTile(init)               ? tileName(init, layouts.of(result))
             : init.getType().isIndex() ? index(init).text()
                                        : scalar(init).text) +
            ";");
  variables.insert(name);
  return name;
}

void KernelPrinter::emitFor(scf::ForOp op) {
  if (emitProduct(op))
    return;
  if (rowTiles)
    hoistLoads(op);
  emitLocation(*op);
  IndexExpr upper = index(op.getUpperBound()), step = index(op.getStep());
  std::vector<std::string> carried;
  for (auto [init, result] : llvm::zip(op.getInitArgs(), op.getResults()))
    carried.push_back(carry(init, result, op->getBlock()));
  bool hasDot = !op.getBody()->getOps<DotOp>().empty();
  std::string counter = fresh(hasDot ? "k" : "i");
  out->open("for (" + std::string(indexType()) + " " + counter + " = " + index(op.getLowerBound()).text() + "; " +
            counter + " < " + upper.expr().in(Binding::Shift) + "; " +
            (step.isConstant() && step.offset == 1 ? "++" + counter : counter + " += " + step.text()) + ") {");
  indexValues[op.getInductionVar()] = loopCounter(op, counter);
  for (auto [arg, name] : llvm::zip(op.getRegionIterArgs(), carried))
    bindVariable(arg, name);
  emitBlock(*op.getBody());
  emitYield(op.getBody()->getTerminator(), carried);
  out->close();
  usedNames.erase(counter);
  for (auto [result, name] : llvm::zip(op.getResults(), carried))
    bindVariable(result, name);
}

void KernelPrinter::bindVariable(Value value, const std::string &name) {
  if (value.getType().isIndex())
    indexValues[value] = IndexExpr::variable({name, Binding::Atom});
  else
    bind(value, {name, Binding::Atom});
}

std::string KernelPrinter::textOf(Value value) {
  if (value.getType().isIndex())
    return index(value).text();
  return isTile(value) ? tileName(value) : scalar(value).text;
}

/// Assigns the yielded values to the variables `names`.
void KernelPrinter::emitYield(Operation *yield, ArrayRef<std::string> names) {
  std::vector<std::pair<std::string, std::string>> assignments;
  for (auto [value, name] : llvm::zip(yield->getOperands(), names)) {
    std::string text = textOf(value);
    if (text != name)
      assignments.push_back({name, text});
  }
  assignAtOnce(std::move(assignments));
}

/// A text that names a variable assigned earlier is kept in a variable of its own.
void KernelPrinter::assignAtOnce(std::vector<std::pair<std::string, std::string>> assignments) {
  for (size_t i = 0; i < assignments.size(); ++i)
    for (size_t before = 0; before < i; ++before)
      if (mentions(assignments[i].second, assignments[before].first)) {
        std::string next = fresh("next");
        out->line("const auto " + next + " = " + assignments[i].second + ";");
        assignments[i].second = next;
      }
  // Copies come before every assignment.
  for (auto &[name, text] : assignments)
    out->line(name + " = " + text + ";");
}

void KernelPrinter::emitIf(scf::IfOp op) {
  emitLocation(*op);
  std::string condition = scalar(op.getCondition()).text;
  std::vector<std::string> names;
  for (Value result : op.getResults()) {
    std::string name = fresh(nameFor(result));
    bool isIndex = result.getType().isIndex();
    out->line((isTile(result) ? tileType(result) : isIndex ? indexType() : cType(result.getType())) + " " + name + ";");
    variables.insert(name);
    names.push_back(name);
  }
  out->open("if (" + condition + ") {");
  for (Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    if (&region != &op.getThenRegion()) {
      out->close("} else {");
      out->indent();
    }
    std::string here = location;
    emitBlock(region.front());
    emitYield(region.front().getTerminator(), names);
    location = here;
  }
  out->close();
  for (auto [result, name] : llvm::zip(op.getResults(), names))
    bindVariable(result, name);
}

} // namespace fusec::codegen::cuda

fusec::Result<fusec::codegen::CudaKernelText> fusec::codegen::emitCudaKernel(KernelOp kernel,
                                                                             const CudaEmitOptions &options) {
  return cuda::KernelPrinter(kernel, options).print();
}
