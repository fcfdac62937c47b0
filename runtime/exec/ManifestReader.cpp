//===- ManifestReader.cpp - manifest.json to Manifest -------------------------===//
//
// Reads types and names; what depends on several entries is checked afterwards
// by verifyManifest.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Json.h"
#include "runtime/exec/Manifest.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

using nlohmann::json;

namespace fusec::runtime {

namespace {

/// No plan comes near this; a damaged number does.
constexpr int64_t maxSize = int64_t{1} << 40;
constexpr size_t maxEntries = 1 << 20;
constexpr size_t maxRank = 8;

struct KindName {
  std::string_view name;
  BufferKind kind;
};
constexpr KindName kindNames[] = {{"input", BufferKind::Input},
                                  {"weight", BufferKind::Weight},
                                  {"cache", BufferKind::Cache},
                                  {"activation", BufferKind::Activation},
                                  {"output", BufferKind::Output}};

struct InputName {
  std::string_view name;
  InputKind kind;
};
constexpr InputName inputNames[] = {{"tokens", InputKind::Tokens},          {"positions", InputKind::Positions},
                                    {"sequences", InputKind::Sequences},    {"block_table", InputKind::BlockTable},
                                    {"output_rows", InputKind::OutputRows}, {"query_tiles", InputKind::QueryTiles},
                                    {"sampling", InputKind::Sampling}};

struct OutputName {
  std::string_view name;
  OutputKind kind;
};
constexpr OutputName outputNames[] = {
    {"logits", OutputKind::Logits}, {"choices", OutputKind::Choices}, {"hidden", OutputKind::Hidden}};

template <size_t N, typename Row> const Row *findRow(const Row (&rows)[N], std::string_view name) {
  const Row *row = std::find_if(std::begin(rows), std::end(rows), [&](const Row &r) { return r.name == name; });
  return row == std::end(rows) ? nullptr : row;
}

/// An integer in [low, high].
Result<int64_t> readSize(const json &object, std::string_view key, int64_t low, int64_t high = maxSize) {
  FUSEC_ASSIGN_OR_RETURN(int64_t value, jsonInt(object, key));
  if (value < low || value > high)
    return corruptData("key '" + std::string(key) + "': expected " + std::to_string(low) + " to " +
                       std::to_string(high) + ", found " + std::to_string(value));
  return value;
}

Result<Extent> readExtent(const json &value) {
  if (value.is_string()) {
    const std::string &name = value.get_ref<const std::string &>();
    if (std::optional<Symbol> symbol = symbolByName(name))
      return Extent{symbol, 0};
    return corruptData("unknown symbol '" + name + "', expected T, S, B, R or C");
  }
  if (!value.is_number_integer() || value < 0 || value > maxSize)
    return corruptData("expected a size from 0 to " + std::to_string(maxSize) + " or a symbol, found " +
                       (value.is_number_integer() ? value.dump() : std::string(jsonTypeName(value))));
  return Extent{std::nullopt, value.get<int64_t>()};
}

/// Calls `read(element)` for each element of the array `key`, naming the element in errors.
template <typename T, typename Read>
Result<std::vector<T>> readArray(const json &object, std::string_view key, size_t most, Read read) {
  FUSEC_ASSIGN_OR_RETURN(const json *array, jsonArray(object, key));
  if (array->size() > most)
    return corruptData("key '" + std::string(key) + "': expected at most " + std::to_string(most) + " entries, found " +
                       std::to_string(array->size()));
  std::vector<T> values;
  values.reserve(array->size());
  for (const json &element : *array) {
    Result<T> value = read(element);
    if (!value)
      return value.status().withContext(std::string(key) + "[" + std::to_string(values.size()) + "]");
    values.push_back(std::move(value).value());
  }
  return values;
}

Result<int32_t> readId(const json &value) {
  if (!value.is_number_integer() || value < 0 || value > std::numeric_limits<int32_t>::max())
    return corruptData("expected a number from 0 to 2147483647");
  return value.get<int32_t>();
}

template <typename T> Status readDefault(const json &object, std::string_view key, std::optional<T> &value) {
  if (!jsonFind(object, key))
    return {};
  FUSEC_ASSIGN_OR_RETURN(double number, jsonFloat(object, key));
  // Also refuses NaN. No recommended value is anywhere near this bound, and it fits int.
  if (!(number >= -1e6 && number <= 1e6))
    return corruptData("key '" + std::string(key) + "': expected a number of magnitude at most 1e6");
  value = static_cast<T>(number);
  return {};
}

Status readGeneration(const json &model, GenerationDefaults &defaults) {
  const json *object = jsonFind(model, "generation");
  if (!object)
    return {};
  FUSEC_RETURN_IF_ERROR(readDefault(*object, "temperature", defaults.temperature));
  FUSEC_RETURN_IF_ERROR(readDefault(*object, "top_k", defaults.topK));
  FUSEC_RETURN_IF_ERROR(readDefault(*object, "top_p", defaults.topP));
  FUSEC_RETURN_IF_ERROR(readDefault(*object, "min_p", defaults.minP));
  return readDefault(*object, "repetition_penalty", defaults.repetitionPenalty);
}

Status readEmbedding(const json &model, std::optional<EmbeddingInfo> &embedding) {
  if (!jsonFind(model, "embedding"))
    return {};
  FUSEC_ASSIGN_OR_RETURN(const json *object, jsonObject(model, "embedding"));
  FUSEC_ASSIGN_OR_RETURN(int64_t width, readSize(*object, "width", 1, 1 << 24));
  FUSEC_ASSIGN_OR_RETURN(std::string name, jsonString(*object, "pooling"));
  const std::optional<Pooling> pooling = poolingByName(name);
  if (!pooling)
    return corruptData("key 'pooling': expected last, mean or cls, found '" + name + "'");
  embedding = EmbeddingInfo{width, *pooling};
  return {};
}

Result<ModelInfo> readModel(const json &object) {
  ModelInfo model;
  FUSEC_ASSIGN_OR_RETURN(model.name, jsonStringOr(object, "name", ""));
  FUSEC_ASSIGN_OR_RETURN(model.architecture, jsonString(object, "architecture"));
  FUSEC_ASSIGN_OR_RETURN(model.digest, jsonStringOr(object, "digest", ""));
  FUSEC_ASSIGN_OR_RETURN(model.vocabSize, readSize(object, "vocab_size", 1, 1 << 24));
  FUSEC_ASSIGN_OR_RETURN(model.contextLength, readSize(object, "context_length", 1, 1 << 30));
  FUSEC_ASSIGN_OR_RETURN(model.bytes, jsonIntOr(object, "bytes", 0));
  if (const json *bos = jsonFind(object, "bos_id")) {
    Result<int32_t> id = readId(*bos);
    if (!id)
      return id.status().withContext("key 'bos_id'");
    model.bosId = *id;
  }
  if (jsonFind(object, "eos_ids")) {
    FUSEC_ASSIGN_OR_RETURN(model.eosIds, readArray<int32_t>(object, "eos_ids", maxEntries, readId));
  }
  FUSEC_RETURN_IF_ERROR(readEmbedding(object, model.embedding));
  FUSEC_RETURN_IF_ERROR(readGeneration(object, model.generation));
  return model;
}

Result<KvInfo> readKv(const json &object) {
  KvInfo kv;
  FUSEC_ASSIGN_OR_RETURN(kv.pageTokens, readSize(object, "page_tokens", 1, 1 << 16));
  FUSEC_ASSIGN_OR_RETURN(kv.dtype, jsonString(object, "dtype"));
  FUSEC_ASSIGN_OR_RETURN(kv.layers, jsonIntOr(object, "layers", 0));
  FUSEC_ASSIGN_OR_RETURN(std::string layout, jsonString(object, "layout"));
  const std::optional<KvLayout> known = kvLayoutByName(layout);
  if (!known)
    return corruptData("layout: expected paged or contiguous, found '" + layout + "'");
  kv.layout = *known;
  FUSEC_ASSIGN_OR_RETURN(kv.pageStride, readSize(object, "page_stride", 0, int64_t{1} << 40));
  FUSEC_ASSIGN_OR_RETURN(kv.queryTile, jsonIntOr(object, "query_tile", 0));
  if (kv.queryTile < 0 || kv.queryTile > (1 << 16))
    return corruptData("query_tile: expected 0 to 65536, found " + std::to_string(kv.queryTile));
  return kv;
}

Status readShape(const json &object, BufferInfo &buffer) {
  FUSEC_ASSIGN_OR_RETURN(buffer.dims, readArray<Extent>(object, "dims", maxRank, readExtent));
  return {};
}

/// The members that only this kind of buffer has.
Status readKindMembers(const json &object, BufferInfo &buffer) {
  switch (buffer.kind) {
  case BufferKind::Input: {
    const InputName *row = findRow(inputNames, buffer.name);
    if (!row)
      return corruptData(
          "unknown input, expected tokens, positions, sequences, block_table, output_rows, query_tiles or sampling");
    buffer.input = row->kind;
    return readShape(object, buffer);
  }
  case BufferKind::Weight: {
    FUSEC_ASSIGN_OR_RETURN(buffer.offset, readSize(object, "offset", 0));
    FUSEC_ASSIGN_OR_RETURN(buffer.bytes, readSize(object, "bytes", 1));
    return readShape(object, buffer);
  }
  case BufferKind::Cache: {
    FUSEC_ASSIGN_OR_RETURN(buffer.pageBytes, readSize(object, "page_bytes", 1, 1 << 30));
    return {};
  }
  case BufferKind::Output:
    if (const OutputName *row = findRow(outputNames, buffer.name))
      buffer.output = row->kind;
    else
      return corruptData("unknown output, expected logits, choices or hidden");
    [[fallthrough]];
  case BufferKind::Activation: {
    FUSEC_ASSIGN_OR_RETURN(int64_t slot, readSize(object, "slot", 0, maxEntries));
    buffer.slot = static_cast<int32_t>(slot);
    return readShape(object, buffer);
  }
  }
  return internalError("buffer kind without a reader");
}

Result<BufferInfo> readBuffer(const json &object) {
  BufferInfo buffer;
  FUSEC_ASSIGN_OR_RETURN(buffer.name, jsonString(object, "name"));
  FUSEC_ASSIGN_OR_RETURN(std::string kind, jsonString(object, "kind"));
  const KindName *row = findRow(kindNames, kind);
  if (!row)
    return corruptData("'" + buffer.name + "': unknown kind '" + kind + "'");
  buffer.kind = row->kind;
  FUSEC_ASSIGN_OR_RETURN(std::string type, jsonString(object, "dtype"));
  std::optional<ElementType> element = elementTypeByName(type);
  if (!element)
    return corruptData("'" + buffer.name + "': unknown dtype '" + type + "'");
  buffer.type = *element;
  if (Status status = readKindMembers(object, buffer); !status.ok())
    return status.withContext("'" + buffer.name + "'");
  return buffer;
}

Result<StepGoal> readGoal(const json &value) {
  for (size_t i = 0; i < numStepGoals; ++i)
    if (value.is_string() && value.get_ref<const std::string &>() == stepGoalName(static_cast<StepGoal>(i)))
      return static_cast<StepGoal>(i);
  return corruptData("expected logits, sampled or greedy, found " + value.dump());
}

struct LaunchKindName {
  std::string_view name;
  LaunchKind kind;
};
constexpr LaunchKindName launchKindNames[] = {{"kernel", LaunchKind::Kernel},
                                              {"library_product", LaunchKind::LibraryProduct}};

struct PathName {
  std::string_view name;
  ProductPath path;
};
constexpr PathName pathNames[] = {{"kernels", ProductPath::Kernels}, {"library", ProductPath::Library}};

Status readPath(const json &object, LaunchInfo &launch) {
  if (!jsonFind(object, "path"))
    return {};
  FUSEC_ASSIGN_OR_RETURN(const json *path, jsonObject(object, "path"));
  FUSEC_ASSIGN_OR_RETURN(std::string by, jsonString(*path, "by"));
  const PathName *row = findRow(pathNames, by);
  if (!row)
    return corruptData("key 'path': expected by kernels or library, found '" + by + "'");
  FUSEC_ASSIGN_OR_RETURN(int64_t from, readSize(*path, "from", 1));
  launch.path = LaunchPath{row->path, from};
  return {};
}

/// The members that only a library's product has.
Status readProductMembers(const json &object, LaunchInfo &launch) {
  const std::pair<const char *, int32_t &> added[] = {{"addend", launch.addend}, {"bias", launch.bias}};
  for (const auto &[key, index] : added)
    if (const json *value = jsonFind(object, key)) {
      FUSEC_ASSIGN_OR_RETURN(index, readId(*value));
    }
  return {};
}

Result<LaunchInfo> readLaunch(const json &object) {
  LaunchInfo launch;
  FUSEC_ASSIGN_OR_RETURN(std::string kind, jsonStringOr(object, "kind", "kernel"));
  const LaunchKindName *row = findRow(launchKindNames, kind);
  if (!row)
    return unsupported("launch kind '" + kind + "': this fusec runs launches of kind 'kernel' and 'library_product'");
  launch.kind = row->kind;
  if (launch.kind == LaunchKind::Kernel) {
    FUSEC_ASSIGN_OR_RETURN(launch.kernel, jsonString(object, "kernel"));
  } else {
    FUSEC_RETURN_IF_ERROR(readProductMembers(object, launch));
  }
  FUSEC_ASSIGN_OR_RETURN(launch.name, jsonStringOr(object, "name", launch.kernel));
  FUSEC_ASSIGN_OR_RETURN(launch.args, readArray<int32_t>(object, "args", maxEntries, readId));
  if (jsonFind(object, "goals")) {
    FUSEC_ASSIGN_OR_RETURN(launch.goals, readArray<StepGoal>(object, "goals", numStepGoals, readGoal));
  }
  FUSEC_RETURN_IF_ERROR(readPath(object, launch));
  return launch;
}

Result<GridAxis> readAxis(const json &object) {
  const json *extent = jsonFind(object, "extent");
  if (!extent)
    return corruptData("key 'extent': missing, expected a size or a symbol");
  GridAxis axis;
  FUSEC_ASSIGN_OR_RETURN(axis.extent, readExtent(*extent));
  FUSEC_ASSIGN_OR_RETURN(axis.tile, readSize(object, "tile", 1));
  return axis;
}

Status readWhen(const json &object, KernelVariant &variant) {
  if (!jsonFind(object, "when"))
    return {};
  FUSEC_ASSIGN_OR_RETURN(const json *limits, jsonObject(object, "when"));
  for (const auto &[name, value] : limits->items()) {
    std::optional<Symbol> symbol = symbolByName(name);
    if (!symbol)
      return corruptData("key 'when': unknown symbol '" + name + "', expected T, S, B, R or C");
    FUSEC_ASSIGN_OR_RETURN(int64_t most, readSize(*limits, name, 0));
    variant.when.push_back({*symbol, most});
  }
  return {};
}

/// The members that only a host kernel has.
Status readHostMembers(const json &object, KernelVariant &variant) {
  if (jsonFind(object, "scratch_bytes")) {
    FUSEC_ASSIGN_OR_RETURN(variant.scratchBytes, readSize(object, "scratch_bytes", 0, 1 << 30));
  }
  return {};
}

/// The members that only a CUDA kernel has. No GPU has more threads or shared memory in a block than these bounds.
Status readCudaMembers(const json &object, KernelVariant &variant) {
  FUSEC_ASSIGN_OR_RETURN(variant.threads, readSize(object, "threads", 1, 1024));
  FUSEC_ASSIGN_OR_RETURN(variant.sharedBytes, readSize(object, "shared_bytes", 0, 1 << 20));
  if (jsonFind(object, "registers")) {
    FUSEC_ASSIGN_OR_RETURN(variant.registers, readSize(object, "registers", 0, 1 << 16));
  }
  FUSEC_ASSIGN_OR_RETURN(variant.image, jsonStringOr(object, "image", ""));
  FUSEC_ASSIGN_OR_RETURN(variant.ptx, jsonStringOr(object, "ptx", ""));
  FUSEC_ASSIGN_OR_RETURN(variant.source, jsonStringOr(object, "source", ""));
  return {};
}

Result<KernelVariant> readVariant(const json &object, TargetKind kind) {
  KernelVariant variant;
  FUSEC_ASSIGN_OR_RETURN(variant.entry, jsonString(object, "entry"));
  FUSEC_RETURN_IF_ERROR(readWhen(object, variant));
  FUSEC_ASSIGN_OR_RETURN(variant.grid, readArray<GridAxis>(object, "grid", maxRank, readAxis));
  FUSEC_RETURN_IF_ERROR(kind == TargetKind::Cuda ? readCudaMembers(object, variant) : readHostMembers(object, variant));
  return variant;
}

Result<TargetInfo> readTarget(const json &object) {
  TargetInfo target;
  FUSEC_ASSIGN_OR_RETURN(std::string kind, jsonString(object, "kind"));
  std::optional<TargetKind> known = targetKindByName(kind);
  if (!known)
    return corruptData("unknown kind '" + kind + "', expected host or cuda");
  target.kind = *known;
  FUSEC_ASSIGN_OR_RETURN(target.level, jsonString(object, "level"));
  if (target.kind == TargetKind::Host) {
    FUSEC_ASSIGN_OR_RETURN(target.library, jsonString(object, "library"));
  }
  FUSEC_ASSIGN_OR_RETURN(target.math, jsonStringOr(object, "math", ""));
  FUSEC_ASSIGN_OR_RETURN(const json *kernels, jsonObject(object, "kernels"));
  for (const auto &[name, kernel] : kernels->items()) {
    Result<KernelVariants> variants = readArray<KernelVariant>(
        kernel, "variants", maxEntries, [&](const json &variant) { return readVariant(variant, target.kind); });
    if (!variants)
      return variants.status().withContext("kernel '" + name + "'");
    target.kernels.emplace(name, std::move(variants).value());
  }
  return target;
}

Result<Symbol> readSymbol(const json &value) {
  FUSEC_ASSIGN_OR_RETURN(Extent extent, readExtent(value));
  if (!extent.symbol)
    return corruptData("expected a symbol name");
  return *extent.symbol;
}

/// First of all, so that a newer artifact is not called damaged.
Status checkFormat(const json &document) {
  FUSEC_ASSIGN_OR_RETURN(int64_t format, jsonInt(document, "format"));
  if (format != manifestFormat)
    return unsupported("artifact format " + std::to_string(format) + ", this fusec reads format " +
                       std::to_string(manifestFormat) + ": compile the model again");
  return {};
}

Result<Manifest> readManifest(const json &document) {
  FUSEC_RETURN_IF_ERROR(checkFormat(document));
  Manifest manifest;
  FUSEC_ASSIGN_OR_RETURN(const json *model, jsonObject(document, "model"));
  Result<ModelInfo> modelInfo = readModel(*model);
  if (!modelInfo)
    return modelInfo.status().withContext("model");
  manifest.model = std::move(modelInfo).value();
  FUSEC_ASSIGN_OR_RETURN(manifest.model.compilerVersion, jsonStringOr(document, "fusec", ""));
  FUSEC_ASSIGN_OR_RETURN(const json *kv, jsonObject(document, "kv"));
  Result<KvInfo> kvInfo = readKv(*kv);
  if (!kvInfo)
    return kvInfo.status().withContext("kv");
  manifest.kv = std::move(kvInfo).value();
  manifest.model.kvDtype = manifest.kv.dtype;
  manifest.model.kvLayout = nameOf(manifest.kv.layout);
  FUSEC_ASSIGN_OR_RETURN(manifest.symbols, readArray<Symbol>(document, "symbols", numSymbols, readSymbol));
  FUSEC_ASSIGN_OR_RETURN(manifest.buffers, readArray<BufferInfo>(document, "buffers", maxEntries, readBuffer));
  FUSEC_ASSIGN_OR_RETURN(manifest.launches, readArray<LaunchInfo>(document, "launches", maxEntries, readLaunch));
  FUSEC_ASSIGN_OR_RETURN(manifest.targets, readArray<TargetInfo>(document, "targets", 64, readTarget));
  return manifest;
}

} // namespace

Result<Manifest> parseManifest(std::string_view text, std::string_view where, int64_t weightsBytes) {
  FUSEC_ASSIGN_OR_RETURN(json document, parseJson(text, where));
  Result<Manifest> manifest = readManifest(document);
  Status status = manifest ? verifyManifest(*manifest, weightsBytes) : manifest.status();
  if (!status.ok())
    return status.withContext(std::string(where));
  return manifest;
}

} // namespace fusec::runtime
