//===- CmdInspect.cpp - fusec inspect: what a file holds --------------------===//
#include "codegen/cuda/KernelTable.h"
#include "models/import/Inspect.h"
#include "runtime/base/Json.h"
#include "runtime/schema/TargetKind.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/KernelCounts.h"
#include "tools/fusec/ModelDigest.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/RunStats.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <map>

namespace fusec {

namespace {

class InspectCommand final : public Command {
public:
  void declare(CLI::App &app) override;
  int execute(const Environment &environment) override;

private:
  Status inspect();
  void printListing(const models::ModelListing &listing) const;

  std::string model;
  bool tensors = false, kernels = false, json = false;
  std::string count; ///< "kernels", "lines", or empty.
  size_t preview = 80;
};

void InspectCommand::declare(CLI::App &app) {
  app.add_option("MODEL", model, "GGUF or safetensors file, Hugging Face directory or artifact")->required();
  app.add_flag("--tensors", tensors, "list every tensor");
  CLI::Option *table =
      app.add_flag("--kernels", kernels, "artifacts with CUDA kernels: registers, shared memory, occupancy of each");
  app.add_flag("--count{kernels}", count,
               "with --kernels: run them on the virtual device, and count bytes and bank conflicts; =lines: also for "
               "each line of CUDA")
      ->needs(table)
      ->check(CLI::IsMember({"kernels", "lines"}));
  app.add_option("--preview", preview, "longest text of a metadata value")->capture_default_str();
  app.add_flag("--json", json, "print one JSON object (with all tensors)");
  app.footer("Examples:\n"
             "  fusec inspect model.gguf\n"
             "  fusec inspect model.gguf --tensors\n"
             "  fusec inspect model/ --json | jq .totals\n"
             "  fusec inspect model.fusec --kernels --count\n"
             "  fusec inspect model.fusec --kernels --count=lines\n\n"
             "Files that fusec cannot compile can still be inspected; the reason is shown.");
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

nlohmann::json listingJson(const models::ModelListing &listing) {
  nlohmann::json report = {
      {"format", listing.format},           {"elements", listing.elements},     {"bytes", listing.bytes},
      {"problem", listing.problem},         {"warnings", listing.warnings},     {"metadata", nlohmann::json::array()},
      {"tensors", nlohmann::json::array()}, {"totals", nlohmann::json::array()}};
  for (const models::MetadataRow &row : listing.metadata)
    report["metadata"].push_back({{"key", row.key}, {"type", row.type}, {"preview", row.preview}});
  for (const models::TensorRow &row : listing.tensors)
    report["tensors"].push_back({{"name", row.name}, {"type", row.type}, {"shape", row.shape}, {"bytes", row.bytes}});
  for (const models::TypeTotal &row : listing.totals)
    report["totals"].push_back(
        {{"type", row.type}, {"tensors", row.tensors}, {"elements", row.elements}, {"bytes", row.bytes}});
  return report;
}

void InspectCommand::printListing(const models::ModelListing &listing) const {
  std::printf("%s: %s, %zu tensors, %lld parameters, %s\n\n", model.c_str(), listing.format.c_str(),
              listing.tensors.size(), static_cast<long long>(listing.elements), formatBytes(listing.bytes).c_str());
  for (const models::MetadataRow &row : listing.metadata)
    std::printf("%-44s %-18s %s\n", row.key.c_str(), row.type.c_str(), row.preview.c_str());
  std::printf("\n%-10s %8s %16s %12s\n", "type", "tensors", "elements", "bytes");
  for (const models::TypeTotal &row : listing.totals)
    std::printf("%-10s %8lld %16lld %12s\n", row.type.c_str(), static_cast<long long>(row.tensors),
                static_cast<long long>(row.elements), formatBytes(row.bytes).c_str());
  if (tensors) {
    std::printf("\n");
    for (const models::TensorRow &row : listing.tensors)
      std::printf("%-44s %-8s %-20s %12s\n", row.name.c_str(), row.type.c_str(), shapeText(row.shape).c_str(),
                  formatBytes(row.bytes).c_str());
  }
  for (const std::string &warning : listing.warnings)
    std::printf("\nwarning: %s\n", warning.c_str());
  if (!listing.problem.empty())
    std::printf("\nfusec cannot compile this model: %s\n", listing.problem.c_str());
}

/// How the KV cache is stored, and what a token takes in it.
Status printCache(const nlohmann::json &manifest) {
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *kv, jsonObject(manifest, "kv"));
  FUSEC_ASSIGN_OR_RETURN(int64_t pageTokens, jsonInt(*kv, "page_tokens"));
  FUSEC_ASSIGN_OR_RETURN(std::string dtype, jsonStringOr(*kv, "dtype", "?"));
  FUSEC_ASSIGN_OR_RETURN(std::string layout, jsonStringOr(*kv, "layout", "paged"));
  FUSEC_ASSIGN_OR_RETURN(int64_t pageStride, jsonIntOr(*kv, "page_stride", 0));
  std::printf("%-20s %s%s, %lld tokens per page, %s per token\n", "kv cache", dtype.c_str(),
              layout == "paged" ? "" : (", " + layout).c_str(), static_cast<long long>(pageTokens),
              formatBytes(pageStride / std::max<int64_t>(pageTokens, 1)).c_str());
  return {};
}

/// The rules and plugins that took part in the compilation.
Status printExtensions(const nlohmann::json &manifest) {
  if (!manifest.contains("extensions"))
    return {};
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *extensions, jsonArray(manifest, "extensions"));
  for (const nlohmann::json &used : *extensions) {
    FUSEC_ASSIGN_OR_RETURN(std::string kind, jsonString(used, "kind"));
    FUSEC_ASSIGN_OR_RETURN(std::string name, jsonString(used, "name"));
    FUSEC_ASSIGN_OR_RETURN(std::string version, jsonStringOr(used, "version", ""));
    FUSEC_ASSIGN_OR_RETURN(std::string digest, jsonStringOr(used, "digest", "?"));
    std::printf("%-20s %s %s%s (%s)\n", "extension", kind.c_str(), name.c_str(),
                (version.empty() ? "" : " " + version).c_str(), digest.c_str());
  }
  return {};
}

/// The products that a library computes in large steps, by the fewest tokens of one.
Status printProducts(const nlohmann::json &launches) {
  std::map<int64_t, int> counts;
  for (const nlohmann::json &launch : launches) {
    FUSEC_ASSIGN_OR_RETURN(std::string kind, jsonStringOr(launch, "kind", "kernel"));
    if (kind != "library_product")
      continue;
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *path, jsonObject(launch, "path"));
    FUSEC_ASSIGN_OR_RETURN(int64_t from, jsonInt(*path, "from"));
    ++counts[from];
  }
  for (const auto &[from, count] : counts)
    std::printf("%-20s %d, in steps of %lld tokens and more\n", "products by cuBLASLt", count,
                static_cast<long long>(from));
  return {};
}

/// An artifact's own description: what it was made from and for, and its parts.
Status printArtifact(const std::filesystem::path &artifact, bool json) {
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json manifest, readJsonFile(artifact / "manifest.json"));
  if (json) {
    std::printf("%s\n", manifest.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return {};
  }
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *model, jsonObject(manifest, "model"));
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *buffers, jsonArray(manifest, "buffers"));
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *launches, jsonArray(manifest, "launches"));
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *targets, jsonArray(manifest, "targets"));
  FUSEC_ASSIGN_OR_RETURN(std::string version, jsonStringOr(manifest, "fusec", "?"));
  std::printf("%s: artifact of fusec %s, %zu buffers, %zu launches per step\n\n", artifact.c_str(), version.c_str(),
              buffers->size(), launches->size());
  for (const auto &[key, value] : model->items())
    std::printf("%-20s %s\n", key.c_str(),
                value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  FUSEC_RETURN_IF_ERROR(printCache(manifest));
  FUSEC_RETURN_IF_ERROR(printExtensions(manifest));
  FUSEC_RETURN_IF_ERROR(printProducts(*launches));
  for (const nlohmann::json &target : *targets) {
    FUSEC_ASSIGN_OR_RETURN(std::string level, jsonString(target, "level"));
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *kernels, jsonObject(target, "kernels"));
    std::printf("%-20s %s, %zu kernels\n", "target", level.c_str(), kernels->size());
  }
  std::printf("\n");
  std::error_code error;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(artifact, error))
    if (entry.is_regular_file(error))
      std::printf("%-44s %12s\n", entry.path().lexically_relative(artifact).c_str(),
                  formatBytes(static_cast<int64_t>(entry.file_size(error))).c_str());
  return {};
}

/// `--kernels`: the table of every CUDA target's kernels; `count`: with what running them shows.
Status printKernels(const std::filesystem::path &artifact, const std::string &count, bool json) {
  const bool withLines = count == "lines";
  if (withLines && json)
    return invalidArgument("--count=lines prints a table for people; expected no --json with it");
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json manifest, readJsonFile(artifact / "manifest.json"));
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *targets, jsonArray(manifest, "targets"));
  std::string text;
  for (const nlohmann::json &target : *targets) {
    FUSEC_ASSIGN_OR_RETURN(std::string level, jsonString(target, "level"));
    FUSEC_ASSIGN_OR_RETURN(std::string kind, jsonStringOr(target, "kind", "host"));
    if (targetKindByName(kind) != TargetKind::Cuda)
      continue;
    FUSEC_ASSIGN_OR_RETURN(codegen::KernelTable table,
                           codegen::readKernelTable(artifact / "kernels" / level / codegen::kernelTableName));
    std::vector<CountedLine> lines;
    if (!count.empty())
      FUSEC_RETURN_IF_ERROR(countKernels(artifact, table, withLines ? &lines : nullptr));
    const char *before = text.empty() ? "" : json ? "," : "\n";
    text += before + (json ? codegen::kernelTableJson(table) : codegen::kernelTableText(table));
    text += countedLinesText(std::move(lines));
  }
  if (text.empty())
    return invalidArgument("'" + artifact.string() +
                           "' has no CUDA kernels; expected an artifact compiled with "
                           "--target cuda");
  std::printf(json ? "[%s]\n" : "%s", text.c_str());
  return {};
}

Status InspectCommand::inspect() {
  const Result<ModelKind> kind = detectModelKind(model);
  const bool isArtifact = kind && *kind == ModelKind::Artifact;
  if (kernels)
    return isArtifact ? printKernels(model, count, json)
                      : invalidArgument("--kernels: '" + model + "' is no artifact; compile it with --target cuda");
  if (isArtifact)
    return printArtifact(model, json);
  FUSEC_ASSIGN_OR_RETURN(models::ModelListing listing, models::inspectModel(model, preview));
  if (json)
    std::printf("%s\n", listingJson(listing).dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  else
    printListing(listing);
  return {};
}

int InspectCommand::execute(const Environment &) {
  const Status status = inspect();
  return status.ok() ? ExitOk : reportError(status);
}

} // namespace

std::unique_ptr<Command> makeInspect() { return std::make_unique<InspectCommand>(); }

} // namespace fusec
