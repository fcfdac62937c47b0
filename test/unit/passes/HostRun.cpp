//===- HostRun.cpp - one step on machine code in guarded memory ---------------===//
//
// 1. Memory: inputs, packed weights, caches in pages, one buffer per slot.
// 2. Launches in order; the programs of each in random ranges, in random order.
// 3. Nothing may have written behind a buffer; read the output and the caches.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/HostMemory.h"

#include "codegen/pack/PanelPack.h"

#include "mlir/IR/SymbolTable.h"

#include <random>

namespace fusec::differential {

using namespace reference;

class HostRun {
public:
  HostRun(const CompiledGraph &graph, const Step &step, uint32_t seed)
      : graph(graph), step(step), table(step, seed), random(seed), environment(graph.environment(step)) {
    environment.symbols["B"] = table.columns;
    tiles = graph.queryTiles(step);
    if (tiles)
      environment.symbols["W"] = tiles->dim(0);
    for (const char *name : symbolOrder)
      symbols.push_back(environment.symbols.lookup(name));
  }

  Result<StepResult> run() {
    for (auto buffer : graph.program().getOps<plan::BufferOp>())
      FUSEC_RETURN_IF_ERROR(place(buffer).withContext("buffer '" + buffer.getName().str() + "'"));
    for (auto launch : graph.program().getOps<plan::LaunchOp>())
      FUSEC_RETURN_IF_ERROR(runLaunch(launch).withContext("launch '" + launch.getName().str() + "'"));
    return collect();
  }

private:
  Status place(plan::BufferOp buffer) {
    const tile::BufferType type = mlir::cast<tile::BufferType>(buffer.getType());
    switch (buffer.getKind()) {
    case plan::BufferKind::Input:
      return placeInput(buffer);
    case plan::BufferKind::Weight:
      return placeWeight(buffer, type);
    case plan::BufferKind::Cache:
      return placeCache(buffer, type);
    case plan::BufferKind::Constant: {
      FUSEC_ASSIGN_OR_RETURN(Shape shape, environment.extents(type.getDims()));
      std::vector<double> values;
      for (const llvm::APFloat &v : buffer.getValue()->getValues<llvm::APFloat>())
        values.push_back(v.convertToDouble());
      FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(type.getElementType()));
      return placeTensor(buffer, Tensor::fromValues(element, shape, values));
    }
    case plan::BufferKind::Activation:
    case plan::BufferKind::Output:
      return placeInSlot(buffer, type);
    }
    return internalError("a buffer of unknown kind");
  }

  Status placeTensor(plan::BufferOp buffer, const Tensor &tensor) {
    memory.push_back(std::make_unique<PoisonedBuffer>(tensor.size() * info(tensor.element()).bits / 8));
    addresses[buffer.getResult()] = memory.back()->as();
    return writeTensor(tensor, memory.back()->as());
  }

  Status placeInput(plan::BufferOp buffer) {
    if (buffer.getName() == "block_table")
      return placeTensor(buffer, Tensor::fromValues(Element::I32, {table.sequences, table.columns},
                                                    {table.entries.begin(), table.entries.end()}));
    if (buffer.getName() == "query_tiles" && tiles)
      return placeTensor(buffer, *tiles);
    auto it = step.inputs.find(buffer.getName());
    if (it == step.inputs.end())
      return notFound("the step has no such input");
    return placeTensor(buffer, it->second);
  }

  Status placeWeight(plan::BufferOp buffer, tile::BufferType type) {
    std::vector<codegen::StoredRows> parts;
    std::vector<double> values;
    for (auto name : buffer.getParts()->getAsRange<mlir::StringAttr>()) {
      const codegen::TestWeights &part = graph.weights.at(name.str());
      parts.push_back({part.stored, part.rows});
      values.insert(values.end(), part.values.begin(), part.values.end());
    }
    FUSEC_ASSIGN_OR_RETURN(Shape shape, environment.extents(type.getDims()));
    if (type.getLayout() != tile::Layout::Panel)
      return placeTensor(buffer, Tensor::fromValues(Element::F32, shape, values));
    memory.push_back(std::make_unique<PoisonedBuffer>(packedBytes(*type.getStorage(), shape[0], shape[1])));
    addresses[buffer.getResult()] = memory.back()->as();
    return codegen::packPanels(*type.getStorage(), parts, shape[1],
                               {memory.back()->as<std::byte>(), static_cast<size_t>(memory.back()->size())});
  }

  Status placeCache(plan::BufferOp buffer, tile::BufferType type) {
    auto it = step.caches.find(buffer.getName());
    if (it == step.caches.end())
      return notFound("the step has no such cache");
    Tensor pool = pagePool(it->second, step, table, random());
    memory.push_back(std::make_unique<PoisonedBuffer>(pool.size() * type.getElementBytes()));
    addresses[buffer.getResult()] = memory.back()->as();
    writePages(pool, type, memory.back()->as());
    return {};
  }

  /// All buffers of a slot have one shape, so the first one makes the memory.
  Status placeInSlot(plan::BufferOp buffer, tile::BufferType type) {
    FUSEC_ASSIGN_OR_RETURN(Shape shape, environment.extents(type.getDims()));
    FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(type.getElementType()));
    const int64_t bytes = numElements(shape) * info(element).bits / 8;
    PoisonedBuffer *&slot = slots[*buffer.getSlot()];
    if (!slot) {
      memory.push_back(std::make_unique<PoisonedBuffer>(bytes));
      slot = memory.back().get();
    }
    if (slot->size() != bytes)
      return internalError("two shapes share a slot");
    addresses[buffer.getResult()] = slot->as();
    return {};
  }

  Status runLaunch(plan::LaunchOp launch) {
    auto kernel = mlir::SymbolTable::lookupNearestSymbolFrom<plan::KernelOp>(graph.plan(), launch.getKernelAttr());
    FUSEC_ASSIGN_OR_RETURN(tile::KernelOp variant, pickVariant(graph.plan(), kernel, environment));
    if (!variant)
      return {};
    const std::string name = variant.getSymName().str();
    std::vector<void *> args;
    for (mlir::Value buffer : launch.getBuffers())
      args.push_back(addresses[buffer]);
    FUSEC_ASSIGN_OR_RETURN(int64_t programs, programsOf(variant));
    FUSEC_RETURN_IF_ERROR(graph.kernels->run(name, args, symbols, randomRanges(programs)));
    for (const auto &buffer : memory)
      if (!buffer->slackIsUntouched())
        return internalError("@" + name + " writes behind a buffer");
    return {};
  }

  Result<int64_t> programsOf(tile::KernelOp kernel) {
    int64_t programs = 1;
    for (auto axis : kernel.getGrid().getAsRange<tile::AxisAttr>()) {
      FUSEC_ASSIGN_OR_RETURN(Shape extent, environment.extents({axis.getExtent()}));
      programs *= (extent[0] + axis.getTile() - 1) / axis.getTile();
    }
    return programs;
  }

  /// [0, programs) in up to 8 pieces, shuffled.
  std::vector<std::pair<int64_t, int64_t>> randomRanges(int64_t programs) {
    std::vector<int64_t> cuts = {0, programs};
    for (int i = 0; i < 7 && programs > 0; ++i)
      cuts.push_back(static_cast<int64_t>(random() % programs));
    std::sort(cuts.begin(), cuts.end());
    std::vector<std::pair<int64_t, int64_t>> ranges;
    for (size_t i = 0; i + 1 < cuts.size(); ++i)
      if (cuts[i] != cuts[i + 1])
        ranges.push_back({cuts[i], cuts[i + 1]});
    std::shuffle(ranges.begin(), ranges.end(), random);
    return ranges;
  }

  Result<StepResult> collect() {
    StepResult result;
    for (auto buffer : graph.program().getOps<plan::BufferOp>()) {
      const tile::BufferType type = mlir::cast<tile::BufferType>(buffer.getType());
      if (buffer.getKind() == plan::BufferKind::Output) {
        FUSEC_ASSIGN_OR_RETURN(Shape shape, environment.extents(type.getDims()));
        FUSEC_ASSIGN_OR_RETURN(Element element, elementOf(type.getElementType()));
        FUSEC_ASSIGN_OR_RETURN(result.output, readTensor(element, shape, addresses[buffer.getResult()]));
      } else if (buffer.getKind() == plan::BufferKind::Cache) {
        const Tensor &before = step.caches.find(buffer.getName())->second;
        Tensor pool =
            readPages({table.pages, pageTokens, before.dim(2), before.dim(3)}, type, addresses[buffer.getResult()]);
        result.caches[buffer.getName().str()] = fromPool(pool, step, table, before.dim(1));
      }
    }
    return result;
  }

  const CompiledGraph &graph;
  const Step &step;
  const PageTable table;
  std::optional<Tensor> tiles;
  std::mt19937 random;
  Environment environment;
  std::vector<int64_t> symbols;
  std::vector<std::unique_ptr<PoisonedBuffer>> memory;
  llvm::DenseMap<mlir::Value, void *> addresses;
  std::map<int64_t, PoisonedBuffer *> slots;
};

Result<StepResult> CompiledGraph::runHost(const Step &step, uint32_t seed) const {
  return HostRun(*this, step, seed).run();
}

} // namespace fusec::differential
