//===- PlanInterpreter.cpp - runs a plan launch by launch -----------------------===//
#include "ir/reference/PlanInterpreter.h"

#include "ir/reference/LaneOps.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace fusec::reference {

namespace {

/// One run of a program: its buffers, and who shares a slot.
class PlanExecution {
public:
  PlanExecution(ModuleOp module, const PlanInputs &inputs, Environment environment, Precision precision,
                const PlanOptions &options)
      : module(module), inputs(inputs), environment(std::move(environment)), precision(precision), options(options) {}

  Result<PlanRun> execute(plan::ProgramOp program);

private:
  Status bindInput(plan::BufferOp buffer);
  Result<Tensor> makeBuffer(plan::BufferOp buffer);
  Result<Tensor> givenBuffer(plan::BufferOp buffer);
  Status launch(plan::LaunchOp launch);
  Status multiply(plan::LibraryProductOp product);
  /// Whether the step does what is on this path; null is on both.
  Result<bool> isTaken(plan::PathAttr path) const;
  void poisonSlotOf(Value written);

  ModuleOp module;
  const PlanInputs &inputs;
  Environment environment;
  const Precision precision;
  const PlanOptions &options;
  llvm::DenseMap<Value, Tensor> buffers;
  llvm::DenseMap<int64_t, SmallVector<Value>> slots;
  PlanRun run;
};

tile::BufferType typeOf(plan::BufferOp buffer) { return cast<tile::BufferType>(buffer.getType()); }

Result<Tensor> PlanExecution::givenBuffer(plan::BufferOp buffer) {
  auto it = inputs.buffers.find(buffer.getName());
  if (it == inputs.buffers.end())
    return notFound("no tensor was given");
  return it->second;
}

/// The shapes of inputs tell the symbols that have no value yet.
Status PlanExecution::bindInput(plan::BufferOp buffer) {
  FUSEC_ASSIGN_OR_RETURN(Tensor tensor, givenBuffer(buffer));
  FUSEC_RETURN_IF_ERROR(environment.bind(typeOf(buffer).getDims(), tensor.shape(), "the tensor"));
  buffers[buffer.getResult()] = tensor;
  return {};
}

Result<Tensor> PlanExecution::makeBuffer(plan::BufferOp buffer) {
  tile::BufferType type = typeOf(buffer);
  if (buffer.getKind() == plan::BufferKind::Cache)
    return givenBuffer(buffer);
  FUSEC_ASSIGN_OR_RETURN(Shape shape, environment.extents(type.getDims()));
  FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(type.getElementType()));
  if (buffer.getKind() == plan::BufferKind::Weight) {
    FUSEC_ASSIGN_OR_RETURN(Tensor weight, environment.stackedWeight(*buffer.getParts()));
    return weight.withElement(element); // the launch checks its shape
  }
  if (buffer.getKind() == plan::BufferKind::Constant) {
    FUSEC_ASSIGN_OR_RETURN(std::vector<double> values, constantValues(*buffer.getValue(), numElements(shape)));
    return Tensor::fromValues(element, shape, std::move(values));
  }
  slots[static_cast<int64_t>(*buffer.getSlot())].push_back(buffer.getResult());
  return Tensor::filled(element, shape, NAN);
}

void PlanExecution::poisonSlotOf(Value written) {
  auto buffer = written.getDefiningOp<plan::BufferOp>();
  if (!buffer || !buffer.getSlot())
    return;
  for (Value other : slots[static_cast<int64_t>(*buffer.getSlot())])
    if (other != written)
      std::fill_n(buffers[other].doubles(), buffers[other].storageSize(), NAN);
}

Status PlanExecution::launch(plan::LaunchOp launch) {
  FUSEC_ASSIGN_OR_RETURN(bool isDone, isTaken(launch.getPath().value_or(plan::PathAttr())));
  if (!isDone)
    return {};
  auto kernel = SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(module, launch.getKernelAttr());
  if (!kernel)
    return notFound("the module has no plan.kernel @" + launch.getKernel().str());
  FUSEC_ASSIGN_OR_RETURN(tile::KernelOp variant, pickVariant(module, kernel, environment));
  if (!variant)
    return {};
  const SmallVector<bool> stored = storedArguments(variant);
  std::vector<Tensor> arguments;
  for (auto [i, value] : llvm::enumerate(launch.getBuffers())) {
    if (i < stored.size() && stored[i])
      poisonSlotOf(value);
    arguments.push_back(buffers[value]);
  }
  FUSEC_ASSIGN_OR_RETURN(KernelRun kernelRun,
                         interpretKernel(variant, arguments, environment, precision, options.kernel));
  run.launches.push_back({launch.getName().str(), variant.getSymName().str(), std::move(kernelRun)});
  if (options.afterLaunch)
    options.afterLaunch(run.launches.back(), arguments);
  return {};
}

Result<bool> PlanExecution::isTaken(plan::PathAttr path) const {
  if (!path)
    return true;
  auto tokens = environment.symbols.find("T");
  if (tokens == environment.symbols.end())
    return notFound("size symbol 'T' has no value");
  const bool byLibrary = options.hasLibrary && tokens->second >= path.getFrom();
  return byLibrary == (path.getKind() == plan::PathKind::Library);
}

/// Sums in f64: the library's order is its own.
Status PlanExecution::multiply(plan::LibraryProductOp product) {
  FUSEC_ASSIGN_OR_RETURN(bool isDone, isTaken(product.getPath()));
  if (!isDone)
    return {};
  poisonSlotOf(product.getResult());
  const Tensor &rows = buffers[product.getRows()], &weights = buffers[product.getWeights()];
  Tensor &result = buffers[product.getResult()];
  const int64_t tokens = rows.dim(0), summed = rows.dim(1), outputs = weights.dim(0);
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t n = 0; n < outputs; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < summed; ++k)
        sum += rows.doubles()[t * summed + k] * weights.doubles()[n * summed + k];
      if (product.getAddend())
        sum += buffers[product.getAddend()].doubles()[t * outputs + n];
      if (product.getBias())
        sum += buffers[product.getBias()].values()[static_cast<size_t>(n)];
      result.doubles()[t * outputs + n] = precision == Precision::F64 ? sum : static_cast<float>(sum);
    }
  return {};
}

Result<PlanRun> PlanExecution::execute(plan::ProgramOp program) {
  environment.page = static_cast<int64_t>(program.getPage());
  auto context = [](plan::BufferOp buffer) { return "buffer '" + buffer.getName().str() + "'"; };
  for (auto buffer : program.getOps<plan::BufferOp>())
    if (buffer.getKind() == plan::BufferKind::Input)
      FUSEC_RETURN_IF_ERROR(bindInput(buffer).withContext(context(buffer)));
  for (Operation &op : program.getBody().front()) {
    if (auto product = dyn_cast<plan::LibraryProductOp>(op)) {
      FUSEC_RETURN_IF_ERROR(multiply(product).withContext("product '" + product.getName().str() + "'"));
      continue;
    }
    if (auto launchOp = dyn_cast<plan::LaunchOp>(op)) {
      FUSEC_RETURN_IF_ERROR(launch(launchOp).withContext("launch '" + launchOp.getName().str() + "'"));
      continue;
    }
    auto buffer = dyn_cast<plan::BufferOp>(op);
    if (!buffer || buffer.getKind() == plan::BufferKind::Input)
      continue;
    Result<Tensor> tensor = makeBuffer(buffer);
    if (!tensor)
      return tensor.status().withContext(context(buffer));
    buffers[buffer.getResult()] = *tensor;
  }
  for (auto buffer : program.getOps<plan::BufferOp>())
    if (buffer.getKind() == plan::BufferKind::Output)
      run.outputs[buffer.getName()] = buffers[buffer.getResult()];
  return std::move(run);
}

} // namespace

Result<tile::KernelOp> pickVariant(ModuleOp module, plan::KernelOp kernel, const Environment &environment) {
  for (Attribute attribute : kernel.getVariants()) {
    auto variant = cast<plan::VariantAttr>(attribute);
    if (StringAttr symbol = variant.getSymbol()) {
      auto it = environment.symbols.find(symbol.getValue());
      if (it == environment.symbols.end())
        return notFound("size symbol '" + symbol.getValue().str() + "' has no value");
      if (it->second > variant.getLimit())
        continue;
    }
    auto found = SymbolTable::lookupNearestSymbolFrom<tile::KernelOp>(module, variant.getKernel());
    if (!found)
      return notFound("the module has no tile.kernel @" + variant.getKernel().getValue().str());
    return found;
  }
  return tile::KernelOp();
}

Result<PlanRun> interpretPlan(ModuleOp module, plan::ProgramOp program, const PlanInputs &inputs,
                              const Environment &environment, Precision precision, const PlanOptions &options) {
  return PlanExecution(module, inputs, environment, precision, options).execute(program);
}

} // namespace fusec::reference
