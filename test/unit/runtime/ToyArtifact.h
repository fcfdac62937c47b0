//===- ToyArtifact.h - a complete artifact written by hand --------------------===//
//
// Writes an artifact directory around the kernels of fixtures/ToyKernels.c, so
// that the runtime is tested without any compiler. The directory is removed at
// the end of the object's life.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace fusec::runtime::test {

inline constexpr int64_t toyVocab = 20;     ///< Columns of the logits.
inline constexpr int64_t toyRealVocab = 16; ///< Ids of the tokenizer.
inline constexpr int64_t toyContext = 64;
inline constexpr int64_t toyPageTokens = 4;
inline constexpr int32_t toyEos = 15;

/// How the toy model continues.
enum class ToyRule {
  Successor, ///< The last token + 1, modulo 16.
  Checksum,  ///< sum over the context of (position + 1) * (token + 1), modulo 16.
};

/// The manifest's text; levels "avx2" and "avx512" share one library.
std::string toyManifest();
/// Bytes of the weights file.
inline constexpr int64_t toyWeightsBytes = 192;

class ToyArtifact {
public:
  explicit ToyArtifact(ToyRule rule = ToyRule::Successor);
  ~ToyArtifact();
  ToyArtifact(const ToyArtifact &) = delete;
  ToyArtifact &operator=(const ToyArtifact &) = delete;

  const std::filesystem::path &directory() const { return path; }
  /// Replaces the text of one file.
  void write(const std::string &name, const std::string &text) const;

private:
  std::filesystem::path path;
};

} // namespace fusec::runtime::test
