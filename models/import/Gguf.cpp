//===- Gguf.cpp - opening GGUF files, lookups, split models ----------------===//

#include "models/import/Gguf.h"

#include "models/import/Quote.h"

#include <cstdio>

namespace fusec::models {
namespace {

namespace fs = std::filesystem;

/// Split counts are stored as uint16.
constexpr int64_t maxSplits = 65535;

/// "-00002-of-00003.gguf"
std::string splitSuffix(int64_t number, int64_t count) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "-%05lld-of-%05lld.gguf", static_cast<long long>(number + 1),
                static_cast<long long>(count));
  return buffer;
}

/// The path of part `number`, given the path of part `from` of the same split.
Result<fs::path> partPath(const fs::path &path, int64_t from, int64_t number, int64_t count) {
  std::string file = path.filename().string();
  const std::string suffix = splitSuffix(from, count);
  if (!file.ends_with(suffix))
    return invalidArgument("metadata says part " + std::to_string(from + 1) + " of " + std::to_string(count) +
                           ": expected a file name ending in '" + suffix + "'");
  file.resize(file.size() - suffix.size());
  return path.parent_path() / (file + splitSuffix(number, count));
}

struct SplitPosition {
  int64_t number = 0; ///< Zero based.
  int64_t count = 1;
};

Result<SplitPosition> splitPosition(const Gguf &file) {
  SplitPosition position;
  if (!file.has("split.count"))
    return position;
  FUSEC_ASSIGN_OR_RETURN(position.count, file.getInt("split.count"));
  if (position.count <= 1)
    return SplitPosition();
  FUSEC_ASSIGN_OR_RETURN(position.number, file.getInt("split.no"));
  if (position.count > maxSplits || position.number < 0 || position.number >= position.count)
    return corruptData("split part " + std::to_string(position.number) + " of " + std::to_string(position.count) +
                       " is out of range");
  return position;
}

template <typename Getter>
auto lookUp(const Gguf &file, std::string_view key, std::string_view expected, Getter get)
    -> decltype(get(std::declval<const GgufValue &>())) {
  const GgufValue *value = file.find(key);
  if (!value)
    return notFound("key " + quote(key) + ": missing, expected " + std::string(expected));
  auto result = get(*value);
  if (!result)
    return result.status().withContext("key " + quote(key));
  return result;
}

} // namespace

Result<Gguf> Gguf::open(const fs::path &path) {
  FUSEC_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::open(path));
  Result<Gguf> file = parse(mapped.bytes());
  if (!file)
    return file.status().withContext(path.string());
  file->files.push_back(std::move(mapped));
  if (Status status = file->appendSplits(path); !status.ok())
    return status.withContext(path.string());
  return file;
}

Status Gguf::appendSplits(const fs::path &first) {
  FUSEC_ASSIGN_OR_RETURN(SplitPosition position, splitPosition(*this));
  if (position.count == 1)
    return {};
  FUSEC_ASSIGN_OR_RETURN(fs::path firstPart, partPath(first, position.number, 0, position.count));
  if (position.number != 0)
    return invalidArgument("this is part " + std::to_string(position.number + 1) + " of " +
                           std::to_string(position.count) + "; open the first part, '" + firstPart.string() + "'");
  for (int64_t number = 1; number < position.count; ++number) {
    FUSEC_ASSIGN_OR_RETURN(fs::path part, partPath(first, 0, number, position.count));
    FUSEC_RETURN_IF_ERROR(appendPart(part, number, position.count));
  }
  if (!has("split.tensors.count"))
    return {};
  FUSEC_ASSIGN_OR_RETURN(int64_t expected, getInt("split.tensors.count"));
  if (expected != static_cast<int64_t>(tensorList.size()))
    return corruptData("key 'split.tensors.count': expected " + std::to_string(expected) +
                       " tensors in all parts, found " + std::to_string(tensorList.size()));
  return {};
}

Status Gguf::appendPart(const fs::path &path, int64_t number, int64_t count) {
  FUSEC_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::open(path));
  Result<Gguf> part = parse(mapped.bytes());
  if (!part)
    return part.status().withContext("part '" + path.string() + "'");
  FUSEC_ASSIGN_OR_RETURN(SplitPosition position, splitPosition(*part));
  if (position.number != number || position.count != count)
    return corruptData("part '" + path.string() + "': expected part " + std::to_string(number + 1) + " of " +
                       std::to_string(count) + ", its metadata says " + std::to_string(position.number + 1) + " of " +
                       std::to_string(position.count));
  for (TensorInfo &tensor : part->tensorList) {
    if (!tensorIndex.emplace(tensor.name, tensorList.size()).second)
      return corruptData("tensor " + quote(tensor.name) + " occurs in two parts");
    tensorList.push_back(std::move(tensor));
  }
  files.push_back(std::move(mapped));
  return {};
}

const GgufValue *Gguf::find(std::string_view key) const {
  auto it = entryIndex.find(key);
  return it == entryIndex.end() ? nullptr : &entries[it->second].value;
}

const TensorInfo *Gguf::findTensor(std::string_view name) const {
  auto it = tensorIndex.find(name);
  return it == tensorIndex.end() ? nullptr : &tensorList[it->second];
}

Result<int64_t> Gguf::getInt(std::string_view key) const {
  return lookUp(*this, key, "an integer", [](const GgufValue &v) { return v.asInt(); });
}
Result<double> Gguf::getFloat(std::string_view key) const {
  return lookUp(*this, key, "a floating-point number", [](const GgufValue &v) { return v.asFloat(); });
}
Result<bool> Gguf::getBool(std::string_view key) const {
  return lookUp(*this, key, "a bool", [](const GgufValue &v) { return v.asBool(); });
}
Result<std::string_view> Gguf::getString(std::string_view key) const {
  return lookUp(*this, key, "a string", [](const GgufValue &v) { return v.asString(); });
}
Result<std::vector<int64_t>> Gguf::getInts(std::string_view key) const {
  return lookUp(*this, key, "an array of integers", [](const GgufValue &v) { return v.asInts(); });
}
Result<std::vector<float>> Gguf::getFloats(std::string_view key) const {
  return lookUp(*this, key, "an array of floating-point numbers", [](const GgufValue &v) { return v.asFloats(); });
}
Result<std::span<const std::string_view>> Gguf::getStrings(std::string_view key) const {
  return lookUp(*this, key, "an array of strings", [](const GgufValue &v) { return v.asStrings(); });
}

} // namespace fusec::models
