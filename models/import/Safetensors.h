//===- Safetensors.h - reader for safetensors files ------------------------===//
//
// One `.safetensors` file, or a directory with `model.safetensors` or
// `model.safetensors.index.json` and its shards. The header is checked in full
// (sizes, ranges, overlaps, holes, trailing bytes, duplicate keys) before any
// tensor is handed out.
//
//   FUSEC_ASSIGN_OR_RETURN(Safetensors file, Safetensors::open("model-dir"));
//   FUSEC_ASSIGN_OR_RETURN(TensorInfo q, file.tensor("model.layers.0.self_attn.q_proj.weight"));
//
// Ownership: `open` owns the mappings, `parse` borrows the caller's bytes.
// Threading: immutable after construction; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "models/import/Gguf.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/Status.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::models {

/// One entry of a header. `type` is absent for dtypes that fusec cannot use as
/// weights (I64, F8_E4M3, ...); such tensors are listed, not readable.
struct SafetensorsEntry {
  std::string name;
  std::string dtype; ///< As spelled in the file.
  std::optional<StorageType> type;
  std::vector<int64_t> shape; ///< Outermost first; empty for a scalar.
  const std::byte *data;      ///< Unaligned.
  int64_t bytes;
};

class Safetensors {
public:
  /// A file, or a directory (index file first, then `model.safetensors`).
  /// Errors carry the path of the offending file.
  static Result<Safetensors> open(const std::filesystem::path &path);
  /// Parses one file image in memory.
  static Result<Safetensors> parse(std::span<const std::byte> bytes);

  /// All entries, in order of their position in the file(s).
  const std::vector<SafetensorsEntry> &entries() const { return list; }
  /// Null when absent.
  const SafetensorsEntry *find(std::string_view name) const;
  /// The tensor as a weight. NotFound when absent, Unsupported for a dtype
  /// other than F32, F16, BF16 (message names tensor and dtype).
  Result<TensorInfo> tensor(std::string_view name) const;
  /// The `__metadata__` strings of the (first) file.
  const std::map<std::string, std::string> &metadata() const { return metadataMap; }

private:
  friend class SafetensorsParser;
  static Result<Safetensors> openFile(const std::filesystem::path &path);
  static Result<Safetensors> openIndex(const std::filesystem::path &directory);
  Status absorb(Safetensors shard);

  std::vector<SafetensorsEntry> list;
  std::map<std::string, size_t, std::less<>> index;
  std::map<std::string, std::string> metadataMap;
  std::vector<MappedFile> files;
};

} // namespace fusec::models
