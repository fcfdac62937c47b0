//===- StorageType.h - storage types of tensors ----------------------------===//
//
// The enum and the few facts that StorageType.def holds. Pure data: safe from
// any thread, used by both halves.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fusec {

enum class StorageType : uint8_t {
#define FUSEC_STORAGE(name, spelling, ggufId, blockElements, blockBytes) name,
#define FUSEC_CACHE_STORAGE(name, spelling, elementBytes) name,
#include "runtime/schema/StorageType.def"
};

struct StorageTypeInfo {
  StorageType type;
  std::string_view name;          ///< Spelling in IR, manifests and messages.
  std::optional<uint32_t> ggufId; ///< `ggml_type` in GGUF tensor infos; none: only caches are stored so.
  int64_t blockElements;          ///< Elements per block along the innermost dimension.
  int64_t blockBytes;             ///< Bytes per block.
};

inline constexpr StorageTypeInfo storageTypes[] = {
#define FUSEC_STORAGE(name, spelling, ggufId, blockElements, blockBytes)                                               \
  {StorageType::name, spelling, ggufId, blockElements, blockBytes},
#define FUSEC_CACHE_STORAGE(name, spelling, elementBytes) {StorageType::name, spelling, std::nullopt, 1, elementBytes},
#include "runtime/schema/StorageType.def"
};

/// The rows that weights may have, in the same order: a prefix of `storageTypes`.
inline constexpr StorageTypeInfo weightTypes[] = {
#define FUSEC_STORAGE(name, spelling, ggufId, blockElements, blockBytes) storageTypes[size_t(StorageType::name)],
#include "runtime/schema/StorageType.def"
};

constexpr const StorageTypeInfo &info(StorageType type) { return storageTypes[static_cast<size_t>(type)]; }

constexpr std::optional<StorageType> storageTypeByName(std::string_view name) {
  for (const StorageTypeInfo &row : storageTypes)
    if (row.name == name)
      return row.type;
  return std::nullopt;
}

constexpr std::optional<StorageType> storageTypeByGgufId(uint32_t id) {
  for (const StorageTypeInfo &row : storageTypes)
    if (row.ggufId == id)
      return row.type;
  return std::nullopt;
}

/// The types that model files hold weights in.
constexpr bool isWeightType(StorageType type) { return info(type).ggufId.has_value(); }

/// The types a KV cache may be stored in: one float per element.
constexpr bool isCacheType(StorageType type) { return info(type).blockElements == 1; }

/// "f32, f16, bf16 or fp8_e4m3": the cache types, for messages.
inline std::string cacheTypeNames() {
  std::string names, last;
  for (const StorageTypeInfo &row : storageTypes)
    if (isCacheType(row.type)) {
      names += (names.empty() ? "" : ", ") + last;
      last = row.name;
    }
  return names + " or " + last;
}

} // namespace fusec
