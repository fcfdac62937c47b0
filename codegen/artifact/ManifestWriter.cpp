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
  if (type.getStorage() && (type.getLayout() == tile::Layout::Panel || type.isPaged()))
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

json variantOf(plan::VariantAttr variant, const mlir::SymbolTable &symbols, const TargetPlan &target) {
  auto kernel = symbols.lookup<tile::KernelOp>(variant.getKernel().getValue());
  json row;
  if (variant.getSymbol())
    row["when"] = {{variant.getSymbol().str(), variant.getLimit()}};
  std::string entry = kernel.getSymName().str();
  row["entry"] = entry;
  row["grid"] = json::array();
  for (auto axis : kernel.getGrid().getAsRange<tile::AxisAttr>())
    row["grid"].push_back({{"extent", extentOf(axis.getExtent())}, {"tile", axis.getTile()}});
  auto it = llvm::find_if(target.kernels, [&](const CompiledKernel &k) { return k.entry == entry; });
  putCompiled(row, target.kind, it == target.kernels.end() ? CompiledKernel() : *it);
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

/// One program per row of logits.
json samplingVariant(const CompiledKernel &kernel) {
  json row = {{"entry", kernel.entry}};
  row["grid"].push_back({{"extent", "R"}, {"tile", 1}});
  putCompiled(row, TargetKind::Cuda, kernel);
  return row;
}

json targetOf(const TargetPlan &target) {
  mlir::SymbolTable symbols(target.module);
  json kernels = json::object();
  for (auto kernel : mlir::ModuleOp(target.module).getOps<plan::KernelOp>()) {
    json variants = json::array();
    for (auto variant : kernel.getVariants().getAsRange<plan::VariantAttr>())
      variants.push_back(variantOf(variant, symbols, target));
    kernels[kernel.getSymName().str()] = {{"variants", variants}};
  }
  if (target.sampling)
    kernels[target.sampling->entry] = {{"variants", json::array({samplingVariant(*target.sampling)})}};
  json row = {{"kind", nameOf(target.kind)}, {"level", target.level}};
  if (target.kind == TargetKind::Host)
    row["library"] = "kernels/" + target.level + ".so";
  if (!target.math.empty())
    row["math"] = target.math;
  row["kernels"] = std::move(kernels);
  return row;
}

/// Adds what steps that choose tokens on the device have: their parameters, the chosen ids and the launch.
void putSampling(json &buffers, json &launches, const std::string &kernel) {
  int64_t logits = 0, slots = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    slots = std::max<int64_t>(slots, buffers[i].value("slot", int64_t{-1}) + 1);
    if (buffers[i]["kind"] == "output")
      logits = static_cast<int64_t>(i);
  }
  const auto first = static_cast<int64_t>(buffers.size());
  buffers.push_back(
      {{"name", "sampling"}, {"kind", "input"}, {"dtype", "i32"}, {"dims", json::array({"R", samplingRowWords})}});
  buffers.push_back(
      {{"name", "choices"}, {"kind", "output"}, {"dtype", "i32"}, {"dims", json::array({"R"})}, {"slot", slots}});
  launches.push_back({{"kernel", kernel},
                      {"name", "sample"},
                      {"args", json::array({logits, first, first + 1})},
                      {"goals", json::array({"sampled"})}});
}

} // namespace

int64_t pageStride(mlir::ModuleOp module) {
  int64_t bytes = 0;
  for (auto program : module.getOps<plan::ProgramOp>())
    for (tile::BufferType type : cacheTypes(program))
      bytes += pageBytes(type, static_cast<int64_t>(program.getPage()));
  return bytes;
}

std::vector<std::string> symbolOrder() { return {"T", "S", "B", "R", "C", "W"}; }

json manifestOf(const models::ModelConfig &config, int64_t modelBytes, llvm::ArrayRef<TargetPlan> targets,
                const llvm::DenseMap<mlir::Operation *, WeightRange> &weights, const ArtifactOptions &options) {
  auto program = *mlir::ModuleOp(targets.front().module).getOps<plan::ProgramOp>().begin();
  auto page = static_cast<int64_t>(program.getPage());
  json manifest = {{"format", 3},
                   {"fusec", options.version},
                   {"model", modelOf(config, modelBytes, options)},
                   {"symbols", symbolOrder()},
                   {"kv", {{"page_tokens", page}, {"dtype", cacheDtype(program)}, {"layers", config.layers}}}};
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
  for (auto launch : program.getOps<plan::LaunchOp>()) {
    json args = json::array();
    for (mlir::Value buffer : launch.getBuffers())
      args.push_back(indexOf[buffer]);
    launches.push_back({{"kernel", launch.getKernel().str()}, {"name", launch.getName().str()}, {"args", args}});
  }
  if (targets.front().sampling)
    putSampling(buffers, launches, targets.front().sampling->entry);
  for (const TargetPlan &target : targets)
    targetRows.push_back(targetOf(target));
  manifest["buffers"] = std::move(buffers);
  manifest["launches"] = std::move(launches);
  manifest["targets"] = std::move(targetRows);
  return manifest;
}

} // namespace fusec::codegen
