//===- Safetensors.cpp - safetensors files, shards, lookups ----------------===//

#include "models/import/Safetensors.h"

#include "models/import/Quote.h"
#include "runtime/base/Json.h"

#include <set>

namespace fusec::models {

namespace fs = std::filesystem;
using nlohmann::json;

Result<Safetensors> Safetensors::open(const fs::path &path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored))
    return openFile(path);
  if (fs::exists(path / "model.safetensors.index.json", ignored))
    return openIndex(path);
  if (fs::exists(path / "model.safetensors", ignored))
    return openFile(path / "model.safetensors");
  return notFound(path.string() + ": expected model.safetensors or model.safetensors.index.json in this directory");
}

Result<Safetensors> Safetensors::openFile(const fs::path &path) {
  FUSEC_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::open(path));
  Result<Safetensors> file = parse(mapped.bytes());
  if (!file)
    return file.status().withContext(path.string());
  file->files.push_back(std::move(mapped));
  return file;
}

/// Shards lie beside the index: a name with a directory part could point
/// anywhere on the machine.
static bool isPlainFileName(const std::string &name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\\') == std::string::npos && name.find('\0') == std::string::npos;
}

Result<Safetensors> Safetensors::openIndex(const fs::path &directory) {
  const fs::path indexPath = directory / "model.safetensors.index.json";
  const std::string where = indexPath.string();
  FUSEC_ASSIGN_OR_RETURN(json document, readJsonFile(indexPath, {.rejectDuplicateKeys = true}));
  Result<const json *> weightMap = jsonObject(document, "weight_map");
  if (!weightMap)
    return weightMap.status().withContext(where);
  std::set<std::string> shards;
  for (const auto &[tensorName, shard] : (*weightMap)->items()) {
    if (!shard.is_string() || !isPlainFileName(shard.get_ref<const std::string &>()))
      return corruptData(where + ": tensor " + quote(tensorName) + ": expected the name of a file beside the index");
    shards.insert(shard.get<std::string>());
  }
  Safetensors all;
  std::map<std::string, std::string> foundIn;
  for (const std::string &shard : shards) {
    FUSEC_ASSIGN_OR_RETURN(Safetensors part, openFile(directory / shard));
    for (const SafetensorsEntry &entry : part.list)
      foundIn.emplace(entry.name, shard);
    if (Status status = all.absorb(std::move(part)); !status.ok())
      return status.withContext((directory / shard).string());
  }
  for (const auto &[tensorName, shard] : (*weightMap)->items())
    if (auto it = foundIn.find(tensorName); it == foundIn.end() || it->second != shard.get_ref<const std::string &>())
      return corruptData(where + ": tensor " + quote(tensorName) + " is not in " + shard.get<std::string>());
  return all;
}

Status Safetensors::absorb(Safetensors shard) {
  for (SafetensorsEntry &entry : shard.list) {
    if (!index.emplace(entry.name, list.size()).second)
      return corruptData("tensor " + quote(entry.name) + " occurs in two shards");
    list.push_back(std::move(entry));
  }
  if (files.empty())
    metadataMap = std::move(shard.metadataMap);
  for (MappedFile &file : shard.files)
    files.push_back(std::move(file));
  return {};
}

const SafetensorsEntry *Safetensors::find(std::string_view name) const {
  auto it = index.find(name);
  return it == index.end() ? nullptr : &list[it->second];
}

Result<TensorInfo> Safetensors::tensor(std::string_view name) const {
  const SafetensorsEntry *entry = find(name);
  if (!entry)
    return notFound("tensor " + quote(name) + ": missing");
  if (!entry->type)
    return unsupported("tensor " + quote(name) + ": dtype " + quote(entry->dtype) +
                       " is not supported; expected F32, F16 or BF16");
  return TensorInfo{entry->name, *entry->type, entry->shape, entry->data, entry->bytes};
}

} // namespace fusec::models
