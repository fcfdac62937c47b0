//===- FuseToPlan.cpp - the grouped graph as kernels and a program ---------------===//
//
// 1. Write the kernels of each group; drop those equal to earlier ones.
// 2. Declare a buffer for every value that lives in memory.
// 3. Launch the groups in order; drop the graph.
//
//===----------------------------------------------------------------------===//
#include "ir/plan/PlanDialect.h"
#include "passes/Passes.h"
#include "passes/derive/Cascade.h"
#include "passes/lowering/KernelWriter.h"
#include "passes/lowering/LibraryProduct.h"
#include "passes/report/OpName.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

#include <map>

namespace fusec {
#define GEN_PASS_DEF_FUSETOPLANPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;
namespace tile = fusec::tile;
namespace plan = fusec::plan;
using namespace fusec::fuse;

namespace {

using fusec::KernelGroup;
using fusec::WrittenKernel;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Whether a kernel other than `group` reads the value (or it leaves the graph).
bool isReadElsewhere(Value value, const KernelGroup &group) {
  SmallVector<Operation *> pending(value.getUsers());
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!pending.empty()) {
    Operation *user = pending.pop_back_val();
    if (!seen.insert(user).second)
      continue;
    if (fusec::isIndexOnly(user) || user->hasAttr("inline"))
      llvm::append_range(pending, user->getUsers());
    else if (!group.contains(user))
      return true;
  }
  return false;
}

FailureOr<SmallVector<KernelGroup>> collectGroups(func::FuncOp function) {
  std::map<int64_t, KernelGroup> byNumber;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (fusec::isIndexOnly(&op) || op.hasAttr("inline"))
      continue;
    if (isa<ScatterOp>(op))
      return op.emitError("scatter has no kernel form");
    auto number = op.getAttrOfType<IntegerAttr>("group");
    if (!number)
      return op.emitError("has no group; run --fuse-form-groups first");
    KernelGroup &group = byNumber[number.getInt()];
    group.number = number.getInt();
    group.ops.push_back(&op);
  }
  SmallVector<KernelGroup> groups;
  for (auto &[number, group] : byNumber) {
    for (Operation *op : group.ops)
      if (!isa<KVAppendOp>(op))
        for (Value result : op->getResults())
          if (isReadElsewhere(result, group))
            group.stored.push_back(result);
    groups.push_back(std::move(group));
  }
  return groups;
}

/// Whether every dimension of the source lies in one of the result.
bool mergesDimensions(ReshapeOp op) {
  AffineMap map = fusec::storedMap(op.getSource());
  ArrayRef<Dim> dims = cast<GraphTensorType>(op.getSource().getType()).getDims();
  for (auto [i, dim] : llvm::enumerate(dims))
    if (!(dim.isStatic() && dim.size == 1) && !map.isFunctionOfDim(i))
      return false;
  return true;
}

/// A reshape is only readable in memory when its source has no other reader and its dimensions merge.
LogicalResult checkReshapes(func::FuncOp function) {
  WalkResult walk = function.walk([](ReshapeOp op) {
    if (fusec::storedForm(op.getSource()) != op.getResult()) {
      op.emitError("the reshaped value has other readers, which no kernel form supports");
      return WalkResult::interrupt();
    }
    if (!mergesDimensions(op)) {
      op.emitError("a reshape that splits a dimension has no kernel form, expected a view");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// The distinct numerics contracts of the graph's reductions, as text, in order of first use.
ArrayAttr numericsOf(func::FuncOp function) {
  llvm::SetVector<Attribute> texts;
  Builder b(function.getContext());
  function.walk([&](Operation *op) {
    auto numerics = op->getAttrOfType<NumericsAttr>("numerics");
    if (!numerics)
      return;
    std::string text;
    llvm::raw_string_ostream(text) << op->getName().stripDialect() << " " << numerics;
    texts.insert(b.getStringAttr(text));
  });
  return b.getArrayAttr(texts.getArrayRef());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Keeps one copy of kernels that differ in nothing but name and location.
class KernelLibrary {
public:
  explicit KernelLibrary(ModuleOp module) : module(module) {}

  /// The `plan.kernel` symbol for the variants.
  FlatSymbolRefAttr add(ArrayRef<WrittenKernel> variants) {
    std::string key;
    for (const WrittenKernel &variant : variants)
      key += textOf(variant.kernel) + variant.symbol + std::to_string(variant.limit) + "\n";
    auto [it, isNew] = symbols.try_emplace(key);
    if (isNew)
      it->second = publish(variants);
    else
      for (const WrittenKernel &variant : variants)
        tile::KernelOp(variant.kernel).erase();
    return it->second;
  }

private:
  static std::string textOf(tile::KernelOp kernel) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    StringAttr name = kernel.getSymNameAttr();
    kernel.setSymName("_");
    kernel->print(stream, OpPrintingFlags().useLocalScope());
    kernel.setSymNameAttr(name);
    return text;
  }

  FlatSymbolRefAttr publish(ArrayRef<WrittenKernel> variants) {
    OpBuilder builder(module.getContext());
    std::string name = "k" + std::to_string(symbols.size() - 1);
    SmallVector<Attribute> attrs;
    for (auto [i, variant] : llvm::enumerate(variants)) {
      tile::KernelOp kernel = variant.kernel;
      kernel.setSymName(variants.size() == 1 ? name + "_all" : name + "_v" + std::to_string(i));
      StringAttr symbol = variant.symbol.empty() ? StringAttr() : builder.getStringAttr(variant.symbol);
      attrs.push_back(plan::VariantAttr::get(builder.getContext(), FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
                                             symbol, variant.limit));
    }
    builder.setInsertionPointToEnd(module.getBody());
    plan::KernelOp::create(builder, variants.front().kernel->getLoc(), name, builder.getArrayAttr(attrs));
    return FlatSymbolRefAttr::get(builder.getContext(), name);
  }

  ModuleOp module;
  std::map<std::string, FlatSymbolRefAttr> symbols;
};

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp module, func::FuncOp function, int64_t page)
      : function(function), builder(module.getContext()) {
    builder.setInsertionPointToEnd(module.getBody());
    program = plan::ProgramOp::create(builder, function.getLoc(), "step", page);
    program->setAttr("numerics", numericsOf(function));
    program.getBody().emplaceBlock();
    declarations.setInsertionPointToStart(&program.getBody().front());
    launches.setInsertionPointToEnd(&program.getBody().front());
    returned = function.getBody().front().getTerminator()->getOperand(0);
  }

  /// `name`: empty for that of the group's last op; `path`: may be null.
  void launch(FlatSymbolRefAttr kernel, ArrayRef<Value> graphValues, const KernelGroup &group, plan::PathAttr path,
              StringRef name = "") {
    SmallVector<Value> args;
    for (Value value : graphValues)
      args.push_back(value ? buffer(value) : blockTable());
    SmallVector<Attribute> names;
    for (Operation *op : group.ops)
      names.push_back(builder.getStringAttr(fusec::opName(op)));
    Location loc = group.ops.back()->getLoc();
    launches.setInsertionPointToEnd(&program.getBody().front());
    plan::LaunchOp::create(launches, loc, kernel, args,
                           builder.getStringAttr(name.empty() ? fusec::modelName(loc) : name.str()),
                           builder.getArrayAttr(names), path);
  }

  void call(const fusec::LibraryStep &step, plan::PathAttr path) {
    const fusec::ProductCall &call = *step.call;
    auto bufferOf = [&](Value value) { return value ? buffer(value) : Value(); };
    Value rows = buffer(call.rows), weights = buffer(call.weights), addend = bufferOf(call.addend),
          bias = bufferOf(call.bias), result = buffer(call.result);
    launches.setInsertionPointToEnd(&program.getBody().front());
    plan::LibraryProductOp::create(launches, step.group.ops.back()->getLoc(), rows, weights, addend, bias, result,
                                   builder.getStringAttr(step.name), path);
  }

  /// Tokens of a query tile that every kernel takes; the runtime cuts the step's tokens by it.
  void noteQueryTile(ModuleOp module) {
    std::optional<int64_t> fewest;
    for (auto kernel : module.getOps<tile::KernelOp>())
      if (auto tokens = kernel.getSchedule() ? kernel.getSchedule()->getAs<IntegerAttr>("tokens") : IntegerAttr())
        fewest = std::min(fewest.value_or(tokens.getInt()), tokens.getInt());
    if (fewest)
      program->setAttr("query_tile", builder.getI64IntegerAttr(*fewest));
  }

private:
  Value declare(plan::BufferKind kind, const std::string &name, Type type, IntegerAttr slot, ArrayAttr parts,
                ElementsAttr value) {
    auto kindAttr = plan::BufferKindAttr::get(builder.getContext(), kind);
    auto op = plan::BufferOp::create(declarations, function.getLoc(), type, kindAttr, builder.getStringAttr(name), slot,
                                     parts, value);
    declarations.setInsertionPointAfter(op);
    return op;
  }

  Value blockTable() {
    if (!table)
      table = declare(plan::BufferKind::Input, "block_table", fusec::blockTableType(builder.getContext()), {}, {}, {});
    return table;
  }

  Value buffer(Value value) {
    while (auto append = value.getDefiningOp<KVAppendOp>())
      value = append.getCache();
    Value &known = buffers[value];
    if (!known)
      known = declareFor(value);
    return known;
  }

  Value declareFor(Value value) {
    Type type = fusec::bufferTypeFor(value);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "fuse.name");
      auto kind = cast<tile::BufferType>(type).isPaged() ? plan::BufferKind::Cache : plan::BufferKind::Input;
      return declare(kind, name ? name.str() : "arg" + std::to_string(argument.getArgNumber()), type, {}, {}, {});
    }
    if (auto weight = value.getDefiningOp<WeightOp>())
      return declare(plan::BufferKind::Weight, joinedName(weight), type, {}, weight.getNames(), {});
    if (auto constant = value.getDefiningOp<ConstantOp>())
      return declare(plan::BufferKind::Constant, constant.getName().str(), type, {}, {}, constant.getValue());
    bool leaves = value == returned;
    std::string name = leaves ? resultName() : fusec::modelName(value.getLoc()) + "#" + std::to_string(nextSlot);
    return declare(leaves ? plan::BufferKind::Output : plan::BufferKind::Activation, name, type,
                   builder.getI64IntegerAttr(nextSlot++), {}, {});
  }

  /// By the graph's `fuse.name`; graphs that do not say give logits.
  std::string resultName() {
    auto name = function.getResultAttrOfType<StringAttr>(0, "fuse.name");
    return name ? name.str() : "logits";
  }

  static std::string joinedName(WeightOp weight) {
    std::string name;
    for (Attribute part : weight.getNames())
      name += (name.empty() ? "" : "+") + cast<StringAttr>(part).str();
    return name;
  }

  func::FuncOp function;
  OpBuilder builder;
  OpBuilder declarations{builder}, launches{builder};
  plan::ProgramOp program;
  Value returned, table;
  llvm::DenseMap<Value, Value> buffers;
  int64_t nextSlot = 0;
};

struct FuseToPlan : fusec::impl::FuseToPlanPassBase<FuseToPlan> {
  using FuseToPlanPassBase::FuseToPlanPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    if (functions.size() != 1 || functions.front().getBody().empty()) {
      module.emitError("expected one graph, found ") << functions.size();
      return signalPassFailure();
    }
    if (failed(lower(module, functions.front())))
      return signalPassFailure();
    functions.front().erase();
  }

  LogicalResult lower(ModuleOp module, func::FuncOp function) {
    Operation *end = function.getBody().front().getTerminator();
    if (end->getNumOperands() != 1 || isa<BlockArgument>(end->getOperand(0)))
      return end->emitError("a graph returns one computed value");
    FailureOr<SmallVector<KernelGroup>> groups = collectGroups(function);
    if (failed(groups) || failed(checkReshapes(function)))
      return failure();
    fusec::TileTarget target{registers >= 32 ? 32 : registers / 2, page, gpu, rung, streamWeights, {}};
    const fusec::ProductRates rates{kernelFlops, libraryFlops, bytesPerSecond, launchSeconds};
    Value tiles;
    target.queryTiles = [&] { return tiles ? tiles : tiles = addQueryTiles(function); };
    KernelLibrary library(module);
    ProgramBuilder program(module, function, page);
    for (const KernelGroup &group : *groups) {
      SmallVector<fusec::LaunchKernels> launches = kernelsFor(module, group, target);
      if (launches.empty())
        return failure();
      FailureOr<std::optional<fusec::LibraryPath>> path = fusec::writeLibraryPath(module, group, target, rates);
      if (failed(path))
        return failure();
      auto pathAttr = [&](plan::PathKind kind) {
        return *path ? plan::PathAttr::get(&getContext(), kind, (*path)->from) : plan::PathAttr();
      };
      for (const fusec::LaunchKernels &kernels : launches)
        program.launch(library.add(kernels), kernels.front().graphValues, group, pathAttr(plan::PathKind::Kernels));
      if (*path)
        addSteps((*path)->steps, pathAttr(plan::PathKind::Library), library, program);
    }
    program.noteQueryTile(module);
    return success();
  }

  static void addSteps(ArrayRef<fusec::LibraryStep> steps, plan::PathAttr path, KernelLibrary &library,
                       ProgramBuilder &program) {
    for (const fusec::LibraryStep &step : steps) {
      if (step.call)
        program.call(step, path);
      else
        program.launch(library.add(step.kernels), step.kernels.front().graphValues, step.group, path, step.name);
    }
  }

  /// The list of query tiles, which the runtime writes for each step.
  static Value addQueryTiles(func::FuncOp function) {
    Builder b(function.getContext());
    Dim dims[] = {Dim::dynamic(DimKind::Symbolic, b.getContext(), "W"), Dim::fixed(2)};
    unsigned number = function.getNumArguments();
    auto name = b.getDictionaryAttr(b.getNamedAttr("fuse.name", b.getStringAttr("query_tiles")));
    (void)function.insertArgument(number, GraphTensorType::get(b.getContext(), dims, b.getI32Type()), name,
                                  function.getLoc());
    return function.getArgument(number);
  }

  /// The kernels of a group by its form; empty with an error emitted.
  static SmallVector<fusec::LaunchKernels> kernelsFor(ModuleOp module, const KernelGroup &group,
                                                      const fusec::TileTarget &target) {
    if (llvm::any_of(group.ops, [](Operation *op) { return op->hasAttr(fusec::cascadeAttr); }))
      return fusec::writeCascadeKernels(module, group, target);
    bool contracts = llvm::any_of(group.ops, [](Operation *op) { return isa<ContractOp>(op); });
    fusec::LaunchKernels kernels =
        contracts ? fusec::writeContractKernels(module, group, target) : fusec::writeRowKernel(module, group, target);
    if (kernels.empty())
      return {};
    return {kernels};
  }
};

} // namespace
