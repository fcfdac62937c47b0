//===- ManifestVerifier.cpp - what must hold between a manifest's entries -----===//
//
//  1. Symbols are named once, and every symbol in use is among them (kernels
//     receive only those).
//  2. Inputs are i32 with the dims that the runtime fills; there is exactly one
//     output "logits", f32 [R, vocab], and at most one "choices", i32 [R]; or, for
//     embeddings, "hidden", f32 [R, width], alone, and every target is a CPU's.
//  3. Weights are aligned, inside the file with slack behind, and large enough
//     for their dims.
//  4. Launch arguments are buffers; every target has every kernel that a launch
//     names (a CPU those of the steps that give logits), and no variant stands
//     behind one that always matches. The buffers of a library's product have the
//     types of one, and every target is CUDA's.
//  5. A CUDA target's level is an architecture (sm_80), its kernels have blocks
//     of whole warps and a cubin or PTX.
//  6. Ids of the model lie in its vocabulary; all paths stay inside the
//     artifact.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Manifest.h"
#include "runtime/schema/SamplingMath.h"
#include "runtime/schema/StorageType.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

namespace fusec::runtime {

namespace {

std::vector<Extent> inputDims(InputKind kind) {
  switch (kind) {
  case InputKind::Tokens:
  case InputKind::Positions:
  case InputKind::Sequences:
    return {{Symbol::Tokens}};
  case InputKind::BlockTable:
    return {{Symbol::Sequences}, {Symbol::Blocks}};
  case InputKind::OutputRows:
    return {{Symbol::OutputRows}};
  case InputKind::QueryTiles:
    return {{Symbol::QueryTiles}, {std::nullopt, 2}};
  case InputKind::Sampling:
    return {{Symbol::OutputRows}, {std::nullopt, samplingRowWords}};
  }
  return {};
}

std::string print(const std::vector<Extent> &dims) {
  std::string text = "[";
  for (const Extent &dim : dims)
    text += (text.size() > 1 ? ", " : "") +
            (dim.symbol ? std::string(symbolName(*dim.symbol)) : std::to_string(dim.constant));
  return text + "]";
}

class Verifier {
public:
  Verifier(const Manifest &manifest, int64_t weightsBytes) : manifest(manifest), weightsBytes(weightsBytes) {}

  Status run() {
    FUSEC_RETURN_IF_ERROR(checkSymbols());
    FUSEC_RETURN_IF_ERROR(checkModel());
    FUSEC_RETURN_IF_ERROR(checkKv());
    FUSEC_RETURN_IF_ERROR(checkBuffers());
    FUSEC_RETURN_IF_ERROR(checkLaunches());
    return checkTargets();
  }

private:
  Status checkSymbols() {
    for (Symbol symbol : manifest.symbols)
      if (!declared.insert(symbol).second)
        return corruptData("symbols: '" + std::string(symbolName(symbol)) + "' is listed twice");
    return {};
  }

  Status requireDeclared(Symbol symbol) const {
    if (declared.count(symbol))
      return {};
    return corruptData("symbol '" + std::string(symbolName(symbol)) + "' is used but not listed in symbols");
  }

  Status requireDeclared(const Extent &extent) const {
    return extent.symbol ? requireDeclared(*extent.symbol) : Status();
  }

  Status checkModel() const {
    std::vector<int32_t> ids = manifest.model.eosIds;
    if (manifest.model.bosId)
      ids.push_back(*manifest.model.bosId);
    for (int32_t id : ids)
      if (id < 0 || id >= manifest.model.vocabSize)
        return corruptData("model: token id " + std::to_string(id) + " is outside the vocabulary of " +
                           std::to_string(manifest.model.vocabSize));
    return {};
  }

  Status checkKv() const {
    std::optional<StorageType> type = storageTypeByName(manifest.kv.dtype);
    if (!type || !isCacheType(*type))
      return corruptData("kv: expected dtype " + cacheTypeNames() + ", found '" + manifest.kv.dtype + "'");
    return checkPageStride();
  }

  Status checkPageStride() const {
    int64_t sum = 0;
    for (int64_t bytes : manifest.cachePageBytes())
      if (__builtin_add_overflow(sum, bytes, &sum))
        return corruptData("kv: the pages of all caches exceed the address space");
    const bool hasGpu = !manifest.levels(TargetKind::Cuda).empty();
    const int64_t unit = kvPageAlignment(manifest.kv.layout, hasGpu ? TargetKind::Cuda : TargetKind::Host);
    if (manifest.kv.pageStride >= sum && manifest.kv.pageStride % unit == 0)
      return {};
    return corruptData("kv: expected a page_stride of at least " + std::to_string(sum) + " bytes (" +
                       std::string(nameOf(manifest.kv.layout)) + ": a multiple of " + std::to_string(unit) +
                       "), found " + std::to_string(manifest.kv.pageStride));
  }

  Status checkBuffers() {
    std::array<int, numOutputs> outputs{}; // By OutputKind.
    std::set<InputKind> inputs;
    for (const BufferInfo &buffer : manifest.buffers) {
      if (Status status = checkBuffer(buffer); !status.ok())
        return status.withContext("buffer '" + buffer.name + "'");
      if (buffer.kind == BufferKind::Output)
        ++outputs[static_cast<size_t>(buffer.output)];
      if (buffer.kind == BufferKind::Input && !inputs.insert(buffer.input).second)
        return corruptData("buffer '" + buffer.name + "': this input is listed twice");
    }
    return checkOutputs(outputs);
  }

  Status checkOutputs(const std::array<int, numOutputs> &found) const {
    const auto of = [&](OutputKind kind) { return found[static_cast<size_t>(kind)]; };
    const int logits = of(OutputKind::Logits), choices = of(OutputKind::Choices), hidden = of(OutputKind::Hidden);
    const bool isForEmbeddings = manifest.model.embedding.has_value();
    if (isForEmbeddings ? hidden == 1 && logits + choices == 0 : logits == 1 && choices <= 1 && hidden == 0)
      return {};
    return corruptData(std::string("buffers: expected exactly one output ") +
                       (isForEmbeddings ? "hidden and no other" : "logits and at most one choices") + ", found " +
                       std::to_string(logits) + " logits, " + std::to_string(choices) + " choices and " +
                       std::to_string(hidden) + " hidden");
  }

  Status checkBuffer(const BufferInfo &buffer) const {
    for (const Extent &dim : buffer.dims)
      FUSEC_RETURN_IF_ERROR(requireDeclared(dim));
    switch (buffer.kind) {
    case BufferKind::Input:
      return checkInput(buffer);
    case BufferKind::Weight:
      return checkWeight(buffer);
    case BufferKind::Output:
      return checkOutput(buffer);
    case BufferKind::Cache:
      return checkCache(buffer);
    case BufferKind::Activation:
      return {};
    }
    return {};
  }

  Status checkInput(const BufferInfo &buffer) const {
    if (buffer.input == InputKind::QueryTiles && manifest.kv.queryTile == 0)
      return corruptData("the plan reads query tiles but kv.query_tile says that there are none");
    const std::vector<Extent> expected = inputDims(buffer.input);
    if (buffer.type.name != "i32" || buffer.dims != expected)
      return corruptData("expected i32 " + print(expected) + ", found " + std::string(buffer.type.name) + " " +
                         print(buffer.dims));
    return {};
  }

  Status checkCache(const BufferInfo &buffer) const {
    if (buffer.type.name == manifest.kv.dtype)
      return {};
    return corruptData("expected " + manifest.kv.dtype + " as in kv.dtype, found " + std::string(buffer.type.name));
  }

  Status checkOutput(const BufferInfo &buffer) const {
    static constexpr std::string_view names[numOutputs] = {"logits", "choices", "hidden"}; // By OutputKind.
    std::vector<Extent> expected = {{Symbol::OutputRows, 0}};
    const bool isChoices = buffer.output == OutputKind::Choices;
    if (!isChoices)
      expected.push_back({std::nullopt, manifest.model.rowWidth()});
    const std::string name(names[static_cast<size_t>(buffer.output)]), type = isChoices ? "i32" : "f32";
    if (buffer.name != name || buffer.type.name != type || buffer.dims != expected)
      return corruptData("expected the output " + name + " " + type + " " + print(expected) + ", found " +
                         std::string(buffer.type.name) + " " + print(buffer.dims));
    return {};
  }

  Status checkWeight(const BufferInfo &buffer) const {
    if (buffer.offset % weightAlignment != 0)
      return corruptData("offset " + std::to_string(buffer.offset) + " is no multiple of " +
                         std::to_string(weightAlignment));
    // The reader bounds both numbers, but manifests made in memory are checked here first.
    int64_t end = 0;
    if (buffer.offset < 0 || buffer.bytes < 0 || __builtin_add_overflow(buffer.offset, buffer.bytes, &end) ||
        __builtin_add_overflow(end, weightAlignment, &end) || end > weightsBytes)
      return corruptData("bytes " + std::to_string(buffer.bytes) + " at offset " + std::to_string(buffer.offset) +
                         " and " + std::to_string(weightAlignment) + " bytes of slack do not fit the weights file of " +
                         std::to_string(weightsBytes) + " bytes");
    for (const Extent &dim : buffer.dims)
      if (dim.symbol)
        return corruptData("a weight has static dims, found " + print(buffer.dims));
    std::optional<int64_t> needed = buffer.bytesAt({});
    if (!needed || *needed > buffer.bytes)
      return corruptData(std::string(buffer.type.name) + " " + print(buffer.dims) + " needs " +
                         (needed ? std::to_string(*needed) + " bytes" : "too many bytes") + ", found " +
                         std::to_string(buffer.bytes));
    return {};
  }

  Status checkLaunches() const {
    for (const LaunchInfo &launch : manifest.launches) {
      std::vector<int32_t> args = launch.args;
      for (int32_t added : {launch.addend, launch.bias})
        if (added != -1)
          args.push_back(added);
      for (int32_t arg : args)
        if (arg < 0 || static_cast<size_t>(arg) >= manifest.buffers.size())
          return corruptData("launch '" + launch.name + "': argument " + std::to_string(arg) + " is none of the " +
                             std::to_string(manifest.buffers.size()) + " buffers");
      if (launch.path)
        FUSEC_RETURN_IF_ERROR(requireDeclared(Symbol::Tokens));
      if (launch.kind == LaunchKind::LibraryProduct)
        if (Status status = checkProduct(launch); !status.ok())
          return status.withContext("launch '" + launch.name + "'");
    }
    return {};
  }

  /// rows [T, K] and weights [N, K] of one 16-bit type, the result [T, N] and what is added to it f32. K and N are
  /// multiples of 8, so that every row starts at 16 bytes, as the library wants it.
  Status checkProduct(const LaunchInfo &launch) const {
    if (launch.args.size() != 3)
      return corruptData("expected the arguments rows, weights and result, found " +
                         std::to_string(launch.args.size()));
    if (!launch.path || launch.path->by != ProductPath::Library)
      return corruptData("a product of the library is on the library's path");
    const BufferInfo &rows = bufferOf(launch.args[0]), &weights = bufferOf(launch.args[1]);
    if ((rows.type.name != "bf16" && rows.type.name != "f16") || weights.type.name != rows.type.name ||
        rows.dims.size() != 2 || weights.dims.size() != 2 || weights.dims[1] != rows.dims[1])
      return corruptData("cannot multiply " + describe(rows) + " by " + describe(weights));
    for (const Extent &dim : weights.dims)
      if (dim.symbol || dim.constant <= 0 || dim.constant % 8 != 0)
        return corruptData("expected extents of the weights that are multiples of 8, found " + print(weights.dims));
    const std::vector<Extent> sums = {rows.dims[0], weights.dims[0]};
    FUSEC_RETURN_IF_ERROR(requireSums(launch.args[2], sums));
    FUSEC_RETURN_IF_ERROR(launch.addend == -1 ? Status() : requireSums(launch.addend, sums));
    FUSEC_RETURN_IF_ERROR(launch.bias == -1 ? Status() : requireSums(launch.bias, {sums[1]}));
    if (launch.addend != -1 && launch.bias != -1)
      return corruptData("expected an addend or a bias, found both");
    for (const TargetInfo &target : manifest.targets)
      if (target.kind != TargetKind::Cuda)
        return corruptData("a product of a library needs CUDA targets, found '" + target.level + "'");
    return {};
  }

  const BufferInfo &bufferOf(int32_t index) const { return manifest.buffers[static_cast<size_t>(index)]; }
  static std::string describe(const BufferInfo &buffer) {
    return "'" + buffer.name + "' " + std::string(buffer.type.name) + " " + print(buffer.dims);
  }

  Status requireSums(int32_t index, const std::vector<Extent> &dims) const {
    const BufferInfo &buffer = bufferOf(index);
    if (buffer.type.name == "f32" && buffer.dims == dims)
      return {};
    return corruptData("expected f32 " + print(dims) + ", found " + describe(buffer));
  }

  Status checkTargets() const {
    if (manifest.targets.empty())
      return corruptData("targets: expected at least one");
    std::set<std::string_view> seen;
    for (const TargetInfo &target : manifest.targets) {
      if (!seen.insert(target.level).second)
        return corruptData("targets: level '" + target.level + "' is listed twice");
      if (Status status = checkTarget(target); !status.ok())
        return status.withContext("target '" + target.level + "'");
    }
    return {};
  }

  static Status requireInside(const char *what, const std::string &text) {
    std::filesystem::path path(text);
    bool escapes = std::find(path.begin(), path.end(), std::filesystem::path("..")) != path.end();
    if (path.empty() || path.is_absolute() || escapes || text.find('\0') != std::string::npos)
      return corruptData(std::string(what) + " '" + text + "': expected a path inside the artifact");
    return {};
  }

  /// "sm_", digits, and perhaps a letter.
  static Status requireArchitecture(const std::string &level) {
    auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
    size_t digits = level.starts_with("sm_") ? 3 : level.size(), end = digits;
    while (end < level.size() && isDigit(level[end]))
      ++end;
    bool suffix = end + 1 == level.size() && level[end] >= 'a' && level[end] <= 'z';
    if (end - digits >= 2 && end - digits <= 3 && (end == level.size() || suffix))
      return {};
    return corruptData("expected a CUDA architecture such as sm_80");
  }

  Status checkTarget(const TargetInfo &target) const {
    bool isHost = target.kind == TargetKind::Host;
    if (manifest.model.embedding && !isHost)
      return corruptData("expected a CPU level: embeddings are computed on the CPU");
    FUSEC_RETURN_IF_ERROR(isHost ? requireInside("library", target.library) : requireArchitecture(target.level));
    for (const auto &[name, variants] : target.kernels) {
      Status status = checkVariants(variants);
      for (const KernelVariant &variant : variants)
        if (status.ok() && !isHost)
          status = checkCudaVariant(variant);
      if (!status.ok())
        return status.withContext("kernel '" + name + "'");
    }
    for (const LaunchInfo &launch : manifest.launches)
      if (launch.kind == LaunchKind::Kernel && (!isHost || launch.serves(StepGoal::Logits)) &&
          !target.kernels.count(launch.kernel))
        return corruptData("launch '" + launch.name + "': no kernel '" + launch.kernel + "'");
    return {};
  }

  static Status checkCudaVariant(const KernelVariant &variant) {
    if (variant.threads < 32 || variant.threads % 32 != 0)
      return corruptData("'" + variant.entry + "': expected threads in whole warps of 32, found " +
                         std::to_string(variant.threads));
    if (variant.image.empty() && variant.ptx.empty())
      return corruptData("'" + variant.entry + "': expected an image or ptx");
    const std::pair<const char *, const std::string &> files[] = {
        {"image", variant.image}, {"ptx", variant.ptx}, {"source", variant.source}};
    for (const auto &[what, path] : files)
      if (!path.empty())
        FUSEC_RETURN_IF_ERROR(requireInside(what, path));
    return {};
  }

  Status checkVariants(const KernelVariants &variants) const {
    if (variants.empty())
      return corruptData("expected at least one variant");
    for (const KernelVariant &variant : variants) {
      if (variant.when.empty() && &variant != &variants.back())
        return corruptData("only the last variant may have no 'when', found '" + variant.entry + "' before it");
      if (variant.entry.empty() || variant.entry.find('\0') != std::string::npos)
        return corruptData("expected the name of an entry point");
      for (const KernelVariant::Limit &limit : variant.when)
        FUSEC_RETURN_IF_ERROR(requireDeclared(limit.symbol));
      for (const GridAxis &axis : variant.grid)
        FUSEC_RETURN_IF_ERROR(requireDeclared(axis.extent));
    }
    return {};
  }

  const Manifest &manifest;
  int64_t weightsBytes;
  std::set<Symbol> declared;
};

} // namespace

Status verifyManifest(const Manifest &manifest, int64_t weightsBytes) { return Verifier(manifest, weightsBytes).run(); }

} // namespace fusec::runtime
