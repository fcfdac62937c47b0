//===- ManifestWriter.cpp --------------------------------------------------------------===//
#include "codegen/artifact/ManifestWriter.h"

#include "ir/plan/PlanDialect.h"
#include "runtime/schema/SamplingMath.h"

#include "mlir/IR/SymbolTable.h"

using json = nlohmann::ordered_json;

namespace fusec::codegen {

namespace {

json extentOf(const fuse::Dim &dim) { return dim.isStatic() ? json(dim.size) : json(dim.symbol.getValue().str()); }

json modelOf(const models::ModelConfig &config, int64_t bytes, const ArtifactOptions &options) {
  json model = {{"name", config.name},
                {"architecture", std::string(config.architecture->name)},
                {"digest", options.digest},
                {"vocab_size", config.vocab},
                {"context_length", config.context},
                {"bytes", bytes}};
  if (config.bosId)
    model["bos_id"] = *config.bosId;
  model["eos_ids"] = config.eosIds;
  json defaults = json::object();
  auto put = [&](const char *key, const auto &value) {
    if (value)
      defaults[key] = *value;
  };
  const models::GenerationDefaults &g = config.generation;
  put("temperature", g.temperature);
  put("top_k", g.topK);
  put("top_p", g.topP);
  put("min_p", g.minP);
  put("repetition_penalty", g.repetitionPenalty);
  if (!defaults.empty())
    model["generation"] = defaults;
  return model;
}

std::string elementName(tile::BufferType type) {
  if (type.getStorage())
    return std::string(info(*type.getStorage()).name);
  if (type.getElementType().isInteger(32))
    return "i32";
  return type.getElementType().isF64() ? "f64" : "f32";
}

int64_t pageBytes(tile::BufferType type, int64_t page) {
  return page * type.getDims()[2].size * type.getDims()[3].size * type.getElementBytes();
}

llvm::SmallVector<tile::BufferType> cacheTypes(plan::ProgramOp program) {
  llvm::SmallVector<tile::BufferType> types;
  for (auto buffer : program.getOps<plan::BufferOp>())
    if (buffer.getKind() == plan::BufferKind::Cache)
      types.push_back(mlir::cast<tile::BufferType>(buffer.getType()));
  return types;
}

/// How caches are stored; one type, which the runtime checks.
std::string cacheDtype(plan::ProgramOp program) {
  llvm::SmallVector<tile::BufferType> types = cacheTypes(program);
  return types.empty() ? "f32" : elementName(types.front());
}

json bufferOf(plan::BufferOp buffer, int64_t page, const llvm::DenseMap<mlir::Operation *, WeightRange> &weights) {
  auto type = mlir::cast<tile::BufferType>(buffer.getType());
  bool stored = buffer.getKind() == plan::BufferKind::Weight || buffer.getKind() == plan::BufferKind::Constant;
  json row = {{"name", buffer.getName().str()},
              {"kind", stored ? "weight" : plan::stringifyBufferKind(buffer.getKind()).str()},
              {"dtype", elementName(type)}};
  if (buffer.getKind() == plan::BufferKind::Cache) {
    row["page_bytes"] = pageBytes(type, page);
    return row;
  }
  row["dims"] = json::array();
  for (const fuse::Dim &dim : type.getDims())
    row["dims"].push_back(extentOf(dim));
  if (stored) {
    WeightRange range = weights.lookup(buffer);
    row["offset"] = range.offset;
    row["bytes"] = range.bytes;
  }
  if (buffer.getSlot())
    row["slot"] = *buffer.getSlot();
  return row;
}

/// The members that a kind of target's kernels have.
void putCompiled(json &row, TargetKind kind, const CompiledKernel &kernel) {
  switch (kind) {
  case TargetKind::Host:
    row["scratch_bytes"] = kernel.scratchBytes;
    return;
  case TargetKind::Cuda:
    row["threads"] = kernel.threads;
    row["shared_bytes"] = kernel.sharedBytes;
    row["registers"] = kernel.registers;
    const std::pair<const char *, const std::string &> files[] = {
        {"image", kernel.image}, {"ptx", kernel.ptx}, {"source", kernel.source}};
    for (const auto &[key, path] : files)
      if (!path.empty())
        row[key] = path;
    return;
  }
}

json axisOf(tile::AxisAttr axis) { return {{"extent", extentOf(axis.getExtent())}, {"tile", axis.getTile()}}; }

json variantOf(plan::VariantAttr variant, const mlir::SymbolTable &symbols, const TargetPlan &target) {
  auto kernel = symbols.lookup<tile::KernelOp>(variant.getKernel().getValue());
  json row;
  if (variant.getSymbol())
    row["when"] = {{variant.getSymbol().str(), variant.getLimit()}};
  std::string entry = kernel.getSymName().str();
  row["entry"] = entry;
  row["grid"] = json::array();
  for (auto axis : kernel.getGrid().getAsRange<tile::AxisAttr>())
    row["grid"].push_back(axisOf(axis));
  auto it = llvm::find_if(target.kernels, [&](const CompiledKernel &k) { return k.entry == entry; });
  putCompiled(row, target.kind, it == target.kernels.end() ? CompiledKernel() : *it);
  return row;
}

json pathOf(plan::PathAttr path) {
  return {{"by", plan::stringifyPathKind(path.getKind()).str()}, {"from", path.getFrom()}};
}

/// What an artifact that gives hidden states says about embeddings; null for one that gives logits.
json embeddingOf(plan::ProgramOp program, Pooling pooling) {
  for (auto buffer : program.getOps<plan::BufferOp>())
    if (buffer.getKind() == plan::BufferKind::Output && buffer.getName() == "hidden")
      return {{"width", mlir::cast<tile::BufferType>(buffer.getType()).getDims().back().size},
              {"pooling", std::string(nameOf(pooling))}};
  return {};
}

/// A launch or a call; `indexOf` numbers the buffers.
json launchOf(mlir::Operation &step, const llvm::DenseMap<mlir::Value, int64_t> &indexOf) {
  json row = json::object(), args = json::array();
  if (auto launch = mlir::dyn_cast<plan::LaunchOp>(step)) {
    for (mlir::Value buffer : launch.getBuffers())
      args.push_back(indexOf.lookup(buffer));
    row = {{"kernel", launch.getKernel().str()}, {"name", launch.getName().str()}, {"args", args}};
    if (launch.getPath())
      row["path"] = pathOf(*launch.getPath());
    return row;
  }
  auto product = mlir::cast<plan::LibraryProductOp>(step);
  for (mlir::Value buffer : {product.getRows(), product.getWeights(), product.getResult()})
    args.push_back(indexOf.lookup(buffer));
  row = {{"kind", "library_product"}, {"name", product.getName().str()}, {"args", args}};
  if (product.getAddend())
    row["addend"] = indexOf.lookup(product.getAddend());
  if (product.getBias())
    row["bias"] = indexOf.lookup(product.getBias());
  row["path"] = pathOf(product.getPath());
  return row;
}

json extensionsOf(const std::vector<UsedExtension> &extensions) {
  json rows = json::array();
  for (const UsedExtension &used : extensions) {
    json row = {{"kind", used.kind}, {"name", used.name}, {"digest", used.digest}};
    if (!used.version.empty())
      row["version"] = used.version;
    rows.push_back(row);
  }
  return rows;
}

/// A kernel with one program per row of logits.
json perRow(const CompiledKernel &kernel) {
  json row = {{"entry", kernel.entry}};
  row["grid"].push_back({{"extent", "R"}, {"tile", 1}});
  putCompiled(row, TargetKind::Cuda, kernel);
  return {{"variants", json::array({row})}};
}

json variantOf(const BestVariant &variant) {
  json row;
  if (variant.symbol)
    row["when"] = {{variant.symbol.str(), variant.limit}};
  row["entry"] = variant.kernel.entry;
  for (auto axis : variant.grid.getAsRange<tile::AxisAttr>())
    row["grid"].push_back(axisOf(axis));
  putCompiled(row, TargetKind::Cuda, variant.kernel);
  return row;
}

/// The name of the head's kernel for greedy steps.
constexpr const char *bestOfHead = "head_best";

void putSampling(json &kernels, const SamplingPlan &sampling, bool isGreedy) {
  kernels[sampling.sample.entry] = perRow(sampling.sample);
  if (!isGreedy)
    return;
  json variants = json::array();
  for (const BestVariant &variant : sampling.best)
    variants.push_back(variantOf(variant));
  kernels[bestOfHead] = {{"variants", variants}};
  kernels[sampling.merge.entry] = perRow(sampling.merge);
}

json targetOf(const TargetPlan &target, bool isGreedy) {
  mlir::SymbolTable symbols(target.module);
  json kernels = json::object();
  for (auto kernel : mlir::ModuleOp(target.module).getOps<plan::KernelOp>()) {
    json variants = json::array();
    for (auto variant : kernel.getVariants().getAsRange<plan::VariantAttr>())
      variants.push_back(variantOf(variant, symbols, target));
    kernels[kernel.getSymName().str()] = {{"variants", variants}};
  }
  if (target.sampling)
    putSampling(kernels, *target.sampling, isGreedy);
  json row = {{"kind", nameOf(target.kind)}, {"level", target.level}};
  if (target.kind == TargetKind::Host)
    row["library"] = "kernels/" + target.level + ".so";
  if (!target.math.empty())
    row["math"] = target.math;
  row["kernels"] = std::move(kernels);
  return row;
}

/// Adds what steps that choose tokens on the device have: their parameters, the chosen ids and launches. The
/// last launch so far is the head.
void putSampling(json &buffers, json &launches, const SamplingPlan &sampling, bool isGreedy) {
  int64_t logits = 0, slots = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    slots = std::max<int64_t>(slots, buffers[i].value("slot", int64_t{-1}) + 1);
    if (buffers[i]["kind"] == "output")
      logits = static_cast<int64_t>(i);
  }
  const auto rows = static_cast<int64_t>(buffers.size()), choices = rows + 1, words = rows + 2;
  buffers.push_back(
      {{"name", "sampling"}, {"kind", "input"}, {"dtype", "i32"}, {"dims", json::array({"R", samplingRowWords})}});
  buffers.push_back(
      {{"name", "choices"}, {"kind", "output"}, {"dtype", "i32"}, {"dims", json::array({"R"})}, {"slot", slots}});
  auto launch = [&](const std::string &kernel, const char *name, json args, const char *goal) {
    launches.push_back({{"kernel", kernel}, {"name", name}, {"args", args}, {"goals", json::array({goal})}});
  };
  if (isGreedy) {
    // In the place of the logits, which such a step does not store: the words are no larger.
    const int64_t perRow = (buffers[logits]["dims"][1].get<int64_t>() + bestIdsUnit - 1) / bestIdsUnit;
    buffers.push_back({{"name", "best_words"},
                       {"kind", "activation"},
                       {"dtype", "i32"},
                       {"dims", json::array({"R", 2 * perRow})},
                       {"slot", buffers[logits]["slot"]}});
    json &head = launches.back();
    head["goals"] = json::array({"logits", "sampled"});
    json args = head["args"];
    std::replace(args.begin(), args.end(), json(logits), json(words));
    args.push_back(rows);
    launch(bestOfHead, "best of head", args, "greedy");
    launch(sampling.merge.entry, "best id", json::array({words, choices}), "greedy");
  }
  launch(sampling.sample.entry, "sample", json::array({logits, rows, choices}), "sampled");
}

/// True if every target can find the best ids without storing logits.
bool areGreedy(llvm::ArrayRef<TargetPlan> targets, const json &buffers, const json &launches) {
  const json &args = launches.back()["args"];
  const bool headIsLast = std::any_of(args.begin(), args.end(),
                                      [&](const json &i) { return buffers[i.get<size_t>()]["kind"] == "output"; });
  return headIsLast && llvm::all_of(targets, [](const TargetPlan &target) {
           return target.sampling && !target.sampling->best.empty();
         });
}

} // namespace

int64_t pageStride(mlir::ModuleOp module, int64_t alignment) {
  int64_t bytes = 0;
  for (auto program : module.getOps<plan::ProgramOp>())
    for (tile::BufferType type : cacheTypes(program))
      bytes += pageBytes(type, static_cast<int64_t>(program.getPage()));
  return llvm::divideCeil(bytes, alignment) * alignment;
}

int64_t pageTokens(mlir::ModuleOp module) {
  return static_cast<int64_t>((*module.getOps<plan::ProgramOp>().begin()).getPage());
}

std::vector<std::string> symbolOrder() { return {"T", "S", "B", "R", "C", "W"}; }

json manifestOf(const models::ModelConfig &config, int64_t modelBytes, llvm::ArrayRef<TargetPlan> targets,
                const llvm::DenseMap<mlir::Operation *, WeightRange> &weights, const ArtifactOptions &options) {
  auto program = *mlir::ModuleOp(targets.front().module).getOps<plan::ProgramOp>().begin();
  auto page = static_cast<int64_t>(program.getPage());
  const int64_t stride = pageStride(targets.front().module, kvPageAlignment(options.kvLayout, targets.front().kind));
  json manifest = {{"format", 4},
                   {"fusec", options.version},
                   {"model", modelOf(config, modelBytes, options)},
                   {"symbols", symbolOrder()},
                   {"kv",
                    {{"page_tokens", page},
                     {"dtype", cacheDtype(program)},
                     {"layers", config.layers},
                     {"layout", std::string(nameOf(options.kvLayout))},
                     {"page_stride", stride}}}};
  if (json embedding = embeddingOf(program, options.pooling); !embedding.is_null())
    manifest["model"]["embedding"] = std::move(embedding);
  if (auto tile = program->getAttrOfType<mlir::IntegerAttr>("query_tile"))
    manifest["kv"]["query_tile"] = tile.getInt();
  if (!options.extensions.empty())
    manifest["extensions"] = extensionsOf(options.extensions);
  manifest["numerics"] = json::array();
  if (auto contracts = program->getAttrOfType<mlir::ArrayAttr>("numerics"))
    for (auto contract : contracts.getAsRange<mlir::StringAttr>())
      manifest["numerics"].push_back(contract.str());
  llvm::DenseMap<mlir::Value, int64_t> indexOf;
  json buffers = json::array(), launches = json::array(), targetRows = json::array();
  for (auto buffer : program.getOps<plan::BufferOp>()) {
    indexOf[buffer.getResult()] = buffers.size();
    buffers.push_back(bufferOf(buffer, page, weights));
  }
  for (mlir::Operation &step : program.getBody().front())
    if (!mlir::isa<plan::BufferOp>(step))
      launches.push_back(launchOf(step, indexOf));
  bool isGreedy = false;
  if (targets.front().sampling) {
    isGreedy = areGreedy(targets, buffers, launches);
    putSampling(buffers, launches, *targets.front().sampling, isGreedy);
  }
  for (const TargetPlan &target : targets)
    targetRows.push_back(targetOf(target, isGreedy));
  manifest["buffers"] = std::move(buffers);
  manifest["launches"] = std::move(launches);
  manifest["targets"] = std::move(targetRows);
  return manifest;
}

} // namespace fusec::codegen
