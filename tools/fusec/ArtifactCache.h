//===- ArtifactCache.h - compiled models, kept by content ------------------===//
//
// Layout of the cache directory:
//   artifacts/<key>/      an artifact, with a `seal` file written last
//   digests/<hash>        see DigestIndex
// The key is the digest of everything that decides the artifact's bytes: the
// model's content, fusec's version, the CPU levels and further options. An
// entry is built beside its place and renamed, so it is seen whole or not at
// all; two processes that compile the same model both succeed and one result
// stays. An entry whose files do not match its seal is a miss and is replaced.
// What a killed compile left is removed by the next one.
//
// Threading: const methods may run at once, also in several processes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "tools/fusec/ModelDigest.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fusec {

/// Everything that decides the bytes of an artifact.
struct ArtifactKey {
  std::string modelDigest;
  std::string compilerVersion;
  std::vector<std::string> levels;  ///< In the order compiled for.
  std::vector<std::string> options; ///< Any others, spelled out.

  /// 32 hexadecimal digits.
  std::string text() const;
};

class ArtifactCache {
public:
  explicit ArtifactCache(std::filesystem::path root) : root(std::move(root)) {}

  /// Writes an artifact into the given directory, which does not exist yet.
  using Build = std::function<Status(const std::filesystem::path &directory)>;

  /// The entry for `key`, if it is there and whole.
  std::optional<std::filesystem::path> find(const ArtifactKey &key) const;

  /// The entry for `key`, built when missing. Errors: those of `build`, and of the file system.
  Result<std::filesystem::path> findOrBuild(const ArtifactKey &key, const Build &build) const;

  /// Forgets the entry for `key`; fine when there is none.
  Status remove(const ArtifactKey &key) const;

  /// Remembers digests of model files.
  DigestIndex digests() const { return DigestIndex(root / "digests"); }

private:
  std::filesystem::path entryPath(const ArtifactKey &key) const;
  Result<std::filesystem::path> publish(const std::filesystem::path &built, const std::filesystem::path &entry) const;

  std::filesystem::path root;
};

} // namespace fusec
