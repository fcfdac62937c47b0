//===- ModelDigest.h - identity of a model by its content ------------------===//
//
// A model is a GGUF file (all parts of a split one) or a Hugging Face
// directory (weights, configuration and tokenizer files). Its digest covers those
// files' content in a fixed order, so a copy elsewhere has the same digest and a
// changed byte another one.
//
// DigestIndex remembers (path, size, modification time) -> digest, so a warm
// start reads no weights. Threading: free functions are reentrant.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Digest.h"
#include "runtime/base/Status.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fusec {

enum class ModelKind { Gguf, HuggingFace, Artifact };

/// What `path` is, by looking: a directory with manifest.json, a directory with config.json, or a
/// file that starts with "GGUF". Errors: NotFound, or Unsupported with what was expected.
Result<ModelKind> detectModelKind(const std::filesystem::path &path);

/// The files whose content makes up a GGUF or Hugging Face model, in digest order.
Result<std::vector<std::filesystem::path>> modelFiles(const std::filesystem::path &model, ModelKind kind);

/// 128-bit digest (XXH3) of the files' bytes and sizes, and of their names when there are several,
/// as 32 hexadecimal digits. Guards against accidents, not against someone who crafts collisions.
Result<std::string> digestFiles(const std::vector<std::filesystem::path> &files);

class DigestIndex {
public:
  /// `directory` is created on first store. A missing or damaged entry is just a miss.
  explicit DigestIndex(std::filesystem::path directory) : directory(std::move(directory)) {}

  /// Digest of `files`, from the index when no file changed since, else computed and stored.
  Result<std::string> digestOf(const std::vector<std::filesystem::path> &files) const;

private:
  std::filesystem::path directory;
};

} // namespace fusec
