//===- Model.h - a model file opened and checked ---------------------------===//
//
// Brings a GGUF file or a Hugging Face directory into one form: a ModelConfig
// and its weights under canonical names, every shape checked, nothing missing,
// nothing left over. No data is copied, converted or permuted.
//
//   FUSEC_ASSIGN_OR_RETURN(Model model, openModel("SmolLM2.gguf"));
//   const Weight *q = model.find("blk.0.attn_q.weight");   // [heads*headDim, hidden]
//
// Ownership: the Model owns the mapping that all weights point into (they stay
// valid when it is moved). Threading: immutable; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "models/import/Gguf.h"
#include "models/import/ModelConfig.h"
#include "models/import/Safetensors.h"
#include "runtime/base/Status.h"
#include "runtime/schema/StorageType.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::models {

/// A weight of the model as it lies in the file.
struct Weight {
  std::string name;     ///< Canonical: "token_embd.weight", "blk.3.ffn_up.weight", ...
  std::string fileName; ///< The tensor's name in the file.
  StorageType type;
  std::vector<int64_t> shape;      ///< [rows, cols] or [n]; rows are contiguous.
  std::span<const std::byte> data; ///< Unaligned.
};

class Model {
public:
  const ModelConfig &config() const { return modelConfig; }
  /// In the order of the architecture's rules, layer by layer. A tied model
  /// has no "output.weight".
  const std::vector<Weight> &weights() const { return weightList; }
  /// Null when absent.
  const Weight *find(std::string_view canonicalName) const;
  /// Things the user should hear about although the model loads.
  const std::vector<std::string> &warnings() const { return warningList; }
  /// What was opened: a GGUF file or a directory.
  const std::filesystem::path &path() const { return sourcePath; }
  /// The GGUF file (for its tokenizer and chat template), or null for a directory.
  const Gguf *gguf() const { return ggufFile ? &*ggufFile : nullptr; }
  /// Null for a GGUF.
  const Safetensors *safetensors() const { return hfFile ? &*hfFile : nullptr; }

  /// Takes over an open container and checks its tensors against the config
  /// (which, for a GGUF, it reads from the file).
  static Result<Model> fromGguf(Gguf file);
  static Result<Model> fromSafetensors(Safetensors file, ModelConfig config);

private:
  friend class ModelBuilder;
  friend Result<Model> openModel(const std::filesystem::path &path);
  std::filesystem::path sourcePath;
  std::optional<Gguf> ggufFile;
  std::optional<Safetensors> hfFile;
  ModelConfig modelConfig;
  std::vector<Weight> weightList;
  std::vector<std::string> warningList;
};

/// Opens a GGUF file (first part of a split) or a Hugging Face directory.
/// Errors name file, tensor or key, expected and found.
Result<Model> openModel(const std::filesystem::path &path);

} // namespace fusec::models
