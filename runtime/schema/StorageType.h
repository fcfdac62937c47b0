//===- StorageType.h - storage types of tensors ----------------------------===//
//
// The enum and the few facts that StorageType.def holds. Pure data: safe from
// any thread, used by both halves.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fusec {

enum class StorageType : uint8_t {
#define FUSEC_STORAGE(name, spelling, ggufId, blockElements, blockBytes) name,
#include "runtime/schema/StorageType.def"
};

struct StorageTypeInfo {
  StorageType type;
  std::string_view name; ///< Spelling in IR, manifests and messages.
  uint32_t ggufId;       ///< `ggml_type` in GGUF tensor infos.
  int64_t blockElements; ///< Elements per block along the innermost dimension.
  int64_t blockBytes;    ///< Bytes per block.
};

inline constexpr StorageTypeInfo storageTypes[] = {
#define FUSEC_STORAGE(name, spelling, ggufId, blockElements, blockBytes)                                               \
  {StorageType::name, spelling, ggufId, blockElements, blockBytes},
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

/// The types a KV cache may be stored in: one float per element.
constexpr bool isCacheType(StorageType type) {
  return type == StorageType::F32 || type == StorageType::F16 || type == StorageType::BF16;
}

} // namespace fusec
