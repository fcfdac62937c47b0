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
    : kernel(kernel), options(options), threads(chooseThreads()), barriers(findBarriers(kernel)) {
  kernel.walk([&](arith::ConstantOp op) {
    auto value = dyn_cast<IntegerAttr>(op.getValue());
    wideIndices |= value && op.getType().isIndex() && !llvm::isInt<31>(value.getInt());
  });
}

/// What the schedule says, else a thread per lane of the widest tile.
int KernelPrinter::chooseThreads() {
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
  nameBuffers();
  findAxes();
  emitBlock(kernel.getBody().front());
  if (!status.ok())
    return status;
  CudaKernelText result;
  result.entry = kernel.getSymName().str();
  result.threads = threads;
  result.text = assemble();
  result.sharedBytes = scratchBytes + 2 * exchangeBytes;
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
  text.line("#include \"tile.cuh\"");
  text.blank();
  text.line("using namespace fusec;");
  text.blank();
  printSignature(text);
  SourceText prologue(1);
  printPrologue(prologue);
  return text.text() + prologue.text() + "\n" + body.text() + "}\n";
}

static std::string typeText(Attribute type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// "[T, 576] f32", "[960, 576] q4_1 panels".
static std::string describe(BufferType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(type.getDims(), os, [&](const Dim &dim) {
    if (dim.isStatic())
      os << dim.size;
    else
      os << dim.symbol.getValue();
  });
  os << "] ";
  if (type.getStorage())
    os << std::string(info(*type.getStorage()).name);
  else
    os << type.getElementType();
  static constexpr StringRef layouts[] = {"", " panels", " pages [H][D][P]", " pages [H][P][D]"};
  os << layouts[static_cast<int>(type.getLayout())];
  return text;
}

void KernelPrinter::printHeader(SourceText &text) {
  std::string name = kernel.getSymName().str();
  text.line("//===- " + name + " " + std::string(std::max<int64_t>(1, 65 - static_cast<int64_t>(name.size())), '-') +
            "===//");
  if (!options.implements.empty())
    text.line("// What       " + llvm::join(options.implements, ", "));
  std::vector<std::string> axes;
  for (auto axis : kernel.getGrid().getAsRange<AxisAttr>()) {
    Dim dim = axis.getExtent();
    std::string extent = dim.isStatic() ? std::to_string(dim.size) : dim.symbol.getValue().str();
    axes.push_back(axis.getTile() == 1 ? extent : extent + " by " + std::to_string(axis.getTile()));
  }
  text.line("// Grid       " + llvm::join(axes, " x ") + ", a block of " + std::to_string(threads) +
            " threads for each program, last axis fastest");
  if (DictionaryAttr schedule = kernel.getScheduleAttr()) {
    std::vector<std::string> choices;
    for (NamedAttribute choice : schedule) {
      std::string value = isa<IntegerAttr>(choice.getValue())
                              ? std::to_string(cast<IntegerAttr>(choice.getValue()).getInt())
                              : typeText(choice.getValue());
      choices.push_back(choice.getName().str() + " = " + value);
    }
    text.line("// Schedule   " + llvm::join(choices, ", "));
  }
  if (scratchBytes + exchangeBytes > 0)
    text.line("// Shared     " + std::to_string(scratchBytes + 2 * exchangeBytes) + " bytes");
  text.line("//===----------------------------------------------------------------------===//");
}

void KernelPrinter::printSignature(SourceText &text) {
  std::vector<std::pair<std::string, std::string>> parameters;
  llvm::SmallDenseSet<Value> stored;
  kernel.walk([&](StoreOp op) { stored.insert(op.getBuffer()); });
  for (auto &[value, buffer] : buffers) {
    if (buffer.isScratch)
      continue;
    bool isPanel = buffer.type.getLayout() == Layout::Panel;
    std::string type = isPanel ? "void" : cType(buffer.type.getElementType());
    if (buffer.type.isPaged() && buffer.type.getStorage() == StorageType::F16)
      type = "Half";
    if (buffer.type.isPaged() && buffer.type.getStorage() == StorageType::BF16)
      type = "Bfloat";
    std::string name = isPanel ? buffer.name + "Packed" : buffer.name;
    parameters.push_back({(stored.contains(value) ? "" : "const ") + type + " *" + name, describe(buffer.type)});
  }
  std::string sizes = "[" + llvm::join(options.symbols, ", ") + "]";
  parameters.push_back({"const long long *sizes", sizes});
  size_t widest = 0;
  for (auto &[parameter, comment] : parameters)
    widest = std::max(widest, parameter.size() + 1);
  text.line("extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ") " +
            kernel.getSymName().str() + "(");
  for (size_t i = 0; i < parameters.size(); ++i) {
    bool isLast = i + 1 == parameters.size();
    std::string entry = parameters[i].first + (isLast ? ") {" : ",");
    text.line("    " + entry + std::string(widest + 3 - entry.size(), ' ') + "// " + parameters[i].second);
  }
}

void KernelPrinter::printPrologue(SourceText &text) {
  text.line("using L = Lanes<" + std::to_string(threads) + ">;");
  printPrograms(text);
  for (auto &[value, buffer] : buffers) {
    if (buffer.isScratch || buffer.type.getLayout() != Layout::Panel)
      continue;
    static constexpr StringRef formats[] = {"float", "Half", "Bfloat", "Q4_0", "Q4_1", "Q5_0",
                                            "Q5_1",  "Q8_0", "Q4_K",   "Q5_K", "Q6_K"};
    static_assert(std::size(formats) == std::size(storageTypes), "each storage type needs a name in panel.cuh");
    text.line("const Panel<" + formats[static_cast<int>(*buffer.type.getStorage())].str() + ", " +
              std::to_string(buffer.type.getDims()[1].size) + "> " + buffer.name + "(" + buffer.name + "Packed);");
  }
  if (scratchBytes + exchangeBytes == 0)
    return;
  text.line("extern __shared__ __align__(16) unsigned char shared[];");
  int64_t at = 0;
  for (auto &[value, buffer] : buffers) {
    if (!buffer.isScratch)
      continue;
    std::string type = cType(buffer.type.getElementType());
    std::string where = at ? "shared + " + std::to_string(at) : "shared";
    text.line(type + " *const " + buffer.name + " = reinterpret_cast<" + type + " *>(" + where + "); // " +
              describe(buffer.type));
    int64_t elements = 1;
    for (const Dim &dim : buffer.type.getDims())
      elements *= dim.size;
    at += llvm::alignTo(elements * buffer.type.getElementBytes(), 16);
  }
  if (exchangeBytes)
    text.line("Exchange<" + std::to_string(2 * exchangeBytes) + "> exchange(shared" +
              (at ? " + " + std::to_string(at) : "") + ");");
}

/// Sizes, the number of programs, this block's and its origins.
void KernelPrinter::printPrograms(SourceText &text) {
  for (const std::string &symbol : options.symbols) {
    if (!usedSymbols.count(symbol))
      continue;
    size_t at = llvm::find(options.symbols, symbol) - options.symbols.begin();
    std::string value = "sizes[" + std::to_string(at) + "]";
    text.line("const " + std::string(indexType()) + " " + symbol + " = " +
              (wideIndices ? value : "static_cast<int>(" + value + ")") + ";");
  }
  IndexExpr programs = IndexExpr::constant(1);
  for (const GridAxis &axis : axes)
    programs = programs.times(axis.count);
  text.line("const int program = static_cast<int>(blockIdx.x);");
  text.line("if (program >= " + programs.expr().in(Binding::Shift) + ")");
  text.line("  return;");
  IndexExpr rest = IndexExpr::constant(1); // programs of the axes after this one
  std::vector<std::string> origins;
  for (const GridAxis &axis : llvm::reverse(axes)) {
    CExpr number{"program", Binding::Atom};
    if (!rest.isConstant() || rest.offset != 1)
      number = {"program / " + rest.expr().in(Binding::Unary), Binding::Product};
    if (&axis != &axes.front())
      number = {number.in(Binding::Product) + " % " + axis.count.expr().in(Binding::Unary), Binding::Product};
    if (axis.tile != 1)
      number = {number.in(Binding::Product) + " * " + std::to_string(axis.tile), Binding::Product};
    if (axis.isUsed && !axis.origin.isConstant())
      origins.push_back("const int " + axis.origin.text() + " = " + number.text + ";");
    rest = rest.times(axis.count);
  }
  for (const std::string &origin : llvm::reverse(origins))
    text.line(origin);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string KernelPrinter::fresh(StringRef wish) {
  std::string name;
  for (char c : wish)
    name += llvm::isAlnum(c) ? c : '_';
  if (name.empty() || llvm::isDigit(name[0]))
    name = "v" + name;
  int &uses = usedNames[name];
  if (uses++ == 0)
    return name;
  std::string numbered = name + std::to_string(uses);
  return usedNames.count(numbered) ? fresh(numbered) : (usedNames[numbered] = 1, numbered);
}

namespace {
struct RoleName {
  llvm::StringLiteral op, name;
};
constexpr RoleName roleNames[] = {
    {"arith.addf", "sum"},         {"arith.subf", "difference"},   {"arith.mulf", "product"},
    {"arith.divf", "quotient"},    {"arith.maximumf", "largest"},  {"arith.minimumf", "smallest"},
    {"arith.maxnumf", "largest"},  {"arith.cmpf", "test"},         {"arith.cmpi", "test"},
    {"arith.select", "chosen"},    {"arith.negf", "negative"},     {"math.exp", "exponential"},
    {"math.rsqrt", "scale"},       {"math.sqrt", "root"},          {"math.tanh", "tanhOf"},
    {"math.cos", "cosine"},        {"math.sin", "sine"},           {"tile.dot", "sum"},
    {"tile.reduce", "folded"},     {"arith.truncf", "rounded"},    {"arith.extf", "exact"},
    {"arith.sitofp", "number"},    {"arith.index_cast", "number"}, {"vector.broadcast", "spreadOut"},
    {"tile.index", "indices"},     {"arith.constant", "constant"}, {"arith.addi", "position"},
    {"arith.subi", "left"},        {"arith.minsi", "end"},         {"arith.maxsi", "start"},
    {"arith.muli", "multiple"},    {"arith.divui", "whole"},       {"vector.extract", "part"},
    {"vector.shape_cast", "tile"}, {"arith.andi", "both"},         {"arith.ori", "either"},
};
} // namespace

std::string KernelPrinter::nameFor(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto loop = dyn_cast_or_null<scf::ForOp>(op)) // what the loop carries
    return nameFor(loop.getBody()->getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()));
  if (auto load = dyn_cast_or_null<LoadOp>(op))
    return buffers[load.getBuffer()].name + (isTile(value) ? "Tile" : "Value");
  if (auto reduce = dyn_cast_or_null<ReduceOp>(op)) {
    Value merged = reduce.getCombine().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    return isa_and_nonnull<arith::AddFOp>(merged.getDefiningOp()) ? "total"
           : merged.getDefiningOp()                               ? nameFor(merged)
                                                                  : "folded";
  }
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) // a value and what replaces it
    for (auto [kept, other] : {std::pair(select.getTrueValue(), select.getFalseValue()),
                               std::pair(select.getFalseValue(), select.getTrueValue())})
      if (matchPattern(other, m_Constant()) && kept.getDefiningOp() && !isa<arith::ConstantOp>(kept.getDefiningOp()))
        return nameFor(kept);
  if (op)
    for (const RoleName &role : roleNames)
      if (role.op == op->getName().getStringRef())
        return role.name.str();
  return "carried";
}

/// Plan names where given, else what the buffer is used for.
void KernelPrinter::nameBuffers() {
  llvm::SmallDenseSet<Value> stored, loaded, tables;
  kernel.walk([&](StoreOp op) {
    stored.insert(op.getBuffer());
    tables.insert(op.getPages());
  });
  kernel.walk([&](LoadOp op) {
    loaded.insert(op.getBuffer());
    tables.insert(op.getPages());
  });
  for (BlockArgument arg : kernel.getBody().getArguments()) {
    auto type = cast<BufferType>(arg.getType());
    bool isStatic = llvm::all_of(type.getDims(), [](const Dim &d) { return d.isStatic(); });
    StringRef role = tables.contains(arg)                            ? "blockTable"
                     : type.getLayout() == Layout::Panel             ? "weights"
                     : type.getLayout() == Layout::PagedK            ? "keys"
                     : type.getLayout() == Layout::PagedV            ? "values"
                     : stored.contains(arg) && !loaded.contains(arg) ? "output"
                     : type.getElementType().isInteger()             ? "ids"
                     : isStatic                                      ? "vector"
                                                                     : "input";
    size_t i = arg.getArgNumber();
    std::string name = fresh(i < options.bufferNames.size() ? StringRef(options.bufferNames[i]) : role);
    buffers.insert({arg, {name, type}});
  }
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
    emitOp(op);
  }
  // Names and looked up pages end with their C++ block.
  pageLookups.resize(lookups);
  if (isa<scf::ForOp, scf::IfOp, ReduceOp>(block.getParentOp()))
    usedNames = std::move(outerNames);
}

void KernelPrinter::emitOp(Operation &op) {
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

/// A comment with the model operation that the next statements belong to, when that changes.
void KernelPrinter::emitLocation(Operation &op) {
  std::string name = modelName(op.getLoc());
  if (name.empty() || name == location)
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
  std::string type = isTile(init) ? "auto" : init.getType().isIndex() ? indexType() : cType(init.getType());
  out->line(type + " " + name + " = " +
            (isTile(init)               ? tileName(init)
             : init.getType().isIndex() ? index(init).text()
                                        : scalar(init).text) +
            ";");
  variables.insert(name);
  return name;
}

void KernelPrinter::emitFor(scf::ForOp op) {
  if (emitSpread(op))
    return;
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
  // All assignments happen at once: a text that names a variable assigned earlier is kept in a variable of its own.
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
    out->line((isTile(result) ? tileType(result.getType())
               : isIndex      ? indexType()
                              : cType(result.getType())) +
              " " + name + ";");
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
