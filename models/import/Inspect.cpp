//===- Inspect.cpp - what a model file contains, as tables -----------------===//

#include "models/import/Inspect.h"

#include "models/import/Gguf.h"
#include "models/import/Model.h"
#include "models/import/Quote.h"
#include "models/import/Safetensors.h"
#include "runtime/base/Json.h"

#include <algorithm>
#include <map>

namespace fusec::models {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

int64_t elementsOf(const std::vector<int64_t> &shape) {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent; // the readers refuse shapes that overflow
  return product;
}

void addTotals(ModelListing &listing) {
  std::map<std::string, TypeTotal> byType;
  for (const TensorRow &row : listing.tensors) {
    TypeTotal &total = byType[row.type];
    total.type = row.type;
    total.tensors += 1;
    total.elements += elementsOf(row.shape);
    total.bytes += row.bytes;
    listing.elements += elementsOf(row.shape);
    listing.bytes += row.bytes;
  }
  for (auto &[type, total] : byType)
    listing.totals.push_back(std::move(total));
  std::sort(listing.totals.begin(), listing.totals.end(), [](const TypeTotal &a, const TypeTotal &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.type < b.type;
  });
}

ModelListing listGguf(const Gguf &file, size_t previewChars) {
  ModelListing listing;
  listing.format = "GGUF v" + std::to_string(file.version());
  for (const GgufEntry &entry : file.metadata())
    listing.metadata.push_back({std::string(entry.key), entry.value.typeName(), entry.value.preview(previewChars)});
  for (const TensorInfo &tensor : file.tensors())
    listing.tensors.push_back({tensor.name, std::string(info(tensor.type).name), tensor.shape, tensor.bytes});
  return listing;
}

ModelListing listSafetensors(const Safetensors &file, size_t previewChars) {
  ModelListing listing;
  listing.format = "safetensors";
  for (const auto &[key, text] : file.metadata())
    listing.metadata.push_back({key, "string", quote(text, previewChars)});
  for (const SafetensorsEntry &entry : file.entries())
    listing.tensors.push_back(
        {entry.name, entry.type ? std::string(info(*entry.type).name) : entry.dtype, entry.shape, entry.bytes});
  return listing;
}

/// The top level of config.json, in its own order of keys.
void addConfig(const fs::path &directory, size_t previewChars, ModelListing &listing) {
  Result<json> config = readJsonFile(directory / "config.json");
  if (!config || !config->is_object())
    return; // openModel's message says so
  for (const auto &[key, value] : config->items()) {
    std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > previewChars)
      text = text.substr(0, previewChars) + "...";
    listing.metadata.push_back({key, std::string(jsonTypeName(value)), std::move(text)});
  }
}

} // namespace

Result<ModelListing> inspectModel(const fs::path &path, size_t previewChars) {
  std::error_code ignored;
  const bool isDirectory = fs::is_directory(path, ignored);
  ModelListing listing;
  if (isDirectory || path.extension() == ".safetensors") {
    FUSEC_ASSIGN_OR_RETURN(Safetensors file, Safetensors::open(path));
    listing = listSafetensors(file, previewChars);
    if (isDirectory)
      addConfig(path, previewChars, listing);
  } else {
    FUSEC_ASSIGN_OR_RETURN(Gguf file, Gguf::open(path));
    listing = listGguf(file, previewChars);
  }
  addTotals(listing);
  if (Result<Model> model = openModel(path))
    listing.warnings = model->warnings();
  else
    listing.problem = model.status().message();
  return listing;
}

} // namespace fusec::models
