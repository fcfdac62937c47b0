//===- Inspect.h - what a model file contains, as tables -------------------===//
//
// The data behind `fusec inspect`: every metadata entry, every tensor, totals
// by storage type. Works on files that fusec cannot compile (an unknown
// architecture), as long as the container is sound.
//
//   FUSEC_ASSIGN_OR_RETURN(ModelListing listing, inspectModel("model.gguf"));
//
// Plain values; nothing refers to the file afterwards.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fusec::models {

struct MetadataRow {
  std::string key;
  std::string type;    ///< "uint32", "array of string", "string", ...
  std::string preview; ///< One line, cut to the asked length.
};

struct TensorRow {
  std::string name;
  std::string type;           ///< Spelling of the storage type, or the file's dtype.
  std::vector<int64_t> shape; ///< Outermost first.
  int64_t bytes = 0;
};

struct TypeTotal {
  std::string type;
  int64_t tensors = 0;
  int64_t elements = 0;
  int64_t bytes = 0;
};

struct ModelListing {
  std::string format; ///< "GGUF v3", "safetensors"
  std::vector<MetadataRow> metadata;
  std::vector<TensorRow> tensors;
  std::vector<TypeTotal> totals; ///< Largest share of bytes first.
  int64_t elements = 0;          ///< Parameters in all tensors.
  int64_t bytes = 0;
  /// Empty when openModel accepts the file, else its error message.
  std::string problem;
  std::vector<std::string> warnings; ///< Of openModel.
};

/// Lists a GGUF file, a safetensors file or a Hugging Face directory.
/// `previewChars` limits the text of a metadata value.
Result<ModelListing> inspectModel(const std::filesystem::path &path, size_t previewChars = 80);

} // namespace fusec::models
