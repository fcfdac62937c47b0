//===- CompiledGraph.cpp - graph text, compiled and interpreted --------------===//
#include "test/unit/passes/CompiledGraph.h"

#include "ir/InitAllDialects.h"
#include "passes/Pipelines.h"
#include "test/unit/passes/HostMemory.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

namespace fusec::differential {

using namespace reference;

namespace {

constexpr std::pair<std::string_view, int64_t> registersOfLevel[] = {{"avx2", 16}, {"avx512", 32}};

int64_t registersOf(std::string_view level) {
  for (auto [name, registers] : registersOfLevel)
    if (name == level)
      return registers;
  return 16;
}

} // namespace

LevelChoice::LevelChoice(std::string_view level) {
  constexpr std::string_view streamed = "_streamed", library = "_with_library", infix = "_in_";
  streamsWeights = level.ends_with(streamed);
  if (streamsWeights)
    level.remove_suffix(streamed.size());
  hasLibrary = level.ends_with(library);
  if (hasLibrary)
    level.remove_suffix(library.size());
  const size_t at = level.find(infix);
  name = level.substr(0, at);
  isGpuPlan = at != level.npos;
  if (isGpuPlan && level.substr(at + infix.size()) != "f32")
    operands = level.substr(at + infix.size());
}

CompiledGraph::CompiledGraph(const std::string &text, std::string_view level, const FusionOptions &fusion) {
  context.disableMultithreading();
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
      diagnostics += d.str() + "\n";
    return mlir::success();
  });
  Status status = compile(text, level, fusion);
  if (!status.ok())
    message = status.message() + (diagnostics.empty() ? "" : ": " + diagnostics);
}

Status CompiledGraph::compile(const std::string &text, std::string_view level, const FusionOptions &fusion) {
  graph = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!graph)
    return invalidArgument("the graph does not parse");
  makeWeights();
  FUSEC_RETURN_IF_ERROR(lower(level, fusion));
  if (LevelChoice(level).hasLibrary)
    return {}; // Interpreted only: no test machine has the library.
  std::vector<std::string> symbols(std::begin(symbolOrder), std::end(symbolOrder));
  FUSEC_ASSIGN_OR_RETURN(kernels,
                         codegen::RunnableKernels::create(*lowered, LevelChoice(level).name, symbols, pageTokens));
  return {};
}

Status CompiledGraph::lower(std::string_view level, const FusionOptions &fusion) {
  lowered = graph->clone();
  mlir::PassManager passes(&context);
  PipelineOptions options{registersOf(level), pageTokens, std::make_shared<FusionControl>(fusion)};
  if (const LevelChoice choice(level); choice.isGpuPlan) {
    options.registers = 32;
    options.isGpu = true;
    options.operands = choice.operands;
    options.streamWeights = choice.streamsWeights;
    if (choice.hasLibrary) // A library that always pays.
      options.products = {.kernelFlops = 1, .libraryFlops = 1e15, .bytesPerSecond = 1e15, .launchSeconds = 1e-15};
  }
  for (Phase phase : {Phase::Primitives, Phase::Derived, Phase::Groups, Phase::Plan})
    buildPhase(passes, phase, options);
  if (failed(passes.run(*lowered)))
    return invalidArgument("the passes fail");
  return {};
}

/// Random blocks for every stored tensor that the graph names.
void CompiledGraph::makeWeights() {
  graph->walk([&](fuse::WeightOp op) {
    auto type = mlir::cast<fuse::GraphTensorType>(op.getResult().getType());
    const std::string name = mlir::cast<mlir::StringAttr>(op.getNames()[0]).str();
    Shape shape;
    for (const fuse::Dim &dim : type.getDims())
      shape.push_back(dim.size);
    const int64_t rows = shape.size() == 2 ? shape[0] : 1;
    weights.try_emplace(name, *type.getStorage(), rows, shape.back(), std::hash<std::string>()(name) % 65536);
    weightShapes[name] = shape;
  });
}

plan::ProgramOp CompiledGraph::program() const { return *mlir::ModuleOp(*lowered).getOps<plan::ProgramOp>().begin(); }

/// Runs of tokens of one sequence, at most as many as the plan says: (first token, tokens) of each.
std::optional<Tensor> CompiledGraph::queryTiles(const Step &step) const {
  auto most = program()->getAttrOfType<mlir::IntegerAttr>("query_tile");
  if (!most)
    return std::nullopt;
  const std::vector<double> owners = step.inputs.lookup("sequences").values();
  std::vector<double> tiles;
  for (size_t t = 0; t < owners.size(); ++t) {
    const bool continues = t > 0 && owners[t] == owners[t - 1] && tiles.back() < static_cast<double>(most.getInt());
    if (continues)
      ++tiles.back();
    else
      tiles.insert(tiles.end(), {static_cast<double>(t), 1.0});
  }
  return Tensor::fromValues(Element::I32, {static_cast<int64_t>(tiles.size()) / 2, 2}, tiles);
}

int64_t CompiledGraph::launches() const {
  auto ops = program().getOps<plan::LaunchOp>();
  return std::distance(ops.begin(), ops.end());
}

Environment CompiledGraph::environment(const Step &step) const {
  Environment environment;
  for (const auto &symbol : step.symbols)
    environment.symbols[symbol.first()] = symbol.second;
  environment.page = pageTokens;
  environment.weight = [this](llvm::StringRef name) -> Result<Tensor> {
    auto it = weights.find(name.str());
    if (it == weights.end())
      return notFound("no stored tensor '" + name.str() + "'");
    return Tensor::fromFloats(weightShapes.at(name.str()), it->second.values);
  };
  return environment;
}

Result<StepResult> CompiledGraph::interpret(const Step &step, Precision precision) const {
  auto function = *mlir::ModuleOp(*graph).getOps<mlir::func::FuncOp>().begin();
  std::vector<Tensor> arguments;
  StepResult result;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    const std::string name = function.getArgAttrOfType<mlir::StringAttr>(i, "fuse.name").str();
    if (auto input = step.inputs.find(name); input != step.inputs.end()) {
      arguments.push_back(input->second);
    } else if (auto cache = step.caches.find(name); cache != step.caches.end()) {
      arguments.push_back(cache->second.clone());
      result.caches[name] = arguments.back(); // updated in place
    } else {
      return notFound("the step has no '" + name + "'");
    }
  }
  FUSEC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs,
                         interpretGraph(function, arguments, environment(step), precision));
  result.output = outputs.front();
  for (auto &[name, cache] : result.caches)
    for (int64_t s = 0; s < cache.dim(0); ++s)
      for (int64_t c = step.lengths[s]; c < cache.dim(1); ++c)
        for (int64_t i = 0; i < cache.dim(2) * cache.dim(3); ++i)
          cache.set({s, c, i / cache.dim(3), i % cache.dim(3)}, 0.0);
  return result;
}

Result<StepResult> CompiledGraph::interpretAsPlan(const Step &step, Precision precision, const PlanOptions &options,
                                                  uint32_t seed) const {
  PlanInputs inputs;
  for (const auto &input : step.inputs)
    inputs.buffers[input.first()] = input.second;
  const PageTable table(step, seed);
  inputs.buffers["block_table"] =
      Tensor::fromValues(Element::I32, {table.sequences, table.columns}, {table.entries.begin(), table.entries.end()});
  if (std::optional<Tensor> tiles = queryTiles(step))
    inputs.buffers["query_tiles"] = *tiles;
  for (const auto &cache : step.caches)
    inputs.buffers[cache.first()] = pagePool(cache.second, step, table, seed);
  FUSEC_ASSIGN_OR_RETURN(PlanRun run,
                         interpretPlan(*lowered, program(), inputs, environment(step), precision, options));
  StepResult result;
  result.output = run.outputs.begin()->second;
  for (const auto &cache : step.caches)
    result.caches[cache.first().str()] = fromPool(inputs.buffers[cache.first()], step, table, cache.second.dim(1));
  return result;
}

} // namespace fusec::differential
